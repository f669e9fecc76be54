/** A restore gives back nothing of turns that the user took back. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gather } from "../../../src/restore/gather.ts"
import { Archive } from "../../support/archive.ts"
import { begun, PLAN, SESSION, told } from "../../support/taken-back.ts"
import { Transcript } from "../../support/transcript.ts"

/** Words that stand in no other turn, in every place that a restore draws from. */
const LEFT = ["walrus", "pangolin", "ocelot", "ibex", "quokka", "tapir"]

function withAnimals(session: Transcript): Transcript {
  const steps = [
    PLAN("Feed the walrus"),
    { tool: "Edit", input: { file_path: "/src/pangolin.ts" }, output: "ok" },
    { tool: "Bash", input: { command: "npm run ocelot" }, output: "Exit code 1\nError: ibex", isError: true },
  ]
  return session.turn("Never touch the quokka.", steps, "I decided on a tapir, because it is there.")
}

const givenIn = (archive: Archive, session: string): string[] => {
  const text = JSON.stringify(gather(archive.db, session))
  return LEFT.filter((word) => text.includes(word))
}

/** What the user took back (`/rewind`) was given back after the next compaction as if it had happened. */
test("nothing of turns that were taken back is given back", () => {
  using archive = new Archive()
  const { session, first } = begun(archive)
  archive.follow(withAnimals(session).flush())
  expect(givenIn(archive, SESSION)).toEqual(LEFT)
  archive.follow(session.backTo(first).turn("three").flush())
  expect(givenIn(archive, SESSION)).toEqual([])
  const given = gather(archive.db, SESSION)
  expect(given).toMatchObject({ turnCount: 2, failing: undefined, todos: [], files: [], shownAgain: [] })
  expect(given.turns.map(({ prompt }) => prompt)).toEqual(["three", "one"])
})

test("what stands in other turns, too, is given back with what it is there", () => {
  using archive = new Archive()
  const edit = (path: string) => ({ tool: "Edit", input: { file_path: path }, output: "ok" })
  const failed = { tool: "Bash", input: { command: "npm test" }, output: "Exit code 1", isError: true }
  const session = archive.session(SESSION).turn("one", [edit("/a.ts"), failed])
  const first = session.tip
  session.turn("two", [edit("/a.ts"), edit("/b.ts"), { ...failed, output: "ok", isError: false }])
  archive.follow(session.flush())
  expect(gather(archive.db, SESSION).failing).toBeUndefined()
  archive.follow(
    session
      .backTo(first)
      .turn("three", [edit("/b.ts")])
      .flush(),
  )
  const { files, failing, facts } = gather(archive.db, SESSION)
  expect(files.map(({ path }) => path)).toEqual(["/b.ts", "/a.ts"])
  expect(failing?.command).toBe("npm test")
  expect(facts.paths.map(({ text }) => text).sort()).toEqual(["/a.ts", "/b.ts"])
  expect(facts.commands.map(({ text, exit }) => [text, exit])).toEqual([["npm test", "Exit code 1"]])
})

test("nothing is given back of the subagents that they started", () => {
  using archive = new Archive()
  const { session, first } = begun(archive)
  archive.follow(session.turn("two").flush())
  const path = join(archive.root, ".claude", "projects", "-project", SESSION, "subagents", "agent-a1.jsonl")
  const agent = new Transcript({ ...archive.session(SESSION, { agent: "a1" }).options, path })
  const edit = { tool: "Edit", input: { file_path: "/src/walrus.ts" }, output: "ok" }
  const { started } = archive.db.query<{ started: string }, []>(LATEST).get()!
  archive.follow(agent.turn("look", [edit]).flush())
  archive.db.run("UPDATE sessions SET started = ? WHERE agent = 'a1'", [started])
  expect(givenIn(archive, SESSION)).toEqual(["walrus"])
  archive.follow(session.backTo(first).turn("three").flush())
  expect(givenIn(archive, SESSION)).toEqual([])
})

const LATEST = "SELECT started FROM turns ORDER BY id DESC LIMIT 1"

test("a session that goes on from turns that were taken back keeps them", () => {
  using archive = new Archive()
  const { session, first } = begun(archive)
  archive.follow(withAnimals(session).flush())
  const id = "5e551011-0000-4000-8000-000000000002"
  const fork = archive.session(id).raw(readFileSync(session.path, "utf8").trimEnd()).backTo(session.tip)
  archive.follow(fork.turn("three").flush())
  // Another takes them back itself.
  const otherId = "5e551011-0000-4000-8000-000000000003"
  const other = archive.session(otherId)
  other.raw(readFileSync(session.path, "utf8").trimEnd()).backTo(first)
  archive.follow(other.turn("four").flush())
  expect(told(archive)).toEqual(["one", "Never touch the quokka.", "three", "four"])
  expect(givenIn(archive, otherId)).toEqual([])
  expect(gather(archive.db, otherId).turns.map(({ prompt }) => prompt)).toEqual(["four", "one"])
  expect(givenIn(archive, SESSION)).toEqual(LEFT)
  archive.follow(session.backTo(first).turn("five").flush())
  expect(givenIn(archive, SESSION)).toEqual([])
  expect(givenIn(archive, id)).toEqual(LEFT)
  expect(gather(archive.db, id).facts.paths.map(({ text }) => text)).toEqual(["/src/pangolin.ts"])
})

test("they are not told in other sessions that are about the same", () => {
  using archive = new Archive()
  const words = "the walrus migration of the pangolin registry in ocelot"
  const { session, first } = begun(archive)
  archive.follow(session.turn(`Plan ${words}`).flush())
  archive.follow(archive.session("5e551011-0000-4000-8000-000000000002").turn(`Review ${words}`).flush())
  const related = () =>
    gather(archive.db, "5e551011-0000-4000-8000-000000000002", { related: 3 }).related.map(
      ({ prompt }) => prompt,
    )
  expect(related()).toEqual([`Plan ${words}`])
  archive.follow(session.backTo(first).turn("three").flush())
  expect(related()).toEqual([])
})
