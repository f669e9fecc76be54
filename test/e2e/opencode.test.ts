/** Sessions of opencode, which are rows of a database: found, imported, listed, searched, shown, counted and verified. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { fullConversation, OpencodeStore } from "../support/opencode-store.ts"

const MAIN = "ses_0001synthetic"
const CHILD = "ses_0002synthetic"

const machine = new Machine()
const data = join(machine.home, ".local/share")
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout)
const store = fullConversation({ data, cwd: machine.cwd, session: MAIN })
const child = new OpencodeStore({ data, cwd: machine.cwd, session: CHILD, parent: MAIN })

beforeAll(async () => {
  machine.session().turn("Why does the kiln overheat in winter?").flush()
  child.prompt("Look for valves").answer("None.")
  expect(await cli("import", "--dry-run")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("3 transcripts examined, 2 of opencode\nWould archive"),
  })
  expect(await cli("import")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("3 transcripts examined, 2 of opencode\n"),
  })
})

afterAll(() => {
  store.db.close()
  child.db.close()
  machine[Symbol.dispose]()
})

test("a second import finds nothing new, and every row is there", async () => {
  expect((await cli("import")).stdout).toContain("Nothing new: everything was already archived")
  expect(await cli("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("3 complete") })
})

test("sessions says whose they are, and narrows to an agent's", async () => {
  const { sessions } = await json("sessions", "--agent", "opencode")
  expect(sessions).toMatchObject([{ id: MAIN, program: "opencode", title: "Kiln overheats" }])
  expect((await json("sessions", "--agents", "--agent", "opencode")).sessions).toHaveLength(2)
  expect((await cli("sessions", "--agent", "claude")).stdout).not.toContain("opencode")
})

test("export takes all sessions of an agent, oldest first, of this project or of all", async () => {
  const ids = async (...args: string[]) =>
    (await cli("export", "--jsonl", ...args)).stdout
      .split("\n")
      .flatMap((line) => (line.startsWith('{"type":"session"') ? [JSON.parse(line).id as string] : []))
  expect(await ids("--agent", "opencode")).toEqual([MAIN])
  expect(await ids("--agent", "opencode", "--agents")).toEqual([MAIN, CHILD])
  expect(await ids("-a")).toContain(MAIN)
  expect(await ids("--agent", "claude")).not.toContain(MAIN)
  const none = { code: 3, stdout: "", stderr: expect.stringContaining("with --agent codex is archived") }
  expect(await cli("export", "--agent", "codex")).toMatchObject(none)
  expect(await cli("open", "--agent", "codex", "--output", join(machine.root, "none.html"))).toMatchObject(
    none,
  )
  expect(await cli("export")).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("name a session or turn"),
  })
  expect(await cli("export", MAIN, "--agent", "opencode")).toMatchObject({
    code: 64,
    stdout: "",
    stderr: expect.stringContaining("--subagent names"),
  })
})

test("search finds what was said and run in them", async () => {
  const hits = async (...args: string[]) => (await json("search", ...args)).hits as { program?: string }[]
  expect(new Set((await hits("kiln overheat")).map(({ program }) => program))).toEqual(
    new Set([undefined, "opencode"]),
  )
  expect((await hits("valve stuck", "--error"))[0]).toMatchObject({ program: "opencode", tool: "bash" })
})

test("show, export and stats", async () => {
  const shown = await json("show", MAIN)
  expect(shown.session).toMatchObject({ program: "opencode", version: "1.18.33", turns: 2 })
  expect(shown.lineage.subagents).toEqual([CHILD])
  const turn = (await cli("show", shown.turns[0].handle)).stdout
  expect(turn).toContain("$ npm test")
  expect(turn).toContain("result of bash (error, exit 1)")
  expect(turn).toContain("Handover: the valve was mended.")
  expect((await cli("show", CHILD)).stdout).toContain(`subagent of session ${MAIN}`)
  expect((await cli("export", MAIN)).stdout).toContain("Now release the kiln.")
  const raw = (await cli("export", MAIN, "--raw")).stdout
  expect(raw.split("\n")[0]).toStartWith('{"opencode":"session","row":"session","sha256":"')
  // Eight answers of both sessions.
  expect(await json("stats", "--agent", "opencode")).toMatchObject({
    total: { tokens: { input: 4800, cacheRead: 11200, output: 1200 } },
  })
})

test("resume starts opencode with it, and resurrect says why it cannot write it back", async () => {
  expect(await cli("resume", MAIN, "--print")).toMatchObject({
    code: 0,
    stdout: `cd ${machine.cwd} && opencode --session ${MAIN}\n`,
  })
  expect(await cli("resurrect", MAIN)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("opencode takes no session back from a file"),
  })
})

test("what is written later is missing until it is archived along with Claude Code's sessions", async () => {
  store.pause().prompt("Paint the kiln ultramarine.").answer("Painted.")
  expect(await cli("verify")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("1 with bytes that are not archived yet"),
  })
  const own = machine.session().turn("Good night").flush()
  await machine.hook("session-end", own, { reason: "exit" })
  await machine.idle()
  expect((await json("search", "ultramarine")).hits[0]).toMatchObject({ session: MAIN, program: "opencode" })
  expect((await cli("verify")).code).toBe(0)
})

test("a rebuild leaves all as it was", async () => {
  const all = () => json("sessions", "--all-projects", "--agents")
  const before = await all()
  expect((await cli("rebuild")).code).toBe(0)
  expect(await all()).toEqual(before)
})

test("what opencode has deleted stays, and doctor finds nothing wrong with it", async () => {
  for (const table of ["part", "message"]) store.db.run(`DELETE FROM ${table} WHERE session_id = '${CHILD}'`)
  store.db.run(`DELETE FROM session WHERE id = '${CHILD}'`)
  expect(await cli("verify")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 deleted from the disk and safe in the vault"),
  })
  expect((await cli("show", CHILD)).stdout).toContain("Look for valves")
})

test("a forgotten session does not come back", async () => {
  expect(await cli("forget", MAIN, "--yes")).toMatchObject({ code: 0 })
  expect((await cli("search", "ultramarine")).code).toBe(3)
  expect((await cli("import")).stdout).toContain("forgotten at your request")
  expect((await cli("search", "ultramarine")).code).toBe(3)
  expect((await cli("verify")).code).toBe(0)
})

test("XDG_DATA_HOME names another folder, and capture.exclude is heeded", async () => {
  const other = join(machine.root, "elsewhere")
  using kept = fullConversation({ data: other, cwd: join(machine.root, "kept"), session: "ses_0003kept" })
  using left = fullConversation({ data: other, cwd: join(machine.root, "left"), session: "ses_0004left" })
  const config = join(machine.root, "config.toml")
  writeFileSync(config, `"capture.exclude" = ["${join(machine.root, "left")}"]\n`)
  const env = { ...machine.env, XDG_DATA_HOME: other, CTXBRIDGE_CONFIG: config }
  const { stdout } = await run(["import"], { env, cwd: machine.cwd })
  expect(stdout).toContain("1 transcript skipped (capture.exclude)")
  const ids = (await json("sessions", "--all-projects", "--agent", "opencode")).sessions.map(
    ({ id }: { id: string }) => id,
  )
  expect(ids).toContain(kept.session)
  expect(ids).not.toContain(left.session)
  expect(existsSync(join(other, "opencode/session~"))).toBe(false)
  expect(await run(["verify"], { env, cwd: machine.cwd })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 of folders in capture.exclude"),
  })
})

test("an import names a database that cannot be read, and why, and takes the others' sessions", async () => {
  const damaged = join(store.folder, "opencode-dev.db")
  writeFileSync(damaged, "no database at all ".repeat(100))
  try {
    using other = new OpencodeStore({ data, cwd: machine.cwd, session: "ses_0009synthetic" })
    other.prompt("Is the boiler warm?").answer("It is lukewarm.")
    const { code, stdout, stderr } = await cli("import")
    expect(code).toBe(1)
    expect(`${stdout}${stderr}`).toContain(`${damaged}: file is not a database`)
    expect((await cli("search", "lukewarm")).stdout).toContain("It is lukewarm.")
  } finally {
    rmSync(damaged)
  }
})
