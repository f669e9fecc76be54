import { describe, expect, test } from "bun:test"
import { decodeLine } from "../../../src/agents/agents.ts"
import type { Part } from "../../../src/record/types.ts"

type Fields = Record<string, unknown>
interface Case {
  readonly name: string
  readonly line: Fields
  readonly parts: readonly unknown[]
}

const user = (content: unknown, more: Fields = {}): Fields => ({
  type: "user",
  uuid: "u1",
  message: { role: "user", content },
  ...more,
})
const assistant = (content: unknown, more: Fields = {}, message: Fields = {}): Fields => ({
  type: "assistant",
  uuid: "a1",
  message: { id: "msg_1", role: "assistant", model: "claude-test-1", content, ...message },
  ...more,
})
const result = (content: unknown, more: Fields = {}): Fields => ({
  type: "tool_result",
  tool_use_id: "t1",
  ...(content === undefined ? {} : { content }),
  ...more,
})
const attachment = (fields: Fields, more: Fields = {}): Fields => ({
  type: "attachment",
  attachment: fields,
  ...more,
})
const text = (value: string): Fields => ({ type: "text", text: value })

const prompt = (value: string, via = "typed") => ({ kind: "prompt", via, text: value }) as Part
const notice = (value: string) => ({ kind: "notice", text: value }) as Part
const toolResult = (value: string, isError = false) =>
  ({ kind: "toolResult", id: "t1", text: value, isError }) as Part

const decode = (line: unknown) => decodeLine(JSON.stringify(line))
const table = (cases: readonly Case[]) => {
  for (const { name, line, parts } of cases) {
    test(name, () => expect(decode(line).parts as unknown[]).toEqual(parts as unknown[]))
  }
}

const NOTIFICATION =
  "<task-notification>\n<task-id>b1</task-id>\n<summary>done</summary>\n</task-notification>"
const REJECTED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, " +
  "the new_string was NOT written to the file)."

describe("prompts", () => {
  table([
    { name: "a plain string", line: user("Fix the parser"), parts: [prompt("Fix the parser")] },
    { name: "white space of a prompt stays", line: user("  a\n b \n"), parts: [prompt("  a\n b \n")] },
    { name: "a text block", line: user([text("Fix it")]), parts: [prompt("Fix it")] },
    {
      name: "several text blocks",
      line: user([text("one"), text("two")]),
      parts: [prompt("one"), prompt("two")],
    },
    { name: "Chinese", line: user("请修复解析器"), parts: [prompt("请修复解析器")] },
    {
      name: "Spanish, with a table and emoji",
      line: user("¿Qué tal?\n│ a │ 🎉"),
      parts: [prompt("¿Qué tal?\n│ a │ 🎉")],
    },
    {
      name: "one that starts with a tag of its own",
      line: user("<div> is broken"),
      parts: [prompt("<div> is broken")],
    },
    {
      name: "one that starts with a path",
      line: user("/etc/hosts is wrong"),
      parts: [prompt("/etc/hosts is wrong")],
    },
    {
      name: "one that quotes a bracket",
      line: user("[Image #4] what is this"),
      parts: [prompt("[Image #4] what is this")],
    },
    {
      name: "one from a client that names its source",
      line: user("go on", { origin: { kind: "human" }, promptSource: "typed" }),
      parts: [prompt("go on")],
    },
    {
      name: "an accepted suggestion is a human's",
      line: user("run the tests", { origin: { kind: "human" }, promptSource: "suggestion_accepted" }),
      parts: [prompt("run the tests")],
    },
    {
      name: "one with an image",
      line: user([
        text("see this"),
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      ]),
      parts: [prompt("see this"), { kind: "media", mediaType: "image/png", base64Length: 4 }],
    },
    {
      name: "a document",
      line: user([
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAAAAAA" } },
      ]),
      parts: [{ kind: "media", mediaType: "application/pdf", base64Length: 8 }],
    },
    {
      name: "an image by address",
      line: user([{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }]),
      parts: [{ kind: "media", mediaType: "image", base64Length: 0 }],
    },
    {
      name: "a recording, as a server sends it",
      line: user([{ type: "audio", mimeType: "audio/wav", data: "AAAAAAAA" }]),
      parts: [{ kind: "media", mediaType: "audio/wav", base64Length: 8 }],
    },
    {
      name: "a link to a resource",
      line: user([
        text("read it"),
        { type: "resource_link", uri: "file:///a/notes.md", name: "notes", description: "of the meeting" },
      ]),
      parts: [
        prompt("read it"),
        { kind: "context", source: "resource_link", text: "notes\nfile:///a/notes.md\nof the meeting" },
      ],
    },
    {
      name: "one beside what the editor shows",
      line: user([text("<ide_opened_file>The user opened a.ts</ide_opened_file>"), text("explain it")]),
      parts: [
        { kind: "context", source: "ide_opened_file", text: "The user opened a.ts" },
        prompt("explain it"),
      ],
    },
    {
      name: "one behind a reminder in the same string",
      line: user("<system-reminder>\nBe brief.\n</system-reminder>\n\nFix it"),
      parts: [{ kind: "context", source: "system-reminder", text: "Be brief." }, prompt("Fix it")],
    },
    {
      name: "one before a reminder in the same string",
      line: user("Fix it\n<system-reminder>\nBe brief.\n</system-reminder>"),
      parts: [prompt("Fix it"), { kind: "context", source: "system-reminder", text: "Be brief." }],
    },
  ])
})

describe("queued prompts", () => {
  const queued = (value: unknown, more: Fields = {}) =>
    attachment({ type: "queued_command", prompt: value, ...more })
  const queue = (operation: string, content?: unknown) => ({ type: "queue-operation", operation, content })
  table([
    {
      name: "as a string",
      line: queued("also the docs", { commandMode: "prompt" }),
      parts: [prompt("also the docs", "queued")],
    },
    {
      name: "as a list of blocks",
      line: queued([text("also the docs"), { type: "image", source: {} }]),
      parts: [prompt("also the docs", "queued")],
    },
    { name: "a task notification by its text", line: queued(NOTIFICATION), parts: [notice(NOTIFICATION)] },
    {
      name: "a task notification by its mode",
      line: queued("job 1 ended", { commandMode: "task-notification" }),
      parts: [notice("job 1 ended")],
    },
    { name: "the host's own", line: queued("tick", { isMeta: true }), parts: [notice("tick")] },
    {
      name: "another session's",
      line: queued("hello", { origin: { kind: "peer" } }),
      parts: [notice("hello")],
    },
    { name: "a shell command", line: queued("ls", { commandMode: "bash" }), parts: [prompt("ls", "bash")] },
    { name: "without a prompt", line: queued(null), parts: [] },
    {
      name: "enqueue",
      line: queue("enqueue", "then push"),
      parts: [{ kind: "enqueued", text: "then push" }],
    },
    { name: "popAll", line: queue("popAll", "then push"), parts: [{ kind: "enqueued", text: "then push" }] },
    {
      name: "enqueue of blocks",
      line: queue("enqueue", [text("then")]),
      parts: [{ kind: "enqueued", text: "then" }],
    },
    {
      name: "enqueue of a task notification",
      line: queue("enqueue", NOTIFICATION),
      parts: [notice(NOTIFICATION)],
    },
    { name: "dequeue without content", line: queue("dequeue"), parts: [] },
  ])
})

describe("commands", () => {
  const command = "<command-name>/model</command-name>\n  <command-message>model</command-message>\n"
  table([
    {
      name: "a slash command",
      line: user(`${command}<command-args>opus</command-args>`),
      parts: [prompt("/model opus", "command")],
    },
    {
      name: "without arguments",
      line: user(`${command}<command-args></command-args>`),
      parts: [prompt("/model", "command")],
    },
    {
      name: "message first, name without a slash",
      line: user(
        "<command-message>review is running…</command-message>\n<command-name>review</command-name>",
      ),
      parts: [prompt("/review", "command")],
    },
    {
      name: "as typed",
      line: user("/deploy keep the plan"),
      parts: [prompt("/deploy keep the plan", "command")],
    },
    {
      name: "as typed, of the host's own, which follow as commands (seen in 2.1.220)",
      line: user("/compact keep the plan"),
      parts: [{ kind: "notice", text: "/compact keep the plan" }],
    },
    {
      name: "a sentence that begins with one",
      line: user("/review, then fix"),
      parts: [prompt("/review, then fix")],
    },
    {
      name: "system/local_command with a name",
      line: { type: "system", subtype: "local_command", content: `${command}<command-args>x</command-args>` },
      parts: [prompt("/model x", "command")],
    },
    {
      name: "output of a slash command",
      line: user("<local-command-stdout>Set model</local-command-stdout>"),
      parts: [{ kind: "output", text: "Set model", isError: false }],
    },
    {
      name: "errors of a slash command",
      line: user("<local-command-stderr>No such model</local-command-stderr>"),
      parts: [{ kind: "output", text: "No such model", isError: true }],
    },
    {
      name: "system/local_command with output",
      line: {
        type: "system",
        subtype: "local_command",
        content: "<local-command-stdout>ok</local-command-stdout>",
      },
      parts: [{ kind: "output", text: "ok", isError: false }],
    },
    {
      name: "system/local_command with empty output",
      line: {
        type: "system",
        subtype: "local_command",
        content: "<local-command-stdout></local-command-stdout>",
      },
      parts: [],
    },
    { name: "! mode", line: user("<bash-input>ls -l</bash-input>"), parts: [prompt("ls -l", "bash")] },
    {
      name: "output of ! mode",
      line: user("<bash-stdout>a.ts</bash-stdout><bash-stderr>warning</bash-stderr>"),
      parts: [
        { kind: "output", text: "a.ts", isError: false },
        { kind: "output", text: "warning", isError: true },
      ],
    },
    {
      name: "# mode",
      line: user("<user-memory-input>never use var</user-memory-input>"),
      parts: [prompt("never use var", "memory")],
    },
  ])
})

describe("words that no human said", () => {
  table([
    { name: "a meta line", line: user("Continue.", { isMeta: true }), parts: [notice("Continue.")] },
    {
      name: "a meta command",
      line: user("<command-name>/x</command-name>", { isMeta: true }),
      parts: [notice("/x")],
    },
    {
      name: "the text of a skill",
      line: user([text("Base directory for this skill: /s")], { isMeta: true, sourceToolUseID: "t1" }),
      parts: [{ kind: "context", source: "skill", text: "Base directory for this skill: /s" }],
    },
    {
      name: "the caveat before local commands",
      line: user(
        "Caveat: The messages below were generated by the user while running local commands. DO NOT …",
      ),
      parts: [
        notice(
          "Caveat: The messages below were generated by the user while running local commands. DO NOT …",
        ),
      ],
    },
    {
      name: "the caveat in tags",
      line: user("<local-command-caveat>Caveat</local-command-caveat>", { isMeta: true }),
      parts: [notice("<local-command-caveat>Caveat</local-command-caveat>")],
    },
    { name: "a task notification", line: user(NOTIFICATION), parts: [notice(NOTIFICATION)] },
    {
      name: "a source other than a human",
      line: user("job ended", { origin: { kind: "task-notification" } }),
      parts: [notice("job ended")],
    },
    {
      name: "a scheduled prompt",
      line: user("Check CI", { promptSource: "system" }),
      parts: [notice("Check CI")],
    },
    {
      name: "a reminder alone",
      line: user("<system-reminder>\nToday is Friday.\n</system-reminder>"),
      parts: [{ kind: "context", source: "system-reminder", text: "Today is Friday." }],
    },
    {
      name: "hook feedback",
      line: user("Stop hook feedback:\n[lint]: 2 errors"),
      parts: [notice("Stop hook feedback:\n[lint]: 2 errors")],
    },
    {
      name: "a compaction summary",
      line: user("This session is being continued …", {
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
      }),
      parts: [{ kind: "summary", text: "This session is being continued …" }],
    },
    {
      name: "a compaction summary in blocks",
      line: user([text("Summary: all done")], { isCompactSummary: true }),
      parts: [{ kind: "summary", text: "Summary: all done" }],
    },
    {
      name: "a summary of a client that does not mark it",
      line: user("This session is being continued from a previous conversation that ran out of context."),
      parts: [
        {
          kind: "summary",
          text: "This session is being continued from a previous conversation that ran out of context.",
        },
      ],
    },
  ])
})

describe("interrupts and refusals", () => {
  const marker = "[Request interrupted by user for tool use]"
  table([
    { name: "an interrupt", line: user([text(marker)]), parts: [{ kind: "interrupt", text: marker }] },
    {
      name: "an interrupt as a string",
      line: user("[Request interrupted by user]", { interruptedMessageId: "msg_1" }),
      parts: [{ kind: "interrupt", text: "[Request interrupted by user]" }],
    },
    {
      name: "an interrupt beside a result",
      line: user([result("killed", { is_error: true }), text(marker)]),
      parts: [toolResult("killed", true), { kind: "interrupt", text: marker }],
    },
    {
      name: "words beside a result are a human's",
      line: user([result("ok"), text("use pnpm instead")]),
      parts: [toolResult("ok"), prompt("use pnpm instead")],
    },
    {
      name: "words after an interrupt",
      line: user(`${marker}\nuse pnpm`),
      parts: [{ kind: "interrupt", text: marker }, prompt("use pnpm")],
    },
    {
      name: "a refusal without words",
      line: user([result(`${REJECTED} STOP what you are doing.`, { is_error: true })]),
      parts: [toolResult(`${REJECTED} STOP what you are doing.`, true)],
    },
    {
      name: "a refusal with a reason",
      line: user([
        result(`${REJECTED} The user provided the following reason for the rejection:  keep the name`, {
          is_error: true,
        }),
      ]),
      parts: [
        toolResult(
          `${REJECTED} The user provided the following reason for the rejection:  keep the name`,
          true,
        ),
        { ...prompt("keep the name"), within: "t1" },
      ],
    },
    {
      name: "a refusal with a reason, newer words",
      line: user([
        result(
          `${REJECTED} To tell you how to proceed, the user said:\nuse rg\n\nNote: The user's next message may contain a correction`,
          {
            is_error: true,
          },
        ),
      ]),
      parts: [
        expect.objectContaining({ kind: "toolResult", isError: true }),
        { ...prompt("use rg"), within: "t1" },
      ],
    },
    {
      name: "a refusal with a reason in its own field",
      line: user([result(REJECTED, { is_error: true })], { userFeedback: "use rg" }),
      parts: [toolResult(REJECTED, true), prompt("use rg")],
    },
    {
      name: "a question form left open is no reason",
      line: user([result(REJECTED, { is_error: true })], {
        userFeedback: "The user wants to clarify these questions.\n    This means …",
      }),
      parts: [toolResult(REJECTED, true)],
    },
  ])
})

test("any number of interrupts in a row", () => {
  expect(decode(user("[Request interrupted by user]".repeat(50_000))).parts.length).toBe(50_000)
})

describe("subagents", () => {
  const agentProgress = (message: Fields, more: Fields = {}) => ({
    type: "progress",
    uuid: "p1",
    parentUuid: "p0",
    sessionId: "s1",
    data: { type: "agent_progress", agentId: "ag1", message },
    ...more,
  })
  table([
    {
      name: "a brief",
      line: user("Find the bug", { isSidechain: true }),
      parts: [{ kind: "brief", text: "Find the bug" }],
    },
    {
      name: "a brief that looks like a command",
      line: user("<bash-input>ls</bash-input>", { isSidechain: true }),
      parts: [{ kind: "brief", text: "ls" }],
    },
    {
      name: "a meta line",
      line: user("Go on", { isSidechain: true, isMeta: true }),
      parts: [notice("Go on")],
    },
    {
      name: "a queued prompt",
      line: attachment({ type: "queued_command", prompt: "and b" }, { isSidechain: true }),
      parts: [{ kind: "brief", text: "and b" }],
    },
    {
      name: "a refusal inside one is not told as a prompt",
      line: user([result(REJECTED, { is_error: true })], { isSidechain: true, userFeedback: "use rg" }),
      parts: [toolResult(REJECTED, true)],
    },
    {
      name: "progress: its brief",
      line: agentProgress(user("Find it")),
      parts: [{ kind: "brief", text: "Find it" }],
    },
    {
      name: "progress: the bare message",
      line: agentProgress({ role: "assistant", content: [text("Found")] }),
      parts: [{ kind: "text", text: "Found" }],
    },
    { name: "progress: no message", line: agentProgress({}), parts: [] },
    {
      name: "progress: of a shell",
      line: { type: "progress", data: { type: "bash_progress", output: "x" } },
      parts: [],
    },
  ])

  test("progress: fields and usage", () => {
    const inner = assistant([text("Found")], { uuid: "inner" }, { usage: { input_tokens: 5 } })
    const got = decode(agentProgress(inner))
    expect(got).toMatchObject({
      type: "progress/agent_progress",
      uuid: "p1",
      parentUuid: "p0",
      sessionId: "s1",
      agentId: "ag1",
      sidechain: true,
      usage: { messageId: "msg_1", input: 5 },
      parts: [{ kind: "text", text: "Found" }],
    })
  })
  test("agentId of a sidechain line", () => {
    expect(decode(user("x", { isSidechain: true, agentId: "ag7" }))).toMatchObject({
      agentId: "ag7",
      sidechain: true,
    })
  })
})

describe("assistant", () => {
  const use = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } }
  const used = { kind: "toolUse", id: "t1", name: "Bash", input: { command: "ls" } }
  table([
    { name: "text", line: assistant([text("Done.")]), parts: [{ kind: "text", text: "Done." }] },
    { name: "a plain string", line: assistant("Done."), parts: [{ kind: "text", text: "Done." }] },
    {
      name: "several blocks in one line",
      line: assistant([{ type: "thinking", thinking: "hm", signature: "x" }, text("Doing"), use]),
      parts: [{ kind: "thinking", text: "hm" }, { kind: "text", text: "Doing" }, used],
    },
    {
      name: "thinking with a signature only",
      line: assistant([{ type: "thinking", thinking: "", signature: "x" }]),
      parts: [],
    },
    {
      name: "redacted thinking",
      line: assistant([{ type: "redacted_thinking", data: "x" }, use]),
      parts: [used],
    },
    { name: "an empty text block", line: assistant([text(""), text("\n\n"), use]), parts: [used] },
    {
      name: "a tool that runs at the API, with its result",
      line: assistant([
        { type: "server_tool_use", id: "t1", name: "web_search", input: { query: "q" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "t1",
          content: [{ title: "A", url: "https://example.com" }],
        },
      ]),
      parts: [
        { kind: "toolUse", id: "t1", name: "web_search", input: { query: "q" } },
        toolResult("A\nhttps://example.com"),
      ],
    },
    {
      name: "an API error",
      line: assistant([text("API Error: 529 Overloaded")], { isApiErrorMessage: true, error: "rate_limit" }),
      parts: [{ kind: "apiError", text: "API Error: 529 Overloaded" }],
    },
    {
      name: "the host's own answer",
      line: assistant([text("Prompt is too long")], {}, { model: "<synthetic>" }),
      parts: [{ kind: "apiError", text: "Prompt is too long" }],
    },
    {
      name: "the host's own answer to nothing",
      line: assistant([text("No response requested.")], {}, { model: "<synthetic>" }),
      parts: [notice("No response requested.")],
    },
    { name: "content null", line: assistant(null), parts: [] },
    { name: "content []", line: assistant([]), parts: [] },
    { name: "content a number", line: assistant(7), parts: [] },
    { name: "content a single block", line: assistant(text("Hi")), parts: [{ kind: "text", text: "Hi" }] },
    {
      name: "broken blocks beside whole ones",
      line: assistant([null, 3, "bare", { type: 4 }, [], use]),
      parts: [{ kind: "text", text: "bare" }, used],
    },
    {
      name: "a tool call without its fields",
      line: assistant([{ type: "tool_use" }, use]),
      parts: [{ kind: "toolUse", id: "", name: "", input: undefined }, used],
    },
  ])

  const usage = (message: Fields, more: Fields = {}) => decode(assistant([], more, message)).usage
  test("usage", () => {
    const counts = {
      input_tokens: 1,
      output_tokens: 2,
      cache_creation_input_tokens: 3,
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
      cache_read_input_tokens: 4,
    }
    const expected = {
      messageId: "msg_1",
      model: "claude-test-1",
      input: 1,
      output: 2,
      cacheCreation: 3,
      cacheRead: 4,
      cacheHour: 2,
    }
    expect(usage({ usage: counts })).toEqual(expected)
  })
  test("usage in fast mode, and in no other", () => {
    expect(usage({ usage: { input_tokens: 1, speed: "fast" } })).toMatchObject({ isFast: true })
    for (const speed of ["standard", null, undefined, 1])
      expect(usage({ usage: { input_tokens: 1, speed } })).not.toHaveProperty("isFast")
  })
  test("usage with counts missing or wrong", () => {
    expect(usage({ usage: { input_tokens: "9", output_tokens: null, cache_read_input_tokens: -1 } })).toEqual(
      {
        messageId: "msg_1",
        model: "claude-test-1",
        input: 0,
        output: 0,
        cacheCreation: 0,
        cacheRead: 0,
        cacheHour: 0,
      },
    )
  })
  test("usage of another model behind the client", () => {
    expect(usage({ model: "glm-5", usage: { input_tokens: 1 } })).toMatchObject({ model: "glm-5", input: 1 })
  })
  test("no usage without an id, without counts, or of the host's own answer", () => {
    expect(usage({ id: undefined, usage: { input_tokens: 1 } })).toBeUndefined()
    expect(usage({})).toBeUndefined()
    expect(usage({ model: "<synthetic>", usage: { input_tokens: 0 } })).toBeUndefined()
  })
})

describe("tool results", () => {
  const persisted =
    "<persisted-output>\nOutput too large (99KB). Full output saved to: /h/tool-results/b1.txt\n\nPreview (first 2KB):\nx"
  const tooLong =
    "Error: result (90,000 characters) exceeds maximum allowed tokens. Output has been saved to /h/tool-results/mcp-a-b-1.txt.\nFormat: JSON"
  const windows =
    "<persisted-output>\nOutput too large. Full output saved to: C:\\Users\\dev\\b1.txt\n\nPreview"
  table([
    { name: "a string", line: user([result("ok")]), parts: [toolResult("ok")] },
    { name: "an error", line: user([result("no", { is_error: true })]), parts: [toolResult("no", true)] },
    { name: "a list of texts", line: user([result([text("a"), text("b")])]), parts: [toolResult("a\nb")] },
    {
      name: "a tool reference",
      line: user([result([{ type: "tool_reference", tool_name: "WebFetch" }])]),
      parts: [toolResult("WebFetch")],
    },
    {
      name: "an image",
      line: user([
        result([
          text("shot"),
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        ]),
      ]),
      parts: [toolResult("shot"), { kind: "media", mediaType: "image/png", base64Length: 4 }],
    },
    {
      name: "a link to a resource",
      line: user([
        result([text("see"), { type: "resource_link", uri: "s3://b/k", title: "Log", name: "k" }]),
      ]),
      parts: [toolResult("see\nLog\ns3://b/k")],
    },
    {
      name: "a broken link to a resource",
      line: user([result([{ type: "resource_link", uri: 7, name: ["k"] }])]),
      parts: [toolResult("")],
    },
    {
      name: "a recording",
      line: user([result([{ type: "audio", mimeType: "audio/mpeg", data: "AAAA" }])]),
      parts: [toolResult(""), { kind: "media", mediaType: "audio/mpeg", base64Length: 4 }],
    },
    { name: "an empty list", line: user([result([])]), parts: [toolResult("")] },
    { name: "null", line: user([result(null)]), parts: [toolResult("")] },
    { name: "absent", line: user([result(undefined)]), parts: [toolResult("")] },
    {
      name: "absent, told beside the message",
      line: user([result(undefined)], { toolUseResult: "Error: not found" }),
      parts: [toolResult("Error: not found", true)],
    },
    {
      name: "toolUseResult an object or a list",
      line: user([result("ok")], { toolUseResult: [{ stdout: "other" }] }),
      parts: [toolResult("ok")],
    },
    {
      name: "several in one line",
      line: user([result("a"), result(undefined, { tool_use_id: "t2" })], { toolUseResult: "Error: whose?" }),
      parts: [toolResult("a"), { kind: "toolResult", id: "t2", text: "", isError: false }],
    },
    {
      name: "broken items",
      line: user([result([null, "bare", 4, { type: "text" }])]),
      parts: [toolResult("bare")],
    },
    {
      name: "output kept in a file",
      line: user([result(persisted)]),
      parts: [{ ...toolResult(persisted), persistedTo: "/h/tool-results/b1.txt" }],
    },
    {
      name: "output kept in a file, told beside the message",
      line: user([result("cut")], {
        toolUseResult: { stdout: "cut", persistedOutputPath: "/h/tool-results/b2.txt" },
      }),
      parts: [{ ...toolResult("cut"), persistedTo: "/h/tool-results/b2.txt" }],
    },
    {
      name: "a server's answer kept in a file",
      line: user([result(tooLong, { is_error: true })]),
      parts: [{ ...toolResult(tooLong, true), persistedTo: "/h/tool-results/mcp-a-b-1.txt" }],
    },
    {
      name: "a file that somebody else has saved",
      line: user([result("It was saved to /h/tool-results/b3.txt")]),
      parts: [toolResult("It was saved to /h/tool-results/b3.txt")],
    },
    {
      name: "output kept in a file on Windows",
      line: user([result(windows)]),
      parts: [{ ...toolResult(windows), persistedTo: "C:\\Users\\dev\\b1.txt" }],
    },
    {
      name: "output that only speaks of such a file",
      line: user([result(`cat log\n${persisted}`)]),
      parts: [toolResult(`cat log\n${persisted}`)],
    },
    {
      name: "blocks that are null, strings or unknown lose nothing of the others",
      line: user([null, "said", { type: "future" }, result("ok")]),
      parts: [prompt("said"), toolResult("ok")],
    },
  ])
})

describe("system lines", () => {
  const boundary = (compactMetadata: unknown) => ({
    type: "system",
    subtype: "compact_boundary",
    content: "Conversation compacted",
    compactMetadata,
  })
  const cut = (trigger: string, preTokens: number | undefined, preserved: string[]) => [
    { kind: "boundary", trigger, preTokens, preserved },
  ]
  table([
    {
      name: "a boundary",
      line: boundary({ trigger: "auto", preTokens: 155000 }),
      parts: cut("auto", 155000, []),
    },
    {
      name: "a boundary with kept messages",
      line: boundary({
        trigger: "manual",
        preTokens: 9,
        preservedSegment: { headUuid: "k1", anchorUuid: "s", tailUuid: "k3" },
        preservedMessages: { anchorUuid: "s", uuids: ["k1", "k3"], allUuids: ["k1", "k2", "k3"] },
      }),
      parts: cut("manual", 9, ["k1", "k3", "k2"]),
    },
    {
      name: "a boundary with a segment only",
      line: boundary({ trigger: "auto", preservedSegment: { headUuid: "k1", tailUuid: "k3" } }),
      parts: cut("auto", undefined, ["k1", "k3"]),
    },
    {
      name: "a boundary with a list",
      line: boundary({ trigger: "auto", preservedMessages: ["k1", { uuid: "k2" }, 3] }),
      parts: cut("auto", undefined, ["k1", "k2"]),
    },
    { name: "a boundary without metadata", line: boundary(null), parts: cut("unknown", undefined, []) },
    {
      name: "a micro-compaction clears results only",
      line: { type: "system", subtype: "microcompact_boundary", content: "x" },
      parts: [],
    },
    {
      name: "informational",
      line: { type: "system", subtype: "informational", content: "Backgrounding" },
      parts: [notice("Backgrounding")],
    },
    {
      name: "away_summary",
      line: { type: "system", subtype: "away_summary", content: "You fixed it" },
      parts: [notice("You fixed it")],
    },
    {
      name: "without subtype",
      line: { type: "system", content: "Running hook..." },
      parts: [notice("Running hook...")],
    },
    {
      name: "an API error, nested",
      line: {
        type: "system",
        subtype: "api_error",
        error: { status: 529, error: { error: { message: "Overloaded" } } },
      },
      parts: [{ kind: "apiError", text: "Overloaded" }],
    },
    {
      name: "an API error without words",
      line: { type: "system", subtype: "api_error", error: 5 },
      parts: [],
    },
    {
      name: "context of a Stop hook",
      line: { type: "system", subtype: "stop_hook_summary", hookAdditionalContext: ["remember"] },
      parts: [{ kind: "context", source: "hook:Stop", text: "remember" }],
    },
    { name: "turn_duration", line: { type: "system", subtype: "turn_duration", durationMs: 4 }, parts: [] },
    { name: "an unknown one", line: { type: "system", subtype: "future", content: "x" }, parts: [] },
  ])
})

describe("attachments and other lines", () => {
  table([
    {
      name: "context of a hook",
      line: attachment({
        type: "hook_additional_context",
        hookEvent: "SessionStart",
        hookName: "SessionStart:startup",
        content: ["a", "b"],
      }),
      parts: [
        { kind: "context", source: "hook:SessionStart", text: "a" },
        { kind: "context", source: "hook:SessionStart", text: "b" },
      ],
    },
    {
      name: "plain output of a hook before the model",
      line: attachment({ type: "hook_success", hookEvent: "SessionStart", content: "memo" }),
      parts: [{ kind: "context", source: "hook:SessionStart", text: "memo" }],
    },
    {
      name: "plain output of any other hook",
      line: attachment({ type: "hook_success", hookEvent: "PostToolUse", content: "ok" }),
      parts: [],
    },
    {
      name: "a hook that blocks",
      line: attachment({
        type: "hook_blocking_error",
        hookEvent: "Stop",
        blockingError: { blockingError: "lint fails" },
      }),
      parts: [notice("lint fails")],
    },
    {
      name: "a file",
      line: attachment({ type: "file", filename: "/a.ts", content: { type: "text" } }),
      parts: [],
    },
    {
      name: "an edited file",
      line: attachment({ type: "edited_text_file", filename: "/a.ts", snippet: "1" }),
      parts: [],
    },
    { name: "a todo reminder", line: attachment({ type: "todo_reminder", content: [] }), parts: [] },
    { name: "no attachment", line: { type: "attachment", attachment: null }, parts: [] },
    {
      name: "summary",
      line: { type: "summary", summary: "Parser work", leafUuid: "x" },
      parts: [{ kind: "title", text: "Parser work" }],
    },
    {
      name: "custom-title",
      line: { type: "custom-title", customTitle: "Mine" },
      parts: [{ kind: "title", text: "Mine" }],
    },
    {
      name: "ai-title",
      line: { type: "ai-title", aiTitle: "Parser" },
      parts: [{ kind: "title", text: "Parser" }],
    },
    { name: "last-prompt", line: { type: "last-prompt", lastPrompt: "x" }, parts: [] },
    { name: "mode", line: { type: "mode", mode: "normal" }, parts: [] },
    { name: "permission-mode", line: { type: "permission-mode", permissionMode: "auto" }, parts: [] },
    { name: "file-history-snapshot", line: { type: "file-history-snapshot", snapshot: {} }, parts: [] },
    {
      name: "a type of the future",
      line: { type: "future-record-type", message: { content: "x" } },
      parts: [],
    },
    {
      name: "the request itself",
      line: { type: "api-request-blob", message: { role: "user", content: "x" } },
      parts: [],
    },
  ])
})

describe("the line", () => {
  test("fields", () => {
    const fields = {
      uuid: "u1",
      parentUuid: "u0",
      timestamp: "2026-01-02T03:04:05.678Z",
      sessionId: "s1",
      cwd: "/home/dev/project",
      version: "2.1.112",
      gitBranch: "main",
      agentId: "ag1",
      promptId: "p1",
    }
    expect(decode(user("x", fields))).toEqual({
      type: "user",
      ...fields,
      sidechain: false,
      usage: undefined,
      parts: [prompt("x")],
    })
  })
  test("a folder of Windows has slashes, as in everything that is compared with it", () => {
    expect(decode(user("x", { cwd: "c:\\Users\\dev\\project" })).cwd).toBe("C:/Users/dev/project")
  })
  test("fields that are absent, empty or mistyped", () => {
    const got = decode({ type: "mode", uuid: 4, cwd: null, gitBranch: "", timesstamp: "t" })
    expect(got).toMatchObject({
      type: "mode",
      uuid: undefined,
      cwd: undefined,
      gitBranch: undefined,
      timestamp: undefined,
    })
  })
  test("session_id where there is no sessionId", () => {
    expect(decode({ type: "mode", session_id: "s2" }).sessionId).toBe("s2")
    expect(decode({ type: "mode", session_id: "s2", sessionId: "s1" }).sessionId).toBe("s1")
  })
  test("the logical parent where a compaction cut the chain", () => {
    expect(decode({ type: "system", parentUuid: null, logicalParentUuid: "u9" }).parentUuid).toBe("u9")
    expect(decode({ type: "system", parentUuid: "u1", logicalParentUuid: "u9" }).parentUuid).toBe("u1")
  })
  test("type with its subtype", () => {
    const types = [
      { type: "system", subtype: "compact_boundary" },
      attachment({ type: "file" }),
      { type: "queue-operation", operation: "enqueue" },
      { type: "progress", data: { type: "hook_progress" } },
    ].map((line) => decode(line).type)
    expect(types).toEqual([
      "system/compact_boundary",
      "attachment/file",
      "queue-operation/enqueue",
      "progress/hook_progress",
    ])
  })
  test("no type: the message's role tells, or nothing does", () => {
    expect(decode({ message: { role: "user", content: "hi" } })).toMatchObject({
      type: "user",
      parts: [prompt("hi")],
    })
    expect(decode({ silly: "this" })).toMatchObject({ type: "unknown", parts: [] })
  })
  test("a message with a typo in its keys, or none, or a bare string", () => {
    expect(decode({ type: "user", message: { role: "user", contenst: [] } }).parts).toEqual([])
    expect(decode({ type: "user" }).parts).toEqual([])
    expect(decode({ type: "user", message: "error" }).parts).toEqual([prompt("error")])
  })
  for (const line of [
    "",
    " ",
    "{",
    '{"type":"user"',
    '"bare"',
    "42",
    "null",
    "true",
    "[1]",
    "\0",
    "[".repeat(200_000),
  ]) {
    test(`malformed: ${JSON.stringify(line.slice(0, 20))}`, () => {
      expect(decodeLine(line)).toMatchObject({
        type: "malformed",
        uuid: undefined,
        usage: undefined,
        parts: [],
      })
    })
  }
  test("line ends and a byte order mark do not matter", () => {
    expect(decodeLine('\ufeff{"type":"mode","uuid":"u1"}\r\n')).toMatchObject({ type: "mode", uuid: "u1" })
  })
  test("lone surrogates and NUL, written as escapes or raw", () => {
    const line = '{"type":"user","message":{"content":"a\\ud83d b\\u0000 \\ud83d\\ude00 \ud83d"}}'
    expect(decodeLine(line).parts).toEqual([prompt("a\ufffd b\ufffd 😀 \ufffd")])
  })
  test("lone surrogates in the input of a tool", () => {
    const line =
      '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"\\ud83d"}}]}}'
    expect(decodeLine(line).parts).toMatchObject([{ input: { command: "\ufffd" } }])
  })
  test("a line of 1.6 MB keeps no base64", () => {
    const data = "A".repeat(1_600_000)
    const line = JSON.stringify(
      user([text("look"), { type: "image", source: { media_type: "image/png", data } }]),
    )
    const got = decodeLine(line)
    expect(got.parts).toEqual([
      prompt("look"),
      { kind: "media", mediaType: "image/png", base64Length: data.length },
    ])
    expect(JSON.stringify(got).length).toBeLessThan(1000)
  })
  test("of 300,000 blocks, the first ones are read", () => {
    for (const type of ["user", "assistant"]) {
      const content = Array.from({ length: 300_000 }, (_, n) => text(`block ${n}`))
      const { parts } = decodeLine(JSON.stringify({ type, message: { role: type, content } }))
      expect(parts).toHaveLength(10_000)
      expect(parts.at(-1)).toMatchObject({ text: "block 9999" })
      const result = { type: "tool_result", tool_use_id: "t", content }
      const [part] = decodeLine(JSON.stringify({ type, message: { role: type, content: [result] } })).parts
      expect(part).toMatchObject({ kind: "toolResult", text: expect.stringMatching(/block 9999$/) })
    }
  })
})

/** What servers of tools return besides text, as they write it (MCP), and as the API has it. */
describe("links, files and sounds in a result", () => {
  const of = (content: unknown) =>
    decodeLine(
      JSON.stringify({
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content }] },
      }),
    ).parts
  const textOf = (content: unknown): string => {
    const [part] = of(content)
    return part?.kind === "toolResult" ? part.text : "none"
  }
  const media = (mediaType: string, base64Length: number) => ({ kind: "media", mediaType, base64Length })

  test.each([
    [{ type: "resource_link", uri: "kiln://log/7", name: "log 7" }, "log 7\nkiln://log/7"],
    [
      { type: "resource_link", uri: "kiln://7", name: "seven", title: "Log 7", description: "of June" },
      "Log 7\nkiln://7\nof June",
    ],
    [{ type: "resource_link", uri: "kiln://7" }, "kiln://7"],
    [{ type: "resource", resource: { uri: "kiln://7", text: "hot" } }, "hot"],
    [{ type: "resource", resource: { uri: "kiln://7" } }, "kiln://7"],
    [
      { type: "web_search_result", title: "Kilns", url: "https://kilns.example" },
      "Kilns\nhttps://kilns.example",
    ],
    [{ type: "resource_link" }, ""],
  ])("%j is text", (block, text) => {
    expect(textOf([{ type: "text", text: "See:" }, block])).toBe(["See:", text].filter(Boolean).join("\n"))
  })

  test.each([
    [{ type: "audio", data: "QUJDRA==", mimeType: "audio/wav" }, media("audio/wav", 8)],
    [
      { type: "audio", source: { type: "base64", media_type: "audio/mpeg", data: "QUJD" } },
      media("audio/mpeg", 4),
    ],
    [{ type: "audio" }, media("audio", 0)],
    [{ type: "image", data: "QUJD", mimeType: "image/png" }, media("image/png", 4)],
    [
      { type: "resource", resource: { uri: "kiln://7", blob: "QUJD", mimeType: "audio/ogg" } },
      media("audio/ogg", 4),
    ],
  ])("%j is media", (block, part) => {
    expect(of([{ type: "text", text: "Listen:" }, block])).toMatchObject([{ text: "Listen:" }, part])
  })

  test("in a message itself, too", () => {
    const line = (content: unknown) =>
      decodeLine(JSON.stringify({ type: "user", message: { role: "user", content } })).parts
    expect(line([{ type: "audio", data: "QUJD", mimeType: "audio/wav" }])).toEqual([
      media("audio/wav", 4),
    ] as never)
    expect(line([{ type: "resource_link", uri: "kiln://7", name: "log 7" }])).toEqual([
      { kind: "context", source: "resource_link", text: "log 7\nkiln://7" },
    ])
  })
})
