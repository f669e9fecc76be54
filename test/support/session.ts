/** A session with one of everything that the views show. */
import { FakeTranscript } from "../../src/claude/fake/transcript.ts"

const SESSION = "11111111-2222-3333-4444-555555555555"

/** Lines, each with its newline; always the same. */
export function syntheticSession(): string[] {
  const host = new FakeTranscript({ session: SESSION, cwd: "/src/app", version: "2.1.112" })
  const assistant = (id: string, block: Record<string, unknown>): FakeTranscript =>
    host.block(block, {}, { id: `msg_${id}`, model: "claude-test-1" })
  const call = (id: string, tool: string, name: string, input: unknown): FakeTranscript =>
    assistant(id, { type: "tool_use", id: `toolu_${tool}`, name, input })
  const result = (tool: string, content: unknown, isError = false): FakeTranscript =>
    host.user([{ type: "tool_result", tool_use_id: `toolu_${tool}`, content, is_error: isError }])
  host.raw(JSON.stringify({ type: "ai-title", sessionId: SESSION, aiTitle: "Add retries" }))
  host.user("Add retries to the client 🛡️. Never touch the generated files; use fetch, not axios.")
  assistant("1", { type: "thinking", thinking: "Where is the client?", signature: "c2ln" })
  assistant("1", { type: "text", text: "I will look at the client first." })
  call("1", "1", "Read", { file_path: "/src/app/client.ts" })
  result("1", "export const get = (url: string) => fetch(url)\n// größer")
  call("2", "2", "TodoWrite", {
    todos: [
      { content: "Write the retry loop", status: "in_progress" },
      { content: "Test it", status: "pending" },
    ],
  })
  result("2", "Todos have been modified")
  call("3", "3", "Edit", {
    file_path: "/src/app/client.ts",
    old_string: "fetch(url)",
    new_string: "retry(url)",
  })
  result("3", [{ type: "text", text: "ok" }])
  call("4", "4", "Bash", { command: "npm test -- client.test.ts" })
  result("4", "Exit code 1\nTypeError: retry is not a function", true)
  assistant("5", {
    type: "text",
    text: "I chose exponential backoff rather than a fixed delay because it spreads load.",
  })
  host.raw("not json at all")
  host.raw('"a bare string"')
  host.line({ type: "future-record-type", payload: { deep: [null, { a: 1 }] } })
  host.line({
    type: "attachment",
    attachment: { type: "queued_command", prompt: "also check the timeout 语言", commandMode: "prompt" },
  })
  call("6", "6", "Bash", { command: "npm run lint" })
  result("6", "clean")
  assistant("7", { type: "text", text: "" })
  host.line({
    type: "assistant",
    message: { id: "msg_8", role: "assistant", model: "claude-test-1", content: null },
  })
  host.boundary()
  host.user("This session is being continued from a previous conversation.", {
    isCompactSummary: true,
    isVisibleInTranscriptOnly: true,
  })
  host.user(
    "<command-name>/cost</command-name>\n<command-message>cost</command-message>\n<command-args></command-args>",
  )
  host.user("<local-command-stdout>Total cost: $0</local-command-stdout>")
  host.user([{ type: "text", text: "[Request interrupted by user]" }])
  host.user("go on, please")
  assistant("9", { type: "text", text: "Done: \ud83d is gone, \u0000 too." })
  return host.text.split(/(?<=\n)/)
}
