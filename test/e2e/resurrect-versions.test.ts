/**
 * Sessions of which the vault has several versions: whatever came last, `resurrect` and `resume` put the fullest one
 * where their command finds it, and name the others.
 */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(60_000))

let machine: Machine
beforeEach(() => {
  machine = new Machine()
})
afterEach(() => machine[Symbol.dispose]())

const ID = "5e551011-0000-4000-8000-00000000abcd"

const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.root })

async function archive(): Promise<void> {
  expect(await cli("import", "--quiet")).toMatchObject({ code: 0, stderr: "" })
}

/** The session's transcript in the folder where Claude Code keeps it while it works in `folder`. */
function transcriptIn(folder: string): string {
  const slug = folder.replaceAll(/[^A-Za-z0-9]/g, "-")
  return join(machine.home, ".claude", "projects", slug, `${ID}.jsonl`)
}

function write(path: string, lines: readonly string[]): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""))
}

/** Lines of a session: two for each word. */
function talk(cwd: string, ...words: string[]): string[] {
  const path = join(machine.root, "talk.jsonl")
  rmSync(path, { force: true })
  const transcript = new Transcript({ session: ID, cwd, version: "2.1.112", path })
  for (const word of words) transcript.turn(`What about the ${word}?`, [], `The ${word} is fine.`)
  transcript.flush()
  return readFileSync(path, "utf8").trimEnd().split("\n")
}

/** The same with uuids of their own, as of a conversation that went on from another point. */
const apart = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replaceAll(/"(uuid|parentUuid)":"[0-9a-f]{4}/g, '"$1":"ffff'))

const withCwd = (lines: readonly string[], from: string, to: string): string[] =>
  lines.map((line) => line.replaceAll(JSON.stringify(from), JSON.stringify(to)))

interface Shown {
  readonly folder: string
  readonly file: string
  readonly others: number
}

/** Deletes Claude Code's files, and has both commands say what they do; then the file must be `expected`. */
async function comesBack(expected: readonly string[], { folder, file, others }: Shown): Promise<void> {
  rmSync(join(machine.home, ".claude", "projects"), { recursive: true, force: true })
  const command = `cd ${folder} && claude --resume ${ID}`
  const dry = await cli("resume", ID, "--dry-run", "--json")
  expect(dry).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(dry.stdout)).toMatchObject({ session: ID, folder, command })
  expect(JSON.parse(dry.stdout).files[0].path).toBe(file)
  expect(JSON.parse(dry.stdout).others).toHaveLength(others)
  expect(existsSync(file)).toBe(false)

  const text = await cli("resume", ID, "--dry-run")
  expect(text).toMatchObject({ code: 0, stdout: `${command}\n` })
  expect(text.stderr.split("\n").filter((line) => line.includes("version is in the vault"))).toHaveLength(
    others,
  )

  const done = await cli("resurrect", ID)
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(done.stdout).toEndWith(`${command}\n`)
  expect(done.stdout.split("another version is in the vault").length - 1).toBe(others)
  expect(readFileSync(file, "utf8").trimEnd().split("\n")).toEqual([...expected])
  expect((await cli("resurrect", ID, "--json")).stdout).toContain('"present"')
}

describe("moved to a worktree", () => {
  const worktree = () => join(machine.cwd, ".claude", "worktrees", "feature")
  const halves = () => {
    const half = talk(machine.cwd, "heron", "bittern")
    const moved = JSON.stringify({ type: "relocated", relocatedCwd: worktree(), sessionId: ID })
    const rest = withCwd(
      talk(machine.cwd, "heron", "bittern", "egret").slice(half.length),
      machine.cwd,
      worktree(),
    )
    return { half, full: [...half, moved, ...rest] }
  }

  test.each([
    ["the worktree is there", true, false],
    ["the worktree is gone", false, false],
    ["the worktree is gone, and the old half came last", false, true],
  ] as const)("%s", async (_what, isThere, oldLast) => {
    const { half, full } = halves()
    const steps = [
      () => write(transcriptIn(machine.cwd), half),
      () => {
        rmSync(transcriptIn(machine.cwd), { force: true })
        write(transcriptIn(worktree()), full)
      },
    ]
    for (const step of oldLast ? steps.toReversed() : steps) {
      step()
      await archive()
    }
    if (isThere) mkdirSync(worktree(), { recursive: true })
    const folder = isThere ? worktree() : machine.cwd
    await comesBack(full, { folder, file: transcriptIn(folder), others: 1 })
  })

  test("begun in a worktree that is gone: continued in the repository, with its subagents", async () => {
    const lines = talk(worktree(), "heron")
    write(transcriptIn(worktree()), lines)
    const agent = (folder: string) => transcriptIn(folder).replace(".jsonl", "/subagents/agent-a1b2.jsonl")
    write(agent(worktree()), talk(worktree(), "feather"))
    await archive()
    await comesBack(lines, { folder: machine.cwd, file: transcriptIn(machine.cwd), others: 0 })
    expect(existsSync(agent(machine.cwd))).toBe(true)
    expect(existsSync(dirname(agent(worktree())))).toBe(false)
  })

  test("a worktree beside its repository: the views know whose it was", async () => {
    const git = (cwd: string, ...args: string[]) => {
      const author = ["-c", "user.name=A", "-c", "user.email=a@b.invalid"]
      const { exitCode } = Bun.spawnSync(["git", ...author, ...args], {
        cwd,
        env: { ...process.env, ...machine.env },
      })
      expect(exitCode).toBe(0)
    }
    const beside = join(machine.root, "beside")
    git(machine.cwd, "init", "-q")
    git(machine.cwd, "commit", "-q", "--allow-empty", "-m", "first")
    git(machine.cwd, "worktree", "add", "-q", beside)
    const lines = talk(beside, "heron")
    write(transcriptIn(beside), lines)
    await archive()
    git(machine.cwd, "worktree", "remove", "--force", beside)
    await comesBack(lines, { folder: machine.cwd, file: transcriptIn(machine.cwd), others: 0 })
  })

  test("no folder of it is left: it says which one is missing", async () => {
    write(transcriptIn(machine.cwd), talk(machine.cwd, "heron"))
    await archive()
    rmSync(join(machine.home, ".claude"), { recursive: true })
    rmSync(machine.cwd, { recursive: true })
    const ran = await cli("resume", ID)
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toStartWith(`ctxbridge: the session's folder is gone: ${machine.cwd}\n`)
  })
})

describe("rewritten in its place", () => {
  const whole = () => talk(machine.cwd, "heron", "bittern", "egret", "stork")

  test.each([
    ["truncated", (lines: string[]) => lines.slice(0, 2), "former"],
    [
      "truncated and gone on",
      (lines: string[]) => [...lines.slice(0, 2), ...apart(talk("/x", "owl"))],
      "former",
    ],
    ["emptied", () => [], "former"],
    ["grown anew", (lines: string[]) => [...apart(talk("/x", "owl")), ...lines], "new"],
    [
      "as many records, other words",
      (lines: string[]) => lines.map((line) => line.replaceAll("stork", "snipe")),
      "new",
    ],
    ["shortened in a line", (lines: string[]) => lines.map((line) => line.replaceAll("stork", "owl")), "new"],
  ] as const)("%s: the %s", async (_what, change, wins) => {
    const before = whole()
    const after = change(before)
    write(transcriptIn(machine.cwd), before)
    await archive()
    write(transcriptIn(machine.cwd), after)
    await archive()
    const others = after.length === 0 ? 0 : 1
    const expected = wins === "new" ? after : before
    await comesBack(expected, { folder: machine.cwd, file: transcriptIn(machine.cwd), others })
  })

  test("what the host has and goes on with stays; the fuller version is named, and --force puts it there", async () => {
    const before = whole()
    const after = [...before.slice(0, 2), ...apart(talk(machine.cwd, "owl"))]
    const file = transcriptIn(machine.cwd)
    write(file, before)
    await archive()
    write(file, after)
    await archive()
    const kept = await cli("resurrect", ID)
    expect(kept).toMatchObject({ code: 0, stderr: "" })
    expect(kept.stdout).toContain("already there")
    expect(kept.stdout).toContain("a fuller version is in the vault: 8 records")
    expect(kept.stdout).toContain("--force")
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toEqual(after)
    const forced = await cli("resurrect", ID, "--force", "--json")
    expect(forced).toMatchObject({ code: 0, stderr: "" })
    const [session] = JSON.parse(forced.stdout).sessions
    expect(session.files).toMatchObject([{ state: "replaced" }])
    expect(session.others).toMatchObject([{ records: 4, isFuller: false }])
    expect(readFileSync(session.files[0].aside, "utf8").trimEnd().split("\n")).toEqual(after)
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toEqual(before)
  })

  test("only its beginning is left on disk: completed", async () => {
    const lines = whole()
    const file = transcriptIn(machine.cwd)
    write(file, lines)
    await archive()
    write(file, lines.slice(0, 3))
    await archive()
    const ran = await cli("resurrect", ID, "--json")
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).sessions[0].files).toMatchObject([{ state: "completed" }])
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toEqual(lines)
  })
})

test("a fork is another session: each comes back as it is", async () => {
  const lines = talk(machine.cwd, "heron", "bittern")
  const fork = "5e551011-0000-4000-8000-00000000f0f0"
  const forked = [...lines, ...apart(talk(machine.cwd, "egret"))].map((line) => line.replaceAll(ID, fork))
  const forkFile = transcriptIn(machine.cwd).replace(ID, fork)
  write(transcriptIn(machine.cwd), lines)
  write(forkFile, forked)
  await archive()
  await comesBack(lines, { folder: machine.cwd, file: transcriptIn(machine.cwd), others: 0 })
  expect(await cli("resurrect", fork)).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(forkFile, "utf8").trimEnd().split("\n")).toEqual(forked)
})

test("a backup of it that is fuller goes to the host's folder", async () => {
  const lines = talk(machine.cwd, "heron", "bittern")
  const backup = join(machine.root, "backup", `${ID}.jsonl`)
  write(backup, lines)
  write(transcriptIn(machine.cwd), lines.slice(0, 2))
  await archive()
  expect(await cli("import", "--quiet", dirname(backup))).toMatchObject({ code: 0, stderr: "" })
  await comesBack(lines, { folder: machine.cwd, file: transcriptIn(machine.cwd), others: 1 })
})

test("--all --to writes every version under a name of its own", async () => {
  const lines = talk(machine.cwd, "heron", "bittern")
  const other = join(machine.root, "other")
  write(transcriptIn(machine.cwd), lines)
  await archive()
  write(transcriptIn(machine.cwd), lines.slice(0, 2))
  mkdirSync(dirname(transcriptIn(other)), { recursive: true })
  cpSync(transcriptIn(machine.cwd), transcriptIn(other))
  await archive()
  const ran = await cli("resurrect", ID, "--all", "--to", join(machine.root, "all"), "--json")
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  const [{ files, others }] = JSON.parse(ran.stdout).sessions
  expect(others).toEqual([])
  expect(new Set(files.map(({ path }: { path: string }) => path)).size).toBe(3)
  expect(files.map(({ state }: { state: string }) => state)).toEqual(["written", "written", "written"])
})
