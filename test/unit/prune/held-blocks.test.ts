/** Of which blocks of a conversation it is known that the vault holds them, and by what handles they open. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { heldBlocks } from "../../../src/prune/held-blocks.ts"
import { turnsOfSession } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"
import type { Transcript } from "../../support/transcript.ts"

let archive: Archive
beforeEach(() => {
  archive = new Archive()
})
afterEach(() => archive[Symbol.dispose]())

const text = (words: string) => ({ type: "text", text: words })
const PASSWORD = `ghp_${"aB3dE5gH7jK9".repeat(3)}`

function told(session: string): Transcript {
  return archive
    .session(session)
    .user("Build the kiln controller")
    .think("The sensor first.")
    .step({ tool: "Bash", input: { command: "make" }, output: "made" })
    .say("The sensor is there.")
    .user(`Use ${PASSWORD} for it`)
    .say("I did.")
    .flush()
}

/** Everything a conversation sent, as handles or undefined, in the order of the transcript. */
function asked(session: string, transcript: Transcript, held = heldBlocks(archive.dataHome, session)) {
  held.refresh(archive.db)
  return readFileSync(transcript.path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).message)
    .filter((message) => message !== undefined)
    .flatMap(({ role, content }) =>
      (typeof content === "string" ? [text(content)] : content).map((block: { type: string }) => [
        block.type,
        held.handleOf(block, role),
      ]),
    )
}

describe("blocks of a session", () => {
  test("have the handles of their turns: words, thoughts, outputs, and what was filled in the vault", () => {
    const transcript = told("s1")
    archive.follow(transcript)
    const [first, second] = turnsOfSession(archive.db, "s1").map(({ handle }) => handle)
    expect(first).toStartWith("ctx:")
    expect(second).not.toBe(first)
    expect(asked("s1", transcript)).toEqual([
      ["text", first],
      ["thinking", first],
      ["tool_use", undefined],
      ["tool_result", first],
      ["text", first],
      ["text", second],
      ["text", second],
    ])
    expect(readFileSync(transcript.path, "utf8")).toContain(PASSWORD)
  })

  test("are not held if they are another's, or only alike", () => {
    const transcript = told("s1")
    archive.follow(transcript)
    const held = heldBlocks(archive.dataHome, "s1")
    held.refresh(archive.db)
    expect(held.handleOf(text("Build the kiln controller"), "assistant")).toBeUndefined()
    expect(held.handleOf(text("Build the kiln controller!"), "user")).toBeUndefined()
    expect(held.handleOf(text(`Ure ${PASSWORD} for it`), "user")).toBeUndefined()
    expect(held.handleOf({ type: "tool_result", tool_use_id: "toolu_other", content: "made" }, "user")).toBe(
      undefined,
    )
    const other = heldBlocks(archive.dataHome, "s")
    other.refresh(archive.db)
    expect(other.handleOf(text("Build the kiln controller"), "user")).toBeUndefined()
  })

  test("become known as they are archived, and only what has come into the views", () => {
    const transcript = told("s1")
    archive.follow(transcript)
    const held = heldBlocks(archive.dataHome, "s1")
    held.refresh(archive.db)
    transcript.user("And the door?").say("It is locked.").flush()
    archive.take(transcript)
    held.refresh(archive.db)
    expect(held.handleOf(text("And the door?"), "user")).toBeUndefined()
    archive.follow(transcript)
    held.refresh(archive.db)
    const third = turnsOfSession(archive.db, "s1")[2]!.handle
    expect(held.handleOf(text("And the door?"), "user")).toBe(third)
    expect(held.handleOf(text("It is locked."), "assistant")).toBe(third)
  })

  test("of which only the signature was sent are told by it", () => {
    const transcript = archive.session("s1").user("Why?")
    transcript.message().block({ type: "thinking", thinking: "", signature: "c2lnbmVk" }).say("So.").flush()
    archive.follow(transcript)
    const { handle } = turnsOfSession(archive.db, "s1")[0]!
    const held = heldBlocks(archive.dataHome, "s1")
    held.refresh(archive.db)
    expect(held.handleOf({ type: "thinking", thinking: "", signature: "c2lnbmVk" }, "assistant")).toBe(handle)
    expect(
      held.handleOf({ type: "thinking", thinking: "", signature: "b3RoZXI" }, "assistant"),
    ).toBeUndefined()
  })
})

test("a fork's blocks are those of its origin, by its origin's handles", () => {
  const origin = told("s1")
  archive.follow(origin)
  const fork = archive.session("s2").raw(readFileSync(origin.path, "utf8").trim().replaceAll('"s1"', '"s2"'))
  fork.user("Another way?").say("Yes.").flush()
  archive.follow(fork)
  const handles = turnsOfSession(archive.db, "s1").map(({ handle }) => handle)
  const own = turnsOfSession(archive.db, "s2").at(-1)!.handle
  expect(new Set(asked("s2", fork).map(([, handle]) => handle))).toEqual(
    new Set([...handles, own, undefined]),
  )
})
