/** A session that is begun with a summary of another one: whichever agent writes the prompt down, only the rest is the user's. */
import { expect, test } from "bun:test"
import { commandLineOf, decodeLine, whyNoPrompt } from "../../../src/agents/agents.ts"
import { MARK } from "../../../src/record/our-marks.ts"

const OURS = `${MARK}"handoff" session="x">\n- "Never touch the boiler"\n</ctxbridge-restore>`
const TEXT = `Continue the work.\n\n${OURS}`
const TIME = { timestamp: "2026-05-04T10:00:00.000Z" }

test.each([
  ["claude", { type: "user", uuid: "u", sessionId: "s", ...TIME, message: { role: "user", content: TEXT } }],
  [
    "codex",
    {
      ...TIME,
      type: "response_item",
      payload: {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: TEXT }],
        internal_chat_message_metadata_passthrough: { content_item_kinds: ["user.text"] },
      },
    },
  ],
  [
    "copilot",
    {
      type: "user.message",
      data: { content: TEXT, transformedContent: TEXT },
      id: "i",
      ...TIME,
      parentId: null,
    },
  ],
  [
    "qwen",
    {
      ...{ uuid: "a", parentUuid: null, sessionId: "u", ...TIME, type: "user", provenance: "real_user" },
      message: { role: "user", parts: [{ text: TEXT }] },
    },
  ],
  ["gemini", { id: "1", ...TIME, type: "user", content: [{ text: TEXT }] }],
])("%s", (program, line) => {
  const record = decodeLine(JSON.stringify(line))
  expect(record.program ?? "claude").toBe(program)
  expect(record.parts).toEqual([
    { kind: "prompt", via: "typed", text: "Continue the work." },
    { kind: "context", source: "handoff", text: OURS },
  ])
})

test.each([
  [null, "there is no codex on PATH"],
  ["C:\\npm\\codex.cmd", "cmd.exe"],
  ["C:\\npm\\codex.CMD", "cmd.exe"],
  ["C:\\npm\\codex.bat", "cmd.exe"],
])("what is no program takes no prompt: %p", (path, reason) => {
  expect(whyNoPrompt(commandLineOf("codex")!, path)).toContain(reason)
})

test.each(["/usr/bin/codex", "C:\\npm\\codex.exe", "/opt/codex.cmd/codex"])("%s does", (path) => {
  expect(whyNoPrompt(commandLineOf("codex")!, path)).toBeUndefined()
})
