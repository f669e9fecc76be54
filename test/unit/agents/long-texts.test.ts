/**
 * Prompts and outputs that repeat what an agent's own frame looks like: each is read in one go. What is measured is the
 * processor's time, of which going through the rest of the text again at each of them takes many times the limit.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { decodeLine } from "../../../src/agents/agents.ts"
import { limit } from "../../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** ms of the processor's. */
const MOST = 1500

const gemini = (text: string): string =>
  JSON.stringify({ id: "m", timestamp: "2026-08-09T10:11:00.000Z", type: "user", content: [{ text }] })
const ran = (output: string): string =>
  JSON.stringify({ functionResponse: { id: "c", name: "run_shell_command", response: { output } } })
const codex = (text: string): string =>
  JSON.stringify({
    timestamp: "2026-05-04T10:00:00.000Z",
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  })
const droid = (text: string): string =>
  JSON.stringify({ type: "message", id: "a", message: { role: "user", content: [{ type: "text", text }] } })
const cursor = (text: string): string =>
  JSON.stringify({ role: "user", message: { content: [{ type: "text", text }] } })
const opencode = (text: string): string =>
  `{"opencode":"part","row":"r","sha256":"${"0".repeat(64)}","session":"s","message":"m","role":"user","data":${JSON.stringify({ type: "text", text })}}`

const MANY = 32_000
test.each([
  ["notes behind an output", ran(`Output: x\n${"Error: y\n".repeat(MANY)}z`)],
  ["newlines in an output", ran(`Output: x${"\n".repeat(8 * MANY)}z`)],
  ["hooks behind an output", ran("<hook_context>".repeat(MANY))],
  ["hooks in a prompt", gemini("<hook_context>".repeat(2 * MANY))],
  ["commands of Codex", codex(`<user_shell_command><command>${"</command><result></result>".repeat(MANY)}`)],
  ["tags in a prompt of droid", droid("<system-reminder>".repeat(2 * MANY))],
  ["ends of tags in a prompt of droid", droid(`x${"</system-reminder>".repeat(2 * MANY)}`)],
  ["tags behind a prompt of droid", droid(`x${"<system-reminder></system-reminder>".repeat(MANY)}`)],
  ["tags in a prompt of Cursor", cursor("<user_query>".repeat(2 * MANY))],
  ["other tags in a prompt of Cursor", cursor(`x ${"<user_info>".repeat(2 * MANY)}`)],
  ["blanks in quotation marks", opencode(`"${" ".repeat(4 * MANY)}`)],
])("%s", (_name, line) => {
  const before = process.cpuUsage()
  const { type } = decodeLine(line)
  const { user, system } = process.cpuUsage(before)
  expect(type).not.toBe("malformed")
  expect((user + system) / 1000).toBeLessThan(limit(MOST))
})
