/** What is used of what a restore or an answer of ours showed, and what is no evidence for it. */
import { expect, test } from "bun:test"
import { TURNS, usesOf } from "../../../src/restore/learning/follow-uses.ts"
import { noteUses } from "../../../src/restore/learning/note-uses.ts"
import { open } from "../../../src/views/open.ts"
import { triedRestores } from "../../../src/views/queries/fact-uses.ts"
import type { SlotItem } from "../../../src/views/queries/restores.ts"
import { rebuild } from "../../../src/views/rebuild-views.ts"
import { Archive } from "../../support/archive.ts"
import { arrives, framed, give } from "../../support/shown-again.ts"
import type { Transcript } from "../../support/transcript.ts"

const TEXT = framed("Paths, names, commands")
const CELL = "used, once, new"
const read = (file_path: string, output = "…") => ({ tool: "Read", input: { file_path }, output })
const edit = (file_path: string) => ({
  tool: "Edit",
  input: { file_path, old_string: "a", new_string: "b" },
  output: "ok",
})
const bash = (command: string, output = "ok") => ({ tool: "Bash", input: { command }, output })

const handleOf = (archive: Archive, prompt: string): string =>
  archive.db.query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE prompt = ?").get(prompt)!
    .handle

/** A session with one turn, and slots that come from it. */
function begun(archive: Archive): {
  session: Transcript
  slot: (kind: string, text: string, shown?: 0 | 1) => SlotItem
} {
  const session = archive.session("s1", { cwd: "/srv/app" })
  session.turn("fire the kiln", [], "done")
  archive.follow(session.flush())
  const handle = handleOf(archive, "fire the kiln")
  return { session, slot: (kind, text, shown = 1) => [kind, text, handle, CELL, shown] }
}

const usedKinds = (archive: Archive): string[] =>
  [...usesOf(archive.db).values()].flat().map(({ kind }) => kind)

const letters = (archive: Archive): string[] =>
  triedRestores(archive.db, undefined).map((restore) => restore.letters)

test("a path that is opened or changed, a command that is run, a name that is typed", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [
    slot("path", "src/kiln/oven.ts"),
    slot("path", "src/kiln/shelf.ts"),
    slot("command", "make glaze"),
    slot("name", "fireKiln"),
    slot("name", "neverTyped"),
    slot("path", "src/kiln/never.ts"),
    slot("command", "make nothing"),
  ])
  arrives(session, TEXT)
  session.turn("go on", [
    read("/srv/app/src/kiln/oven.ts"),
    edit("/srv/app/src/kiln/shelf.ts"),
    bash("make glaze 2>&1 | tail -5"),
    edit("/srv/app/other.ts"),
  ])
  session.turn("and then", [], "fireKiln() is next; src/kiln/never.ts is only talked of")
  archive.follow(session.flush())
  expect(noteUses(archive.db, archive.dataHome)).toEqual({ sessions: 1, uses: 4, restores: 1 })
  expect(usedKinds(archive)).toEqual(["path", "path", "command", "name"])
  expect(letters(archive)).toEqual(["uuuu---"])
  const [use] = [...usesOf(archive.db).values()].flat()
  expect(use).toMatchObject({ session: "s1", time: expect.any(Number) })
  // Nothing has grown since.
  expect(noteUses(archive.db, archive.dataHome).sessions).toBe(0)
})

test("no evidence: what the summary has, what a prompt or a file said first, what was left out", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [
    slot("path", "src/kiln/oven.ts"),
    slot("path", "src/kiln/shelf.ts"),
    slot("name", "fireKiln"),
    slot("name", "glazePot", 0),
    slot("path", "src/kiln/unused.ts"),
  ])
  arrives(session, TEXT, "We changed src/kiln/oven.ts and src/kiln/unused.ts.")
  session.turn(
    "look at src/kiln/shelf.ts",
    [
      read("/srv/app/src/kiln/oven.ts", "fireKiln()"),
      read("/srv/app/src/kiln/shelf.ts"),
      edit("/srv/app/x.ts"),
    ],
    "fireKiln and glazePot",
  )
  archive.follow(session.flush())
  noteUses(archive.db, archive.dataHome)
  expect(usedKinds(archive)).toEqual([])
  expect(letters(archive)).toEqual(["hffuh"])
})

test("it counts for three turns, and not after the next compaction", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [slot("name", "inTime"), slot("name", "tooLate")])
  arrives(session, TEXT)
  for (let n = 0; n < TURNS - 1; n++)
    session.turn(`turn ${n}`, [bash("make")], n === TURNS - 2 ? "inTime" : "…")
  session.turn("one more", [bash("make")], "tooLate")
  archive.follow(session.flush())
  noteUses(archive.db, archive.dataHome)
  expect(letters(archive)).toEqual(["u-"])
})

test("a restore that never arrived, or that nobody worked on, tells nothing", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [slot("name", "fireKiln")])
  session.boundary().summary("We went on.")
  session.turn("go on", [bash("make")], "fireKiln")
  give(archive, session, `${TEXT} again`, [slot("name", "fireKiln")])
  arrives(session, `${TEXT} again`)
  archive.follow(session.flush())
  noteUses(archive.db, archive.dataHome)
  expect(letters(archive)).toEqual([])
  expect(usedKinds(archive)).toEqual([])
})

const asked = (handle: string) => [
  {
    tool: "mcp__ctxbridge__search",
    input: { query: "kiln heatUp" },
    output: `ctx:aaaaaa not this one\nctx:${handle}@3 (project):\n> heatUp coolDown src/kiln/oven.ts make glaze`,
  },
  bash(
    "/opt/bin/ctxbridge search 'kiln heatUp'",
    `ctx:aaaaaa not this one\nctx:${handle}\n  heatUp coolDown src/kiln/oven.ts make glaze`,
  ),
]

test.each([0, 1])("what our server or a command of ours answered of a turn counts for that turn", (n) => {
  using archive = new Archive()
  begun(archive)
  const other = archive.session("s2", { cwd: "/srv/app" })
  other.turn(
    "how was it fired?",
    [
      asked(handleOf(archive, "fire the kiln"))[n]!,
      read("/srv/app/src/kiln/oven.ts"),
      bash("make glaze"),
      edit("/srv/app/x.ts"),
    ],
    "coolDown, and heatUp, which the question had already",
  )
  archive.follow(other.flush())
  noteUses(archive.db, archive.dataHome)
  expect(usedKinds(archive)).toEqual(["path", "command", "name"])
})

test("what was left out and our server then answered had to be found; the answer gets the credit", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [slot("path", "src/kiln/oven.ts", 0), slot("name", "coolDown")])
  arrives(session, TEXT)
  const [search] = asked(handleOf(archive, "fire the kiln"))
  session.turn("go on", [search!, read("/srv/app/src/kiln/oven.ts")], "coolDown")
  archive.follow(session.flush())
  noteUses(archive.db, archive.dataHome)
  expect(letters(archive)).toEqual(["ff"])
  expect(usedKinds(archive)).toEqual(["path", "name"])
})

test("a script that only has our name in it is no answer of ours: what it shows was not shown by us", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [slot("name", "fireKiln")])
  arrives(session, TEXT)
  session.turn("go on", [bash("cat /opt/ctxbridge/notes", "fireKiln"), bash("make")], "fireKiln")
  archive.follow(session.flush())
  noteUses(archive.db, archive.dataHome)
  expect(letters(archive)).toEqual(["f"])
})

test("views made anew have the same uses", () => {
  using archive = new Archive()
  const { session, slot } = begun(archive)
  give(archive, session, TEXT, [slot("name", "fireKiln"), slot("path", "src/kiln/oven.ts")])
  arrives(session, TEXT)
  session.turn("go on", [bash("make")], "fireKiln")
  archive.follow(session.flush())
  noteUses(archive.db, archive.dataHome)
  const before = [...usesOf(archive.db).values()].flat().map(({ turn: _row, ...use }) => use)
  expect(before).toHaveLength(1)
  archive.db.close()
  rebuild(archive.dataHome, { now: 0, wait: 0 })
  using again = open(archive.dataHome, "write", 0)
  expect(usesOf(again).size).toBe(0)
  noteUses(again, archive.dataHome)
  expect([...usesOf(again).values()].flat().map(({ turn: _row, ...use }) => use)).toEqual(before)
  expect(triedRestores(again, undefined).map((restore) => restore.letters)).toEqual(["u-"])
})
