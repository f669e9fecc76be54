/** Lines of transcripts that are no JSON objects. */
import { expect, test } from "bun:test"
import { appendFileSync } from "node:fs"
import { malformedLines } from "../../../src/archive/queries/malformed-lines.ts"
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
  const expected = [{ session: session.session, lines: 5 }]
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
