/** Sessions of Codex beside those of Claude Code: found, imported, listed, searched, shown, counted and verified. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { zstdCompressSync } from "node:zlib"
import { AGENT_NAMES } from "../../src/agents/agents.ts"
import { run } from "../support/binary.ts"
import { bomb } from "../support/bomb.ts"
import { type CodexRollout, fullRollout, type RolloutOptions } from "../support/codex-rollout.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"

const LEGACY = "0a1b2c3d-0000-7000-8000-000000000001"
const PAGINATED = "0a1b2c3d-0000-7000-8000-000000000002"
const CHILD = "0a1b2c3d-0000-7000-8000-000000000003"

const machine = new Machine()
const folder = join(machine.home, ".codex")
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout)
const rollout = (mode: RolloutOptions["mode"], id: string, meta = {}): CodexRollout =>
  fullRollout({ mode, folder, id, cwd: machine.cwd, meta })

beforeAll(async () => {
  machine.session().turn("Why does the kiln overheat in winter?").flush()
  rollout("legacy", LEGACY).flush()
  rollout("paginated", PAGINATED).flush()
  rollout("paginated", CHILD, { source: { subagent: "review" }, parent_thread_id: PAGINATED }).flush()
  expect(await cli("import")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("4 transcripts examined, 3 of Codex\n"),
  })
})

afterAll(() => machine[Symbol.dispose]())

test("a second import finds nothing new, and every byte is there", async () => {
  expect((await cli("import")).stdout).toContain("Nothing new: everything was already archived")
  expect(await cli("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("4 complete") })
})

test("sessions says whose they are, and narrows to an agent's", async () => {
  const { stdout } = await cli("sessions")
  expect(stdout.split("\n")[0]).toMatch(/^session +last active +agent /)
  const ids = async (...args: string[]) =>
    (await json("sessions", ...args)).sessions.map((one: { id: string; program: string }) => [
      one.program,
      one.id,
    ])
  expect(new Set(await ids("--agent", "codex"))).toEqual(
    new Set([
      ["codex", LEGACY],
      ["codex", PAGINATED],
    ]),
  )
  expect(await ids("--agent", "claude")).toHaveLength(1)
  expect(await ids("--agents")).toHaveLength(4)
  expect((await cli("sessions", "--agent", "claude")).stdout).not.toContain("Codex")
  expect(await cli("sessions", "--agent", "nobody")).toMatchObject({
    code: 64,
    stderr: expect.stringContaining(`--agent must be one of ${AGENT_NAMES.join(", ")}, not "nobody"`),
  })
})

test("search finds what was said and run in them, and marks it", async () => {
  expect((await cli("search", "kiln overheat")).stdout).toMatch(/turn 1 of 0a1b2c3d[^\n]*|· Codex ·/)
  const hits = async (...args: string[]) => (await json("search", ...args)).hits as { program?: string }[]
  const all = await hits("kiln overheat")
  expect(new Set(all.map(({ program }) => program))).toEqual(new Set([undefined, "codex"]))
  expect(new Set((await hits("kiln overheat", "--agent", "codex")).map((hit) => hit.program))).toEqual(
    new Set(["codex"]),
  )
  expect((await hits("kiln overheat", "--agent", "claude")).map((hit) => hit.program)).toEqual([undefined])
  expect((await hits("valve", "--error"))[0]).toMatchObject({ program: "codex", tool: "exec_command" })
  // What Codex tells the model in each session is nobody's words.
  expect((await cli("search", "zeppelin")).code).toBe(3)
  expect(await cli("search", "winter", "--agent", "codex")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("with --agent codex; 1 without it"),
  })
})

test("show tells a session and its turns", async () => {
  const session = await json("show", PAGINATED)
  expect(session.session).toMatchObject({ program: "codex", version: "0.169.0", branch: "main", turns: 2 })
  expect(session.lineage.subagents).toEqual([CHILD])
  const head = (await cli("show", PAGINATED)).stdout
  expect(head).toContain("Codex 0.169.0")
  const turn = (await cli("show", session.turns[0].handle)).stdout
  expect(turn).toContain("$ npm test")
  expect(turn).toContain("result of exec_command (error, exit 1)")
  expect(turn).toContain("gpt-5.4: tokens 1100 input, 0 written to cache, 1900 read from cache, 120 output")
  expect(turn).toContain("Handover: the valve was mended.")
  expect((await cli("show", CHILD)).stdout).toContain(`subagent of session ${PAGINATED}`)
})

test("what finds commands, fixes, files and lines narrows to an agent, and says whose it is", async () => {
  const found = async (...args: string[]) =>
    (await json(...args)).found.map(({ program }: { program?: string }) => program ?? "claude")
  for (const words of [
    ["how", "npm test"],
    ["files", "valve.ts"],
    ["blame", "src/valve.ts"],
  ]) {
    expect(new Set(await found(...words, "--agent", "codex"))).toEqual(new Set(["codex"]))
    expect((await cli(...words)).stdout).toContain("Codex")
    expect((await cli(...words, "--agent", "claude")).code).toBe(3)
  }
  writeFileSync(join(machine.cwd, "valve.ts"), "openSlowly()\n")
  expect((await json("why", "valve.ts:1", "--agent", "codex")).found[0].edit).toMatchObject({
    tool: "apply_patch",
  })
  expect((await cli("why", "valve.ts:1", "--agent", "claude")).code).toBe(3)
  const { handle } = (await json("show", LEGACY)).turns[0]
  expect((await cli("show", handle, "--around", "3")).stdout).toStartWith("A session of Codex\n")
  expect(await json("show", handle, "--around", "3")).toMatchObject({ program: "codex" })
  expect((await json("notes", "--agent", "codex")).notes).toEqual([])
})

test("pages name the agent, and may be of one only", async () => {
  const { pages, index } = await json("open", "--agent", "codex", "-o", `${join(machine.root, "pages")}/`)
  expect(pages.map(({ session }: { session: string }) => session).sort()).toEqual([LEGACY, PAGINATED])
  expect(readFileSync(index, "utf8")).toContain("Codex")
  expect((await cli("open", LEGACY, "--agent", "codex")).code).toBe(64)
})

test("the server's tools narrow to an agent", async () => {
  await using client = await Peer.connect(machine.cwd, machine.env)
  const text = async (name: string, args: Record<string, unknown>) => (await client.call(name, args)).text
  expect(await text("search", { query: "kiln overheat", agent: "codex" })).toContain("a session of Codex")
  expect(await text("search", { query: "kiln overheat", agent: "claude" })).not.toContain("Codex")
  expect(await text("look_up", { kind: "how", about: "npm test", agent: "claude" })).toContain(
    "No such command",
  )
})

test("a thread that a session started belongs to it in searches and exports", async () => {
  const { hits } = await json("search", "valve", "--session", PAGINATED)
  expect(new Set(hits.map(({ session }: { session: string }) => session))).toEqual(
    new Set([PAGINATED, CHILD]),
  )
  const { stdout } = await cli("export", PAGINATED, "--jsonl", "--agents")
  expect(stdout).toContain(CHILD)
})

test("stats counts their tokens once, at OpenAI's prices", async () => {
  const stats = await json("stats", "--agent", "codex")
  expect(stats).toMatchObject({ total: { tokens: { input: 3300, cacheRead: 5700, output: 360 } } })
  expect((await json("stats", "--agent", "claude")).total.tokens.cacheRead).not.toBe(5700)
  // GPT-5.4: 1100 at $2.50, 1900 read from the cache at $0.25 and 120 at $15 per million, of three sessions.
  expect(stats.total.cost).toBeCloseTo(3 * 0.005025, 8)
  expect(stats.unpriced).toEqual([])
  const { agents, rows } = await json("stats", "--by", "agent")
  expect(rows).toEqual(agents)
  expect(agents.map(({ key, turns }: { key: string; turns: number }) => [key, turns]).sort()).toEqual([
    ["claude", 1],
    ["codex", 4],
  ])
  expect((await cli("stats")).stdout).toMatch(/\nAgents\n(?:.*\n)+?Codex +4 /)
})

/** Starts what it finds under these names on PATH: each tells where it was started, and how. */
function withPrograms(...names: string[]) {
  const bin = join(machine.root, "bin")
  mkdirSync(bin, { recursive: true })
  for (const name of names)
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} in $PWD: $*, \${CODEX_HOME-usual}"\nexit 7\n`, {
      mode: 0o755,
    })
  const env = { ...machine.env, PATH: `${bin}:${process.env["PATH"]}` }
  return (...args: string[]) => run(args, { env, cwd: machine.cwd })
}

test("resume goes on with one in Codex, in its folder, written back byte for byte if it is gone", async () => {
  const started = withPrograms("codex", "claude")
  const { path, text } = rollout("legacy", LEGACY)
  rmSync(path)
  const command = `cd ${machine.cwd} && codex resume ${LEGACY}\n`
  expect(await started("resume", LEGACY, "--dry-run")).toMatchObject({ code: 0, stdout: command, stderr: "" })
  expect(existsSync(path)).toBe(false)
  for (const words of [[LEGACY], ["kiln", "overheat", "latch", "--yes"]]) {
    rmSync(path, { force: true })
    const { code, stdout, stderr } = await started("resume", ...words)
    expect({ code, stdout }).toEqual({
      code: 7,
      stdout: `codex in ${machine.cwd}: resume ${LEGACY}, usual\n`,
    })
    if (words.length > 1) expect(stderr).toContain(" · Codex · ")
    expect(readFileSync(path, "utf8")).toBe(text)
  }
  rmSync(path)
  expect(await started("resume", LEGACY, "--print")).toMatchObject({ code: 0, stdout: command, stderr: "" })
  expect(readFileSync(path, "utf8")).toBe(text)
  expect(await started("resume", CHILD, "--print")).toMatchObject({
    stdout: expect.stringContaining(`codex resume ${PAGINATED}\n`),
  })
})

test("resurrect leaves a rollout that is there, and one that the user has put aside where it is", async () => {
  expect(await cli("resurrect", LEGACY)).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("already there\n\ncd "),
  })
  const { path } = rollout("legacy", LEGACY)
  const aside = join(folder, "archived_sessions", basename(path))
  mkdirSync(dirname(aside), { recursive: true })
  renameSync(path, aside)
  expect((await cli("resurrect", LEGACY)).stdout).toContain(`codex unarchive ${LEGACY}`)
  expect(await cli("resume", LEGACY)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(`codex unarchive ${LEGACY}`),
  })
  expect(existsSync(path)).toBe(false)
  renameSync(aside, path)
  const to = join(machine.root, "elsewhere-copies")
  expect((await cli("resurrect", LEGACY, "--to", to)).code).toBe(0)
  expect(readFileSync(join(to, basename(path)))).toEqual(readFileSync(path))
})

test("a pointer at the start of a session of Claude Code's says whose they are", async () => {
  const { stdout } = await machine.hook("session-start", machine.session(), { source: "startup" })
  expect(stdout).toContain("Last session of this project, in Codex: 2 turns")
  expect(stdout).toContain("(Codex, 2 turns, 2 files changed) ~30 0a1b2c3d-0000")
  expect(stdout).toContain("(1 turn)")
})

test("what is written later is archived along with Claude Code's sessions", async () => {
  const grown = rollout("legacy", LEGACY)
  const from = grown.lines.length
  grown.turn("Paint the kiln ultramarine.").answer("Painted.").flush(from)
  const own = machine.session().turn("Good night").flush()
  await machine.hook("session-end", own, { reason: "exit" })
  await machine.idle()
  expect((await json("search", "ultramarine")).hits[0]).toMatchObject({ session: LEGACY, program: "codex" })
})

test("`codex archive` moves a file, and its copy stays the same", async () => {
  const { path } = rollout("paginated", PAGINATED)
  const moved = join(folder, "archived_sessions", basename(path))
  mkdirSync(dirname(moved), { recursive: true })
  renameSync(path, moved)
  expect((await cli("import")).stdout).toContain("Nothing new")
  expect((await json("sessions", "--agent", "codex")).sessions).toHaveLength(2)
  expect((await cli("verify")).code).toBe(0)
})

test("CODEX_HOME names another folder, and is set for a session from there", async () => {
  const other = join(machine.root, "elsewhere")
  const id = "0a1b2c3d-0000-7000-8000-000000000009"
  const { path } = fullRollout({ mode: "legacy", folder: other, id, cwd: machine.cwd }).flush()
  const { stdout } = await run(["import"], { env: { ...machine.env, CODEX_HOME: other }, cwd: machine.cwd })
  expect(stdout).toContain("1 of Codex")
  rmSync(path)
  expect((await withPrograms("codex")("resume", id)).stdout).toBe(
    `codex in ${machine.cwd}: resume ${id}, ${other}\n`,
  )
  expect(existsSync(path)).toBe(true)
})

test("what is known from the list of all prompts only, and what is forgotten with a session", async () => {
  const gone = "0a1b2c3d-0000-7000-8000-00000000000c"
  const lines = [
    { session_id: gone, ts: 1746600000, text: "Fetch the bellows" },
    { session_id: LEGACY, ts: 1746600001, text: "Why does the kiln overheat?" },
  ]
  writeFileSync(join(folder, "history.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  await cli("import")
  expect((await json("search", "bellows", "-a")).hits).toMatchObject([
    { session: gone, program: "codex", promptsOnly: true, time: "2025-05-07T06:40:00.000Z" },
  ])
  expect(
    (await json("search", "bellows", "-a", "--agent", "claude").catch(() => ({ hits: [] }))).hits ?? [],
  ).toEqual([])
  expect((await cli("resume", gone)).stderr).toContain(`only the prompts of session ${gone} are archived`)
  const forgotten = await json("forget", PAGINATED, "--yes")
  expect(forgotten.sessions.map(({ session }: { session: string }) => session).sort()).toEqual([
    PAGINATED,
    CHILD,
  ])
  expect((await cli("show", CHILD)).code).toBe(3)
})

test("a compressed rollout is the same session as the plain one, which comes first", async () => {
  const id = "0a1b2c3d-0000-7000-8000-00000000000d"
  const made = fullRollout({ mode: "paginated", folder, id, cwd: machine.cwd })
  const packed = `${made.path}.zst`
  mkdirSync(dirname(packed), { recursive: true })
  writeFileSync(packed, zstdCompressSync(made.text))
  expect((await cli("import")).stdout).toContain("Archived ")
  expect((await cli("import")).stdout).toContain("Nothing new")
  expect((await cli("export", id, "--raw")).stdout).toBe(made.text)
  expect((await cli("verify")).code).toBe(0)
  expect((await json("resurrect", id)).sessions[0].files).toMatchObject([{ path: packed, state: "present" }])
  made.turn("Now sweep the hearth.").answer("Swept.").flush()
  const { stdout } = await cli("import")
  expect(stdout).toContain("Archived ")
  expect((await json("search", "hearth", "--session", id)).hits).toHaveLength(1)
  rmSync(made.path)
  writeFileSync(packed, zstdCompressSync(made.text))
  expect((await cli("import")).stdout).toContain("Nothing new")
  expect((await json("sessions")).sessions.filter((one: { id: string }) => one.id === id)).toHaveLength(1)
  expect((await cli("export", id, "--raw")).stdout).toBe(made.text)
  writeFileSync(packed, "no such thing")
  expect(await cli("import", packed)).toMatchObject({ code: 1 })
})

test("a compressed rollout with gigabytes in it is refused, and holds up no other", async () => {
  const [bad, good] = ["0a1b2c3d-0000-7000-8000-00000000000e", "0a1b2c3d-0000-7000-8000-00000000000f"]
  const [first, second] = [bad, good].map((id) =>
    fullRollout({ mode: "legacy", folder, id, cwd: machine.cwd }),
  )
  for (const { path } of [first!, second!]) mkdirSync(dirname(path), { recursive: true })
  const packed = `${first!.path}.zst`
  writeFileSync(packed, bomb(40_000))
  writeFileSync(`${second!.path}.zst`, zstdCompressSync(second!.text))
  const { code, stdout } = await cli("import")
  expect(code).toBe(1)
  expect(stdout).toContain(`failed: ${packed}: what is in it may be longer than 512 MB`)
  expect((await cli("export", good, "--raw")).stdout).toBe(second!.text)
  rmSync(packed)
})

test("a rebuild leaves all as it was, also of sessions whose folder is gone", async () => {
  const [main, child] = ["0a1b2c3d-0000-7000-8000-00000000000a", "0a1b2c3d-0000-7000-8000-00000000000b"]
  const meta = { source: { subagent: "review" }, parent_thread_id: main }
  for (const [id, more] of [
    [main, {}],
    [child, meta],
  ] as const)
    fullRollout({ mode: "legacy", folder, id, cwd: join(machine.root, "gone"), meta: more }).flush()
  await cli("import")
  const all = () => json("sessions", "--all-projects", "--agents")
  const before = await all()
  expect(before.sessions).toContainEqual(
    expect.objectContaining({ id: child, parent: main, program: "codex" }),
  )
  expect((await cli("rebuild")).code).toBe(0)
  expect(await all()).toEqual(before)
})
