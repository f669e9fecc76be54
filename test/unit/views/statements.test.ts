/** Sentences that are noted when lines are indexed, and what a choice says that names no more than an option. */
import { describe, expect, test } from "bun:test"
import { appendFileSync, mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { Archive } from "../../support/archive.ts"

const LISTED = `Two ways:

1. **Keep the lock file in the vault**, as today.
2. **Write it beside the database**, which a sync tool may copy.

Which one?`
const FIRST = "option 1: Keep the lock file in the vault"
const SECOND = "option 2: Write it beside the database"
/** A list longer than the part of an answer that the views keep. */
const LONG = `${"The lock is taken at every start, and let go at every end. ".repeat(60)}\n\n${LISTED}`

const decisions = (archive: Archive): [origin: string, text: string][] =>
  archive.db
    .query<{ origin: string; text: string }, []>(
      "SELECT origin, text FROM notes WHERE kind = 'decision' ORDER BY turn, place",
    )
    .all()
    .map(({ origin, text }) => [origin, text])

describe("a choice is noted with what was chosen", () => {
  test.each([
    ["at once", false],
    ["line by line, each by another writer", true],
  ])("%s", (_how, isApart) => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const follow = () => archive.follow(transcript.flush())
    const line = (add: () => unknown) => {
      add()
      if (isApart) follow()
    }
    line(() => transcript.user("Where does the lock go?"))
    line(() => transcript.message().say(LONG))
    line(() => transcript.user("/effort"))
    line(() => transcript.user("option 2"))
    line(() => transcript.message().say("Option 2 it is. I write it now."))
    follow()
    // The model's "Option 2 it is." says nothing more.
    expect(decisions(archive)).toEqual([["human", `option 2 (${SECOND})`]])
  })

  test("not if the option is not found", () => {
    using archive = new Archive()
    const transcript = archive
      .session("s1")
      .turn("Where does the lock go?", [], "Here or there.")
      .turn("option 2")
    archive.follow(transcript.turn("B", [], "Option B it is.").flush())
    expect(decisions(archive)).toEqual([])
  })

  test("from an answer that still stands", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").turn("Where does the lock go?", [], LISTED)
    archive.follow(transcript.flush())
    const { tip } = archive.db.query<{ tip: string }, []>("SELECT tip FROM turns").get()!
    transcript.turn("Other ways?", [], "Which one?\n1. **Lock nothing at all here**\n2. **Ask the system**")
    archive.follow(transcript.flush())
    archive.follow(transcript.backTo(tip).turn("1").flush())
    expect(decisions(archive)).toEqual([["human", `1 (${FIRST})`]])
  })

  test("of what the model chose, behind other words of the same turn", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").turn("Where does the lock go?", [], LISTED)
    transcript.user("Take the simpler one").message().say("Let me look at both.")
    archive.follow(transcript.message().say("I'll go with the second one because it is simpler.").flush())
    expect(decisions(archive)).toEqual([
      ["assistant", `I'll go with the second one because it is simpler. (${SECOND})`],
    ])
  })

  test("in a fork, from the session that it continues", () => {
    using archive = new Archive()
    const first = archive.session("s1").turn("Where does the lock go?", [], LISTED)
    archive.follow(first.flush())
    const fork = archive.session("s2")
    mkdirSync(dirname(fork.path), { recursive: true })
    appendFileSync(fork.path, readFileSync(first.path, "utf8").replaceAll('"s1"', '"s2"'))
    archive.follow(fork.turn("the first one").flush())
    expect(decisions(archive)).toEqual([["human", `the first one (${FIRST})`]])
  })

  test.each(["origin = 'import'", "sidechain = 1"])("without what is stored with %s", (other) => {
    using archive = new Archive()
    const transcript = archive.session("s1").turn("Where does the lock go?", [], LISTED)
    archive.follow(transcript.flush())
    archive.db.run(`UPDATE messages SET ${other} WHERE kind = 'answer'`)
    archive.follow(transcript.turn("option 1").flush())
    expect(decisions(archive)).toEqual([])
  })

  test("without what a subagent said", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").turn("Where does the lock go?", [], "Let me think.")
    transcript.line({
      type: "assistant",
      isSidechain: true,
      message: { content: [{ type: "text", text: LISTED }] },
    })
    archive.follow(transcript.turn("option 1").flush())
    expect(decisions(archive)).toEqual([])
  })
})
