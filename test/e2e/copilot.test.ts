/** Sessions of Copilot CLI beside those of Claude Code: found, imported, listed, searched, shown, counted, forgotten. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { CopilotEvents, fullEvents } from "../support/copilot-events.ts"
import { Machine } from "../support/machine.ts"

const ID = "0a1b2c3d-0000-4000-8000-00000000000a"
const OTHER = "0a1b2c3d-0000-4000-8000-00000000000b"

const machine = new Machine()
const folder = join(machine.home, ".copilot")
const options = { folder, id: ID, cwd: machine.cwd }
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout)

beforeAll(async () => {
  machine.session().turn("Why does the kiln overheat in winter?").flush()
  fullEvents(options).flush()
  expect(await cli("import")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("2 transcripts examined, 1 of Copilot CLI\n"),
  })
})

afterAll(() => machine[Symbol.dispose]())

test("a second import finds nothing new, and every byte is there", async () => {
  expect((await cli("import")).stdout).toContain("Nothing new: everything was already archived")
  expect(await cli("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("2 complete") })
})

test("sessions, search and stats narrow to them", async () => {
  expect((await json("sessions", "--agent", "copilot")).sessions).toMatchObject([
    { id: ID, program: "copilot" },
  ])
  const hits = async (...args: string[]) => (await json("search", ...args)).hits as { program?: string }[]
  expect(new Set((await hits("kiln overheat", "--agent", "copilot")).map(({ program }) => program))).toEqual(
    new Set(["copilot"]),
  )
  expect((await hits("kiln overheat", "--agent", "claude")).map(({ program }) => program)).toEqual([
    undefined,
  ])
  expect((await hits("valve", "--error"))[0]).toMatchObject({ program: "copilot", tool: "bash" })
  // What Copilot tells the model in each session is nobody's words, and what is sent repeats what was typed.
  expect((await cli("search", "zeppelin")).code).toBe(3)
  expect(await json("stats", "--agent", "copilot")).toMatchObject({
    total: { tokens: { input: 1400, cacheRead: 1900, output: 130 } },
  })
})

test("show tells a session and its turns, the subagent's among them", async () => {
  const session = await json("show", ID)
  expect(session.session).toMatchObject({ program: "copilot", version: "1.0.102", branch: "main", turns: 2 })
  expect((await cli("show", ID)).stdout).toContain("Copilot CLI 1.0.102")
  const turn = (await cli("show", session.turns[0].handle)).stdout
  expect(turn).toContain("$ npm test")
  expect(turn).toContain("result of bash (error, exit 1)")
  expect(turn).toContain("answer (subagent)")
  expect(turn).toContain("Copilot CLI's summary")
  expect(turn).not.toContain("zeppelin")
})

test("view and export have them", async () => {
  const out = join(machine.root, "session.md")
  expect(await cli("export", ID, "--output", out)).toMatchObject({ code: 0 })
  expect(await Bun.file(out).text()).toContain("The valve stuck; it opens slowly now.")
  const page = join(machine.root, "page.html")
  expect(await cli("view", ID, "--output", page)).toMatchObject({ code: 0 })
  expect(await Bun.file(page).text()).toContain("kiln")
})

test("resume names Copilot's command", async () => {
  expect(await cli("resume", ID, "--print")).toMatchObject({
    code: 0,
    stdout: `cd ${machine.cwd} && copilot --resume ${ID}\n`,
    stderr: "",
  })
})

test("what is written later is archived along with Claude Code's sessions", async () => {
  const events = fullEvents(options)
  const from = events.lines.length
  events.prompt("Paint the kiln ultramarine.").answer("Painted.").flush(from)
  const own = machine.session().turn("Good night").flush()
  await machine.hook("session-end", own, { reason: "exit" })
  await machine.idle()
  expect((await json("search", "ultramarine")).hits[0]).toMatchObject({ session: ID, program: "copilot" })
})

test("a rebuild leaves all as it was", async () => {
  const before = await json("sessions", "--agents")
  expect(await cli("rebuild")).toMatchObject({ code: 0 })
  expect(await json("sessions", "--agents")).toEqual(before)
})

test("COPILOT_HOME names another folder", async () => {
  const other = join(machine.root, "elsewhere")
  new CopilotEvents({ ...options, folder: other, id: OTHER }).prompt("Sweep the shed").flush()
  const env = { ...machine.env, COPILOT_HOME: other }
  const { stdout } = await run(["import"], { env, cwd: machine.cwd })
  expect(stdout).toContain("1 of Copilot CLI")
})

test("a secret is masked, and a forgotten session is gone", async () => {
  const secret = `ghp_${"a1B2".repeat(9)}`
  const id = "0a1b2c3d-0000-4000-8000-00000000000c"
  new CopilotEvents({ ...options, id }).prompt(`Use the token ${secret} for the gate`).flush()
  await cli("import")
  expect((await cli("search", "gate")).stdout).not.toContain(secret)
  expect(await cli("forget", id, "--yes")).toMatchObject({ code: 0 })
  expect((await json("sessions", "--agent", "copilot")).sessions).toHaveLength(2)
  expect(existsSync(join(machine.dataHome, "vault/copilot/home", `${id}.jsonl.zst`))).toBe(false)
  expect((await cli("import")).stdout).toContain("Nothing new")
})
