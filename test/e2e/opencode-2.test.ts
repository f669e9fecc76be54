/** Sessions of opencode 2 by the program: found, listed, searched, shown, counted, verified; secrets filled; forgotten. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { conversation2, OpencodeStore2, SESSION_2, usedTool } from "../support/opencode-2-store.ts"

const CHILD = "ses_0003synthetic"
const OTHER = "ses_0004synthetic"
/** Recognised as a secret by its form. */
const KEY = `ghp_${"A1b2C3d4E5".repeat(4).slice(0, 36)}`

const machine = new Machine()
const cwd = machine.cwd
const cli = (...args: string[]) => run(args, { env: machine.env, cwd })
const json = async (...args: string[]) => JSON.parse((await cli(...args, "--json")).stdout)
const store = conversation2(machine.home)
const child = new OpencodeStore2(machine.home, { session: CHILD, parent: SESSION_2, cwd })
const other = new OpencodeStore2(machine.home, { session: OTHER, cwd })

beforeAll(async () => {
  store.db.run("UPDATE session_v2 SET directory = ?", [cwd])
  child.row("user", { text: "Look for valves" })
  child.assistant([{ type: "text", text: "None." }])
  const todos = [{ content: "Mend the flue", status: "in_progress", priority: "high" }]
  other.row("user", { text: `Use ${KEY} for the boiler.` })
  other.assistant([
    usedTool("todowrite", { todos }, "[]"),
    { ...usedTool("shell", { command: `login ${KEY}` }, `logged in with ${KEY}`), id: "call_2" },
  ])
  expect(await cli("import")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("3 transcripts examined, 3 of opencode\n"),
  })
})

afterAll(() => {
  for (const one of [store, child, other]) one.db.close()
  machine[Symbol.dispose]()
})

test("each session once, each byte verified, and nothing new for a second import", async () => {
  expect((await cli("import")).stdout).toContain("Nothing new: everything was already archived")
  expect(await cli("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("3 complete") })
  const { sessions } = await json("sessions", "--agent", "opencode")
  expect(sessions.map(({ id }: { id: string }) => id).sort()).toEqual([SESSION_2, OTHER])
})

test("shown with calls, summary and subagent; found; counted", async () => {
  const { session, turns, lineage } = await json("show", SESSION_2)
  expect(session).toMatchObject({ program: "opencode", version: "2.0.3", turns: 2 })
  expect(lineage.subagents).toEqual([CHILD])
  const { handle } = turns.find(({ via }: { via: string }) => via === "typed")
  const shown = (await cli("show", handle)).stdout
  expect(shown).toContain("$ npm test")
  expect(shown).toContain("The valve sticks.")
  expect((await json("search", "valve stuck", "--error")).hits[0]).toMatchObject({ tool: "shell" })
  expect((await cli("export", SESSION_2)).stdout).toContain("It opens slowly now.")
  // Five answers of all sessions.
  expect(await json("stats", "--agent", "opencode")).toMatchObject({
    total: { tokens: { input: 3000, cacheRead: 7000, output: 750 } },
  })
})

test("todos are told, and secrets are filled wherever they stand", async () => {
  const { turns } = await json("show", OTHER)
  expect((await cli("show", turns[0].handle)).stdout).toContain("Mend the flue")
  const raw = (await cli("export", OTHER, "--raw")).stdout
  expect(raw).toContain("logged in with")
  expect(raw).not.toContain(KEY)
})

test("a forgotten session does not come back, and the others stay", async () => {
  expect(await cli("forget", SESSION_2, "--yes")).toMatchObject({ code: 0 })
  store.row("user", { text: "Paint it ultramarine." })
  expect((await cli("import")).stdout).toContain("forgotten at your request")
  expect((await cli("search", "ultramarine")).code).toBe(3)
  expect((await cli("search", "boiler")).code).toBe(0)
  expect((await cli("verify")).code).toBe(0)
})
