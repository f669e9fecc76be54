import { expect, test } from "bun:test"
import { blockMedia, modelBlocks, userBlocks, withoutTags } from "../../../src/agents/block-content.ts"
import { CLOSE, MARK } from "../../../src/record/our-marks.ts"

const OURS = `${MARK}"compact">The valve${CLOSE}`

test("what the user has typed, and what calls gave back", () => {
  expect(userBlocks("Mend it")).toEqual([{ kind: "prompt", via: "typed", text: "Mend it" }])
  expect(
    userBlocks([
      { type: "text", text: "Mend it" },
      { type: "text", text: " " },
      { type: "text", text: OURS },
      { type: "tool_result", tool_use_id: "a", content: `seen\n\n${OURS}` },
      { type: "tool_result", tool_use_id: "b", is_error: true, content: [{ type: "text", text: "no" }] },
      { type: "image", source: { media_type: "image/png", data: "AAAA" } },
      1,
    ]),
  ).toEqual([
    { kind: "prompt", via: "typed", text: "Mend it" },
    { kind: "context", source: "hook", text: OURS },
    { kind: "toolResult", id: "a", text: "seen", isError: false },
    { kind: "context", source: "hook", text: OURS },
    { kind: "toolResult", id: "b", text: "no", isError: true },
    { kind: "media", mediaType: "image/png", base64Length: 4 },
  ])
  expect(userBlocks("Look", { isBrief: true })).toEqual([{ kind: "brief", text: "Look" }])
  expect(userBlocks("x<a>y</a>", { typed: (text) => withoutTags(text, "a") })).toMatchObject([{ text: "x" }])
})

test("what the model says, thinks and calls", () => {
  expect(
    modelBlocks(
      [
        { type: "thinking", thinking: "Hm" },
        { type: "reasoning", text: "So" },
        { type: "thinking", signature: "x" },
        { type: "text", text: "Done" },
        { type: "tool_use", id: "a", name: "Bash", input: { cmd: "ls" } },
      ],
      (name, { cmd }) => (name === "Bash" ? { command: cmd } : {}),
    ),
  ).toEqual([
    { kind: "thinking", text: "Hm" },
    { kind: "thinking", text: "So" },
    { kind: "text", text: "Done" },
    { kind: "toolUse", id: "a", name: "Bash", input: { command: "ls" } },
  ])
})

test("media, also within results", () => {
  const image = { type: "image", source: { media_type: "image/png", data: "AAAA" } }
  expect(blockMedia([image, { type: "tool_result", content: [image] }])).toEqual(["AAAA", "AAAA"])
})
