/** A prompt that began like what the host says of a hook was taken for the host's, and opened no turn. */
import { expect, test } from "bun:test"
import { userTextParts } from "../../src/agents/claude-code/user-text.ts"

test.each([
  "Stop hook feedback is missing in the log. Why?",
  "PreToolUse:Bash hook blocking errors should be told in red.",
  "UserPromptSubmit operation blocked by hook? Look into the settings.",
])("%s", (text) => expect(userTextParts(text, "human")).toEqual([{ kind: "prompt", via: "typed", text }]))

test.each([
  "Stop hook feedback:\n[lint]: 2 errors",
  'PreToolUse:Bash hook blocking error from command: "lint": 2 errors',
  "Stop hook blocking error: 2 errors",
  "UserPromptSubmit operation blocked by hook:\n2 errors",
])("not: %j", (text) => expect(userTextParts(text, "human")).toEqual([{ kind: "notice", text }]))
