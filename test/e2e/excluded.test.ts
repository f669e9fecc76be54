/** Sessions of folders that the user keeps out of the archive. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { type HookName, Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const SILENT = { code: 0, stdout: "", stderr: "" }
const WORDS = "the zebraquilt is secret"

function exclude(machine: Machine, ...folders: string[]): void {
  const file = join(machine.home, ".config", "ctxbridge", "config.toml")
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `[capture]\nexclude = ${JSON.stringify(folders)}\n`)
}

const cli = (machine: Machine, ...words: string[]) => run(words, { cwd: machine.cwd, env: machine.env })

/** Files below the folder that hold these words, or are called like this session. */
function tracesIn(folder: string, session: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      if (path.includes(session)) return true
      try {
        return (
          /zebraquilt/.test(readFileSync(path, "latin1")) || readFileSync(path, "latin1").includes(session)
        )
      } catch {
        return false
      }
    })
}

/** Everything that a session goes through. */
async function played(machine: Machine, session: Transcript): Promise<void> {
  const hooks: [HookName, object][] = [
    ["session-start", { source: "startup" }],
    ["user-prompt-submit", { prompt: WORDS }],
    ["stop", {}],
    ["pre-compact", { trigger: "manual", custom_instructions: WORDS }],
    ["subagent-stop", { agent_type: "", last_assistant_message: WORDS }],
    ["session-start", { source: "compact" }],
    ["session-end", { reason: "clear" }],
  ]
  for (const [name, fields] of hooks) {
    expect(await machine.hook(name, session, { ...fields })).toMatchObject(SILENT)
    // The prompt stands there before a line names the folder.
    if (name === "session-start" && !existsSync(session.path))
      session.raw(JSON.stringify({ type: "queue-operation", operation: "enqueue", content: WORDS })).flush()
    if (name === "user-prompt-submit") session.turn(WORDS).flush()
  }
}

/** There was no way to keep the sessions of a folder out of the archive, but to switch it off everywhere. */
test("in an excluded folder hooks say nothing and leave nothing; job, import and verify leave it out", async () => {
  using machine = new Machine()
  exclude(machine, machine.cwd)
  const session = machine.session()
  await played(machine, session)
  expect(existsSync(machine.dataHome)).toBe(false)
  const imported = await cli(machine, "import", "--json")
  expect(imported).toMatchObject({ code: 0, stderr: "" })
  expect(doneIn(imported.stdout)).toMatchObject({ takenBytes: 0, files: [{ excluded: true, taken: 0 }] })
  expect((await cli(machine, "import", "--dry-run")).stdout).toContain(
    "1 transcript skipped (capture.exclude)",
  )
  const verified = await cli(machine, "verify", "--json")
  expect(verified).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(verified.stdout).totals).toMatchObject({ excluded: 1, missing: 0, copies: 0 })
  // A session elsewhere makes the job look through the same folder.
  const other = machine
    .session({ cwd: join(machine.root, "other") })
    .turn("hello")
    .flush()
  await machine.hook("session-start", other, { source: "startup" })
  await machine.hook("session-end", other, { reason: "other" })
  await machine.idle()
  expect(existsSync(machine.copy(other.path))).toBe(true)
  expect(tracesIn(machine.dataHome, session.session)).toEqual([])
})

test("excluded are folders below it, by a pattern, from ~ on, through a link; and no others", async () => {
  using machine = new Machine()
  const link = join(machine.root, "link")
  symlinkSync(machine.cwd, link)
  const cases: [string[], boolean][] = [
    [[machine.root], true],
    [[join(machine.root, "pro*")], true],
    [[`${machine.root}/**/project`], true],
    [[link], true],
    [[`${machine.cwd}/below`, `${machine.cwd}s`, `${machine.root}/p`, "~"], false],
  ]
  for (const [folders, isOut] of cases) {
    exclude(machine, ...folders)
    const session = machine.session().turn("hello").flush()
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    expect({ folders, isOut: !existsSync(machine.copy(session.path)) }).toEqual({ folders, isOut })
  }
  exclude(machine, "~/client")
  const cwd = join(machine.home, "client", "app")
  const session = machine.session({ cwd }).turn("hello").flush()
  expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  expect(existsSync(machine.copy(session.path))).toBe(false)
})

test("excluded is a session that has gone elsewhere since, and a subagent of it that works elsewhere", async () => {
  using machine = new Machine()
  exclude(machine, machine.cwd)
  const session = machine.session().turn(WORDS).flush()
  const elsewhere = { cwd: machine.root }
  expect(await machine.hook("user-prompt-submit", session, { ...elsewhere, prompt: WORDS })).toMatchObject(
    SILENT,
  )
  for (const path of [
    join(session.path.replace(/\.jsonl$/, ""), "subagents", "agent-a1.jsonl"),
    join(dirname(session.path), "agent-a2.jsonl"),
  ]) {
    const options = { session: session.session, ...elsewhere, version: "2.1.112", path, agent: "a1" }
    new Transcript(options).turn(WORDS).flush()
  }
  const imported = await cli(machine, "import", "--json")
  const { files } = doneIn(imported.stdout)
  expect(files).toHaveLength(3)
  for (const file of files) expect(file).toMatchObject({ excluded: true, taken: 0 })
  expect(tracesIn(machine.dataHome, session.session)).toEqual([])
})

test("status and doctor tell of excluded folders, also of what was archived before", async () => {
  using machine = new Machine()
  const session = machine.session().turn(WORDS).flush()
  await machine.hook("stop", session)
  exclude(machine, machine.cwd, "~/mistyped")
  session.turn("and more").flush()
  expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  expect((await cli(machine, "status", "--verbose")).stdout).toMatch(/^excluded +\/.*project, ~\/mistyped$/m)
  const { stdout } = await cli(machine, "doctor", "--json")
  const told = JSON.parse(stdout).findings.filter(({ check }: { check: string }) => check === "excluded")
  expect(told.map(({ state, text }: { state: string; text: string }) => [state, text])).toEqual([
    ["ok", "sessions of 2 folders, and those that name none, are not archived"],
    ["warn", "there is no such folder: ~/mistyped"],
    ["warn", "1 session of these folders stay in the archive, from before"],
  ])
  const verified = await cli(machine, "verify", "--json")
  expect(verified.code).toBe(0)
  expect(JSON.parse(verified.stdout).totals).toMatchObject({ excluded: 1, missing: 0, copies: 1 })
})

test("remember keeps nothing in an excluded folder", async () => {
  using machine = new Machine()
  exclude(machine, machine.cwd)
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const answer = await peer.call("remember", { text: WORDS })
  expect(JSON.stringify(answer)).toContain("capture.exclude")
  expect(tracesIn(machine.dataHome, "none")).toEqual([])
})

test("of a list of excluded folders with a mistake in it the others count for hooks, and commands stop", async () => {
  using machine = new Machine()
  exclude(machine, "relative", machine.cwd)
  const session = machine.session().turn(WORDS).flush()
  expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  expect(existsSync(machine.copy(session.path))).toBe(false)
  const { code, stderr } = await cli(machine, "import")
  expect(code).toBe(64)
  expect(stderr).toStartWith('ctxbridge: capture.exclude: ["relative"')
})
