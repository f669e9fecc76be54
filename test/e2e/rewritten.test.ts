/** A transcript that Claude Code has written anew: its former turns stay first. */
import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { messagesOf } from "../../src/views/queries/messages.ts"
import { turnsOf } from "../../src/views/queries/turns.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"
import { namedViews } from "../support/views.ts"

/**
 * Where Claude Code had written a transcript anew before the views had followed it, its new content was indexed first.
 * So what it was before counted as said last, in listings and in what a compaction gives back, until the views were
 * rebuilt.
 */
describe("a transcript that was written anew before the views had followed it", () => {
  const PROMPTS = ["Heat kiln 0", "Heat kiln 1", "Heat kiln 2", "Open the kilns"]

  /** What `see` makes of a transcript of three turns that was cut after its first and has grown by another. */
  async function expectInOrder(
    see: (machine: Machine, session: Transcript) => Promise<unknown>,
    known = false,
  ) {
    using machine = new Machine()
    const session = machine.session().turn(PROMPTS[0]!).flush()
    if (known) await machine.hook("pre-compact", session)
    // Hooks at the end of a turn leave indexing to others.
    await machine.hook("stop", session.turn(PROMPTS[1]!).turn(PROMPTS[2]!).flush())
    const [first, second] = readFileSync(session.path, "utf8").split("\n")
    writeFileSync(session.path, `${first}\n${second}\n`)
    await see(machine, session.say("Hot by now.").turn(PROMPTS[3]!).flush())
    const views = () => {
      using db = machine.views()
      const prompts = db.query("SELECT prompt FROM turns ORDER BY seq").values().flat()
      const messages = turnsOf(db, session.session).map(({ id }) =>
        messagesOf(db, id).map(({ time }) => time),
      )
      return { prompts, messages, named: namedViews(db) }
    }
    const followed = views()
    expect(followed.prompts).toEqual(PROMPTS)
    expect(await run(["rebuild"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(views()).toEqual(followed)
  }

  test("import", () => expectInOrder((machine) => run(["import"], machine)))

  test("a hook that replies", () => expectInOrder((machine, session) => machine.hook("pre-compact", session)))

  test("the same, where the views knew the session's first turn", () =>
    expectInOrder((machine, session) => machine.hook("pre-compact", session), true))
})
