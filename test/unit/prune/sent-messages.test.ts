/** What a session sent, rebuilt from its transcript. */
import { describe, expect, test } from "bun:test"
import { HostTranscript } from "../../../src/claude/fake/transcript.ts"
import { type Passage, sentPassages } from "../../../src/prune/savings.ts"

const transcript = () => new HostTranscript({ session: "s1", cwd: "/project", version: "2.1.112" })
const passages = (told: HostTranscript): Passage[] => sentPassages(told.take().trim().split("\n"))

/** Each message in short: its role and what its blocks say. */
const told = ({ messages }: Passage): string[] =>
  messages.map(
    ({ role, content }) =>
      `${role}: ${content.map((block) => block["text"] ?? block["thinking"] ?? block["name"] ?? block["content"]).join(" + ")}`,
  )

const sent = ({ requests }: Passage): number[] => requests.map(({ messages }) => messages)

const BASH = { tool: "Bash", input: { command: "make" }, output: "made" }

describe("messages of a session", () => {
  test("blocks of an answer are one message, and each answer is a request", () => {
    const [only, ...more] = passages(
      transcript()
        .user("Build it")
        .message()
        .think("Hm.")
        .step(BASH)
        .say("Done.")
        .user("Thanks")
        .message()
        .say("Yes."),
    )
    expect(more).toEqual([])
    expect(told(only!)).toEqual([
      "user: Build it",
      "assistant: Hm. + Bash",
      "user: made",
      "assistant: Done.",
      "user: Thanks",
      "assistant: Yes.",
    ])
    expect(sent(only!)).toEqual([1, 3, 5])
    expect(only).toMatchObject({ begins: "start", kept: 0 })
  })

  test("calls that ran side by side are one answer, and what they returned one message", () => {
    const it = transcript().user("Both").message()
    const use = (id: string) => ({ type: "tool_use", id, name: id, input: {} })
    const result = (id: string) => [{ type: "tool_result", tool_use_id: id, content: `of ${id}` }]
    it.block(use("one")).user(result("one")).block(use("two")).user(result("two")).message().say("Done.")
    const [only] = passages(it)
    expect(told(only!)).toEqual([
      "user: Both",
      "assistant: one + two",
      "user: of one + of two",
      "assistant: Done.",
    ])
    expect(sent(only!)).toEqual([1, 3])
  })

  test("a compaction begins anew, with its summary and what it kept behind it", () => {
    const it = transcript().turn("First", [BASH], "One.")
    const compactMetadata = { trigger: "auto", preservedMessages: { uuids: [it.tip] } }
    it.line({ type: "system", subtype: "compact_boundary", compactMetadata })
    const [before, after] = passages(it.summary("So far.").turn("Second", [], "Two."))
    expect(sent(before!)).toEqual([1, 3])
    expect(after).toMatchObject({ begins: "compaction", kept: 2 })
    expect(told(after!).slice(1)).toEqual(["assistant: One.", "user: Second", "assistant: Two."])
    expect(told(after!)[0]).toEndWith("So far.")
    expect(sent(after!)).toEqual([3])
  })

  test("after a rewind, what was taken back is not sent again", () => {
    const it = transcript().turn("First", [], "One.")
    const { tip } = it
    it.turn("Wrong", [BASH], "Oh.").backTo(tip).turn("Right", [], "Good.")
    const [before, after] = passages(it)
    expect(told(before!)).toHaveLength(6)
    expect(told(after!)).toEqual(["user: First", "assistant: One.", "user: Right", "assistant: Good."])
    expect(after).toMatchObject({ begins: "rewind", kept: 2 })
    expect(sent(after!)).toEqual([3])
  })

  test("subagents, errors and answers of Claude Code itself are not sent", () => {
    const it = transcript().turn("First", [], "One.")
    it.line({ type: "user", isSidechain: true, message: { role: "user", content: "For a subagent" } })
    it.block({ type: "text", text: "Overloaded" }, { isApiErrorMessage: true }, { model: "<synthetic>" })
    it.raw("{not json").line({ type: "system", subtype: "turn_duration", content: "3 s" })
    expect(told(passages(it)[0]!)).toEqual(["user: First", "assistant: One."])
  })
})
