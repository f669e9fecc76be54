/** Lines of transcripts that are no JSON objects. */
import { expect, test } from "bun:test"
import { appendFileSync, utimesSync } from "node:fs"
import { malformedLines } from "../../../src/views/queries/transcripts.ts"
import { Archive } from "../../support/archive.ts"
import { findings } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"
import { promptsIn } from "../../support/machine.ts"
import { namedViews } from "../../support/views.ts"

const BROKEN = ['{"type":"user","mess', "null", "\0\0\0", "[1]"]

test("are counted once, lose no turn, and are told by doctor, whatever reads them", async () => {
  using machine = new Inside()
  const session = machine.session().turn("first")
  for (const line of BROKEN) session.raw(line)
  session.turn("second").flush()
  await machine.hook("stop", session)
  session.raw("{").turn("third").flush()
  await machine.hook("stop", session)
  const quiet = machine.session().turn("whole").flush()
  await machine.hook("stop", quiet)
  const expected = [{ session: session.session, lines: 5, rescued: 0 }]
  const views = () => {
    using db = machine.views()
    expect(promptsIn(db, session.session)).toEqual(["first", "second", "third"])
    expect(malformedLines(db)).toEqual(expected)
    return namedViews(db)
  }
  const before = views()
  expect(await findings(machine, "lines")).toMatchObject([
    {
      state: "ok",
      text: "5 lines of 1 session are not JSON; the vault has the bytes, and every other line is read",
      details: [`${session.session}: 5 lines`],
    },
  ])
  expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(views()).toEqual(before)
  const { stdout } = await run(["verify", "--json"], machine)
  expect(JSON.parse(stdout).ok).toBe(true)
})

test("half a line at the end waits, and what was forgotten is not one", async () => {
  using machine = new Inside()
  const session = machine.session().turn("keep the kiln closed").turn("forget the kiln").flush()
  appendFileSync(session.path, '{"type":"user","mess')
  await machine.hook("stop", session)
  const { code, stderr } = await run(["forget", "--match", "forget the kiln", "--yes"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  using db = machine.views()
  expect(malformedLines(db)).toEqual([])
})

test("null where a content block should be loses nothing of its turn", () => {
  using archive = new Archive()
  const session = archive.session("s1")
  session.user([null, { type: "text", text: "go" }, null])
  const content = [null, { type: "text", text: "Gone." }, null]
  session.line({ type: "assistant", message: { id: "m", role: "assistant", model: "x", content } })
  archive.follow(session.flush())
  expect(archive.db.query("SELECT prompt, answer FROM turns").all()).toEqual([
    { prompt: "go", answer: "Gone." },
  ])
  expect(malformedLines(archive.db)).toEqual([])
})

/** A record, and the next one as the file has them after a crash; `%` is where the first was torn. */
const GLUED: readonly (readonly [
  name: string,
  line: (first: string, second: string) => string,
  whole: number,
])[] = [
  ["a torn record and a whole one", (first, second) => first.slice(0, first.length / 2) + second, 1],
  ["torn within a name", (first, second) => first.slice(0, first.indexOf('sessionId"') + 4) + second, 1],
  [
    "torn where a value is expected",
    (first, second) => first.slice(0, first.indexOf('"message":') + 10) + second,
    1,
  ],
  ["torn behind one byte", (_first, second) => `{${second}`, 1],
  ["two whole ones", (first, second) => first + second, 2],
  ["three, the second torn", (first, second) => `${first}${first.slice(0, 90)}${second}`, 2],
  ["a whole one and a torn one", (first, second) => `${second}${first.slice(0, 90)}`, 1],
  ["a run of NUL", (_first, second) => `${"\0".repeat(700)}${second}`, 1],
  ["NUL between two", (first, second) => `${first}\0\0\0\0${second}`, 2],
  ["a torn record, NUL, and a whole one", (first, second) => `${first.slice(0, 90)}\0\0\0${second}`, 1],
  ["a carriage return between two", (first, second) => `${first}\r${second}\r`, 2],
  ["a byte order mark in the file", (first, second) => `${first}\n\ufeff\0${second}`, 1],
  ["the end of a record whose beginning is gone", (first, second) => `${first.slice(90)}${second}`, 1],
]

test.each(GLUED)("%s: every whole record is in its turn, and can be shown", async (_name, glue, whole) => {
  using machine = new Inside()
  const session = machine.session().turn("the first prompt")
  const parts = machine
    .session()
    .turn("lost or not", [], "")
    .user("the smithy is open")
    .take()
    .trim()
    .split("\n")
  session
    .raw(glue(parts[0]!.replaceAll("-4", "-5"), parts.at(-1)!))
    .turn("the last prompt")
    .flush()
  await machine.hook("stop", session)
  const isBoth = whole === 2 || _name.startsWith("a byte order")
  using db = machine.views()
  expect(promptsIn(db, session.session)).toEqual([
    "the first prompt",
    ...(isBoth ? ["lost or not"] : []),
    "the smithy is open",
    "the last prompt",
  ])
  expect(malformedLines(db)).toEqual([{ session: session.session, lines: 1, rescued: whole }])
  const found = await run(["search", "smithy", "-a", "--json"], machine)
  const [hit] = JSON.parse(found.stdout).hits
  expect(hit).toMatchObject({ role: "human", snippet: "the smithy is open" })
  const shown = await run(["export", hit.handle, "--raw"], machine)
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  expect(shown.stdout.split("\n")[0]).toBe(parts.at(-1)!)
  const [lines] = await findings(machine, "lines")
  expect(lines!.text).toContain(`${whole === 1 ? "1 whole record" : "2 whole records"} in it`)
})

test("a last line without an end gives its whole records once, and what follows is read behind them", async () => {
  using machine = new Inside()
  const session = machine.session().turn("the first prompt").flush()
  const [line = "", next = ""] = machine.session().user("glued").user("later").take().split("\n")
  const left = async (text: string): Promise<void> => {
    appendFileSync(session.path, text)
    utimesSync(session.path, 1_700_000_000, 1_700_000_000)
    expect(await run(["import", "--quiet"], machine)).toMatchObject({ code: 0, stderr: "" })
  }
  await left(`{"type":"user","mess${line}`)
  await left(next.slice(0, 100))
  const views = () => {
    using db = machine.views()
    return promptsIn(db, session.session)
  }
  expect(views()).toEqual(["the first prompt", "glued"])
  appendFileSync(session.path, `${next.slice(100)}\n`)
  await machine.hook("stop", session)
  expect(views()).toEqual(["the first prompt", "glued", "later"])
  expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
  expect(views()).toEqual(["the first prompt", "glued", "later"])
})

test("a last line that a crash has glued and left without an end is imported at once, half a line is not", async () => {
  using machine = new Inside()
  const [line = ""] = machine.session().user("the smithy is open").take().split("\n")
  for (const [left, prompts] of [
    [`{"type":"user","mess${line}`, ["the first prompt", "the smithy is open"]],
    [`\0\0\0\0${line}`, ["the first prompt", "the smithy is open"]],
    [line.slice(0, -3), ["the first prompt"]],
  ] as const) {
    const session = machine.session().turn("the first prompt").flush()
    appendFileSync(session.path, left.replaceAll("000000000001", session.session.slice(-12)))
    expect(await run(["import", "--quiet"], machine)).toMatchObject({ code: 0, stderr: "" })
    using db = machine.views()
    expect(promptsIn(db, session.session)).toEqual([...prompts])
  }
})
