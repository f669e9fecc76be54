/** What counts as evidence that something of a turn was used. */
import { expect, test } from "bun:test"
import { usesOf } from "../../../src/restore/learning/follow-uses.ts"
import { Archive } from "../../support/archive.ts"

const handleOf = (archive: Archive, prompt: string): string =>
  archive.db.query<{ handle: string }, [string]>("SELECT handle FROM turns WHERE prompt = ?").get(prompt)!
    .handle

const get = (handle: string, failed = false) => ({
  tool: "mcp__ctxbridge__get",
  input: { handle: `ctx:${handle}@3` },
  output: failed ? "no such turn" : "a turn",
  isError: failed,
})
const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "a turn" })

test("a turn opened by its handle, with our server or in a shell, is used there", () => {
  using archive = new Archive()
  const first = archive.session("s1")
  first.turn("glaze the kiln", [], "done")
  first.turn("fire the kiln", [], "done")
  first.turn("never opened", [], "done")
  archive.follow(first.flush())
  const glazed = handleOf(archive, "glaze the kiln")
  const fired = handleOf(archive, "fire the kiln")
  const second = archive.session("s2")
  second.turn("go on", [get(glazed), bash(`/opt/bin/ctxbridge show ctx:${fired} | head`)])
  second.turn("again", [get(glazed)])
  archive.follow(second.flush())
  const uses = [...usesOf(archive.db).values()].flat()
  expect(uses.map(({ kind, session }) => `${kind} ${session}`)).toEqual([
    "handle s2",
    "handle s2",
    "handle s2",
  ])
  expect(uses.every(({ time }) => time > Date.parse("2020-01-01"))).toBe(true)
  const rows = archive.db
    .query<{ id: number; prompt: string }, []>("SELECT id, prompt FROM turns ORDER BY id")
    .all()
  expect([...usesOf(archive.db).keys()].map((turn) => rows.find(({ id }) => id === turn)!.prompt)).toEqual([
    "glaze the kiln",
    "fire the kiln",
  ])
  const [glazing] = rows
  expect([...usesOf(archive.db, [glazing!.id])].map(([turn, all]) => [turn, all.length])).toEqual([
    [glazing!.id, 2],
  ])
  expect(usesOf(archive.db, []).size).toBe(0)
})

test("naming a turn, failing to open it, or printing its handle is no use of it", () => {
  using archive = new Archive()
  const first = archive.session("s1")
  first.turn("glaze the kiln", [], "done")
  archive.follow(first.flush())
  const handle = handleOf(archive, "glaze the kiln")
  const second = archive.session("s2")
  second.turn(
    `what was ctx:${handle}?`,
    [get(handle, true), bash(`echo ctxbridge ctx:${handle}`)],
    `ctx:${handle}`,
  )
  archive.follow(second.flush())
  expect(usesOf(archive.db).size).toBe(0)
})
