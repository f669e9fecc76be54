/** A session with one of everything that the views show. */

const SESSION = "11111111-2222-3333-4444-555555555555"

let count = 0
let parent: string | null = null

function line(fields: Record<string, unknown>): string {
  const uuid = `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`
  const common = {
    parentUuid: parent,
    uuid,
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, count)).toISOString(),
    sessionId: SESSION,
    cwd: "/src/app",
    version: "2.1.112",
    gitBranch: "main",
    isSidechain: false,
  }
  parent = uuid
  return `${JSON.stringify({ ...common, ...fields })}\n`
}

const user = (content: unknown, more: Record<string, unknown> = {}): string =>
  line({ type: "user", message: { role: "user", content }, ...more })

const assistant = (id: string, block: unknown): string =>
  line({
    type: "assistant",
    message: {
      id: `msg_${id}`,
      role: "assistant",
      model: "claude-test-1",
      content: [block],
      usage: {
        input_tokens: 10,
        output_tokens: 20,
        cache_creation_input_tokens: 300,
        cache_read_input_tokens: 4000,
      },
    },
  })

const call = (id: string, tool: string, name: string, input: unknown): string =>
  assistant(id, { type: "tool_use", id: `toolu_${tool}`, name, input })

const result = (tool: string, content: unknown, isError = false): string =>
  user([{ type: "tool_result", tool_use_id: `toolu_${tool}`, content, is_error: isError }])

/** Lines, each with its newline; always the same. */
export function syntheticSession(): string[] {
  count = 0
  parent = null
  return [
    `${JSON.stringify({ type: "ai-title", sessionId: SESSION, aiTitle: "Add retries" })}\n`,
    user("Add retries to the client 🛡️. Never touch the generated files; use fetch, not axios."),
    assistant("1", { type: "thinking", thinking: "Where is the client?", signature: "c2ln" }),
    assistant("1", { type: "text", text: "I will look at the client first." }),
    call("1", "1", "Read", { file_path: "/src/app/client.ts" }),
    result("1", "export const get = (url: string) => fetch(url)\n// größer"),
    call("2", "2", "TodoWrite", {
      todos: [
        { content: "Write the retry loop", status: "in_progress" },
        { content: "Test it", status: "pending" },
      ],
    }),
    result("2", "Todos have been modified"),
    call("3", "3", "Edit", {
      file_path: "/src/app/client.ts",
      old_string: "fetch(url)",
      new_string: "retry(url)",
    }),
    result("3", [{ type: "text", text: "ok" }]),
    call("4", "4", "Bash", { command: "npm test -- client.test.ts" }),
    result("4", "Exit code 1\nTypeError: retry is not a function", true),
    assistant("5", {
      type: "text",
      text: "I chose exponential backoff rather than a fixed delay because it spreads load.",
    }),
    "not json at all\n",
    '"a bare string"\n',
    line({ type: "future-record-type", payload: { deep: [null, { a: 1 }] } }),
    line({
      type: "attachment",
      attachment: { type: "queued_command", prompt: "also check the timeout 语言", commandMode: "prompt" },
    }),
    call("6", "6", "Bash", { command: "npm run lint" }),
    result("6", "clean"),
    assistant("7", { type: "text", text: "" }),
    line({
      type: "assistant",
      message: { id: "msg_8", role: "assistant", model: "claude-test-1", content: null },
    }),
    line({
      type: "system",
      subtype: "compact_boundary",
      content: "Conversation compacted",
      logicalParentUuid: parent,
      compactMetadata: { trigger: "auto", preTokens: 155_000 },
    }),
    user("This session is being continued from a previous conversation.", {
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
    }),
    user(
      "<command-name>/cost</command-name>\n<command-message>cost</command-message>\n<command-args></command-args>",
    ),
    user("<local-command-stdout>Total cost: $0</local-command-stdout>"),
    user([{ type: "text", text: "[Request interrupted by user]" }]),
    user("go on, please"),
    assistant("9", { type: "text", text: "Done: \ud83d is gone, \u0000 too." }),
  ]
}
