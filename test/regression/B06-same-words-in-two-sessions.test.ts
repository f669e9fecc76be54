/** The reference deduplicated by words alone: two "continue" turns, or the same session again, were one row. */
import { expect, test } from "bun:test"
import { toolCallsOf } from "../../src/archive/queries/calls.ts"
import { turnsOf } from "../../src/archive/queries/turns.ts"
import { Archive } from "../support/archive.ts"

test("turns of the same words with other commands are all kept, in both sessions", () => {
  using archive = new Archive()
  const commands = new Map<string, string[]>()
  for (const id of ["s1", "s2"]) {
    const transcript = archive.session(id)
    commands.set(id, [`make ${id} first`, `make ${id} second`])
    for (const command of commands.get(id)!) {
      transcript.turn("continue", [{ tool: "Bash", input: { command }, output: "ok" }], "Done.")
    }
    archive.follow(transcript.flush())
  }
  for (const [id, expected] of commands) {
    const turns = turnsOf(archive.db, id)
    expect(turns.map(({ prompt }) => prompt)).toEqual(["continue", "continue"])
    expect(turns.flatMap((turn) => toolCallsOf(archive.db, turn.id).map(({ target }) => target))).toEqual(
      expected,
    )
  }
})
