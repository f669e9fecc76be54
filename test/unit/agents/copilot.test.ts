import { describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { decodeLine, holdsRecord, isNamedAsTranscript, mediaOfLine } from "../../../src/agents/agents.ts"
import { copilot } from "../../../src/agents/copilot/copilot.ts"
import { isTranscriptFile, transcriptName } from "../../../src/agents/layouts.ts"
import {
  exitCode,
  replacedTexts,
  taskChanges,
  todosOf,
  toolFiles,
  toolKind,
  toolTarget,
} from "../../../src/agents/tool-kinds.ts"
import { MARK } from "../../../src/record/our-marks.ts"
import type { Part } from "../../../src/record/types.ts"
import { isAgentsCopy, isBesideCopy, vaultPath } from "../../../src/vault/layout.ts"
import { isExcluded } from "../../../src/views/excluded.ts"
import { Archive } from "../../support/archive.ts"
import { CopilotEvents, fullEvents } from "../../support/copilot-events.ts"
import { expectBeginningsAsWhole } from "../../support/prefixes.ts"

const ID = "0a1b2c3d-0000-4000-8000-00000000000a"
const line = (type: string, data: unknown, more: object = {}): string =>
  JSON.stringify({ type, data, ...more, id: "e1", timestamp: "2026-05-04T10:00:00.000Z", parentId: null })
const partsOf = (type: string, data: unknown, more: object = {}): readonly Part[] =>
  decodeLine(line(type, data, more)).parts
const ended = (data: object): Part => partsOf("tool.execution_complete", { toolCallId: "c", ...data })[0]!
const called = (request: object): Part =>
  partsOf("assistant.message", { content: "", toolRequests: [{ toolCallId: "c", ...request }] })[0]!

describe("files", () => {
  const events = `/h/.copilot/session-state/${ID}/events.jsonl`

  test("a transcript is its session's, in whatever folder it is", () => {
    const name = { session: ID, agent: undefined }
    expect(transcriptName(events)).toEqual(name)
    expect(transcriptName(`/backup/${ID}/events.jsonl`)).toEqual(name)
    expect(transcriptName(`/h/.copilot/session-state/${ID}.jsonl`)).toEqual(name)
    expect(isNamedAsTranscript(`/backup/${ID}/events.jsonl`)).toBe(true)
    expect(isNamedAsTranscript("/backup/other/events.jsonl")).toBe(false)
  })

  test("what a session's model has written into its folder is none", () => {
    expect(isTranscriptFile(events)).toBe(true)
    expect(isTranscriptFile(`/h/.copilot/session-state/${ID}/files/data.jsonl`)).toBe(false)
  })

  test("its copy has the session's name, and is another's for another folder", () => {
    const usual = vaultPath(events, "/h")
    expect(usual).toBe(`copilot/home/${ID}.jsonl.zst`)
    expect(vaultPath(`/other/session-state/${ID}/events.jsonl`, "/h")).toMatch(/^copilot\/root-[\da-f]{8}\//)
    expect([isAgentsCopy(usual), isAgentsCopy(usual, "copilot"), isBesideCopy(usual)]).toEqual([
      true,
      true,
      false,
    ])
  })

  test("COPILOT_HOME names another folder", () => {
    const places = (named?: string) => ({ home: "/h", claudeDir: "/c", named: () => named })
    expect(copilot.transcripts(places())).toEqual(["/h/.copilot/session-state"])
    expect(copilot.transcripts(places("/x"))).toEqual(["/x/session-state"])
  })
})

describe("whose line", () => {
  test.each([
    line("session.start", { sessionId: ID }),
    line("abort", { reason: "user" }),
    '{"id":"a","timestamp":"2026-01-01T00:00:00Z","parentId":null,"type":"tool.execution_start","data":{}}',
  ])("Copilot's: %s", (text) => {
    expect(copilot.wrote(text)).toBe(true)
  })

  test.each([
    '{"type":"progress","data":{"type":"hook_progress"},"uuid":"u"}',
    '{"type":"assistant","data":{"type":"session.start","data":{}}}',
    '{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"x.y","data":{}}}',
    '{"data":{}}',
  ])("not Copilot's: %s", (text) => {
    expect(copilot.wrote(text)).toBe(false)
  })

  test("its records count as such, also those of types that nobody knows yet", () => {
    expect(holdsRecord(Buffer.from(line("session.new_thing", {})))).toBe(true)
    expect(decodeLine(line("session.new_thing", {}))).toMatchObject({ type: "session.new_thing", parts: [] })
    expect(copilot.decode("half a li").type).toBe("malformed")
  })
})

describe("records", () => {
  test("session.start, session.resume and session.context_changed: id, folder, version and branch", () => {
    const context = { cwd: "/p", branch: "main" }
    expect(
      decodeLine(line("session.start", { sessionId: ID, copilotVersion: "1.0.102", context })),
    ).toMatchObject({ sessionId: ID, cwd: "/p", version: "1.0.102", gitBranch: "main", program: "copilot" })
    expect(decodeLine(line("session.resume", { context }))).toMatchObject({ cwd: "/p", gitBranch: "main" })
    expect(decodeLine(line("session.context_changed", { cwd: "/q", branch: "b" }))).toMatchObject({
      cwd: "/q",
      gitBranch: "b",
    })
    expect(
      decodeLine(line("session.start", { detachedFromSpawningParentSessionId: "p" })).spawned,
    ).toMatchObject({ parent: "p" })
  })

  test("user.message: what was typed, and not what the model is sent", () => {
    const said = (data: object, more = {}) =>
      partsOf("user.message", { content: "Mend it", transformedContent: "<x>Mend it</x>", ...data }, more)
    expect(said({ delivery: "idle" })).toEqual([{ kind: "prompt", via: "typed", text: "Mend it" }])
    expect(decodeLine(line("user.message", { content: "Mend it" })).promptSource).toBe("typed")
    expect(said({ delivery: "steering" })).toMatchObject([{ via: "queued" }])
    expect(said({ delivery: "queued" })).toMatchObject([{ via: "queued" }])
    expect(said({ source: "command-review" })).toMatchObject([{ via: "command" }])
    for (const other of [{ source: "skill-pdf" }, { source: "system" }, { isAutopilotContinuation: true }])
      expect(said(other)).toEqual([{ kind: "notice", text: "Mend it" }])
    expect(said({ source: "agent-x" }, { agentId: "a" })).toEqual([{ kind: "brief", text: "Mend it" }])
    expect(said({ content: " " })).toEqual([])
    expect(said({ content: `${MARK}"startup">\nx` })).toMatchObject([{ kind: "context" }])
  })

  test("user.message: images that are not lines of their own", () => {
    const attachments = [
      { type: "blob", mimeType: "image/png", data: "QUJD" },
      { type: "file", path: "/p/a.png", mimeType: "image/png", assetId: "sha256:x" },
    ]
    const text = line("user.message", { content: "Look", attachments })
    expect(decodeLine(text).parts).toMatchObject([
      { kind: "prompt" },
      { kind: "media", mediaType: "image/png", base64Length: 4 },
    ])
    expect(mediaOfLine(text)).toEqual(["QUJD"])
    const asset = line("session.binary_asset", { assetId: "sha256:x", mimeType: "image/png", data: "QUJD" })
    expect(decodeLine(asset).parts).toMatchObject([{ kind: "media", base64Length: 4 }])
    expect(mediaOfLine(asset)).toEqual(["QUJD"])
  })

  test("assistant.message: thoughts, answers, calls", () => {
    const toolRequests = [{ toolCallId: "c", name: "bash", arguments: { command: "ls" } }]
    expect(partsOf("assistant.message", { content: "So", reasoningText: "Hm", toolRequests })).toEqual([
      { kind: "thinking", text: "Hm" },
      { kind: "text", text: "So" },
      { kind: "toolUse", id: "c", name: "bash", input: { command: "ls" } },
    ])
    expect(partsOf("assistant.message", { content: "" })).toEqual([])
  })

  test("inputs that name files have the form that they have everywhere", () => {
    expect(called({ name: "edit", arguments: { path: "/a", old_str: "x", new_str: "y" } })).toMatchObject({
      name: "edit",
      input: { file_path: "/a", old_string: "x", new_string: "y" },
    })
    expect(called({ name: "create", arguments: { path: "/a", file_text: "x" } })).toMatchObject({
      input: { file_path: "/a", content: "x" },
    })
    expect(called({ name: "str_replace_editor", arguments: { command: "view", path: "/a" } })).toMatchObject({
      name: "view",
      input: { file_path: "/a" },
    })
    expect(called({ name: "apply_patch", arguments: "*** Begin Patch" })).toMatchObject({
      input: { patch: "*** Begin Patch" },
    })
    expect(called({ name: "apply_patch", arguments: { input: "*** Begin Patch" } })).toMatchObject({
      input: { patch: "*** Begin Patch" },
    })
  })

  test("a server's tool has the name that it has everywhere", () => {
    const server = { mcpServerName: "ctxbridge", mcpToolName: "search" }
    expect(called({ name: "ctxbridge-search", arguments: { path: "x" }, ...server })).toMatchObject({
      name: "mcp__ctxbridge__search",
      input: { path: "x" },
    })
  })

  test.each([
    [
      { success: true, result: { content: "ok" } },
      { text: "ok", isError: false },
    ],
    [
      {
        success: true,
        shellExecution: { exitCode: 3 },
        result: { content: "hi\n<shellId: 0 completed with exit code 3>" },
      },
      { text: "Exit code 3\nhi", isError: true },
    ],
    [
      { success: true, result: { content: "hi\n<exited with exit code 2>" } },
      { text: "Exit code 2\nhi", isError: true },
    ],
    [
      { success: true, result: { content: "hi\n<shellId: 7 completed with exit code 0>" } },
      { text: "hi", isError: false },
    ],
    [
      { success: false, error: { message: "No match found" } },
      { text: "No match found", isError: true },
    ],
    [
      { success: false, result: { content: "denied" } },
      { text: "denied", isError: true },
    ],
    [
      {
        success: true,
        result: {
          content: `hi\n\nTool "bash" succeeded. Additional guidance from postToolUse hooks:\n${MARK}"compact">\nx`,
        },
      },
      { text: "hi", isError: false },
    ],
  ])("tool.execution_complete: %j", (data, result) => {
    expect(ended(data)).toMatchObject({ kind: "toolResult", id: "c", ...result })
  })

  test("the status of a failed command is read as everywhere", () => {
    const { isError, text } = ended({ success: true, shellExecution: { exitCode: 3 } }) as Extract<
      Part,
      { kind: "toolResult" }
    >
    expect(exitCode(isError, text)).toBe(3)
  })

  test("tool.user_requested: a command of the user's own, and its output", () => {
    expect(partsOf("tool.user_requested", { toolName: "local_shell", arguments: { command: "ls" } })).toEqual(
      [{ kind: "prompt", via: "bash", text: "ls" }],
    )
    expect(ended({ isUserRequested: true, success: true, result: { content: "a" } })).toEqual({
      kind: "output",
      text: "a",
      isError: false,
    })
  })

  test("human_response.recorded: what a human answered, and nobody else", () => {
    const told = (response: object, actor = "human_response") =>
      partsOf("human_response.recorded", { actor, toolCallId: "c", response })
    const input = { responseKind: "user_input", question: "Which?", answer: "red" }
    const reply = { kind: "reply", question: "Which?", within: "c" }
    expect(told(input)).toEqual([{ ...reply, text: "red" } as Part])
    expect(told(input, "host_automation")).toEqual([])
    expect(
      told({
        responseKind: "ask_user",
        message: "Which?",
        content: { colour: "red", sizes: ["s", "m"], n: 2 },
      }),
    ).toEqual([{ ...reply, text: "red, s, m, 2" } as Part])
    expect(told({ responseKind: "exit_plan_mode", approved: false, feedback: "Smaller steps" })).toEqual([
      { kind: "prompt", via: "typed", text: "Smaller steps" },
    ])
    expect(told({ responseKind: "exit_plan_mode", approved: true })).toEqual([])
  })

  test("hook.end and skill.invoked: context, and nobody's words", () => {
    const output = { additionalContext: `${MARK}"compact">\nkept` }
    expect(partsOf("hook.end", { hookType: "postToolUse", success: true, output })).toEqual([
      { kind: "context", source: "hook:postToolUse", text: output.additionalContext },
    ])
    expect(partsOf("hook.end", { hookType: "sessionEnd", success: true })).toEqual([])
    expect(partsOf("skill.invoked", { name: "greet", content: "Say hello" })).toEqual([
      { kind: "context", source: "skill", text: "Say hello" },
    ])
  })

  test("system.notification, session.error, abort", () => {
    expect(partsOf("system.notification", { content: "done" })).toEqual([{ kind: "notice", text: "done" }])
    expect(partsOf("session.error", { message: "no network" })).toEqual([
      { kind: "apiError", text: "no network" },
    ])
    expect(partsOf("abort", { reason: "user_initiated" })).toEqual([
      { kind: "interrupt", text: "user_initiated" },
    ])
  })

  test.each([
    "system.message",
    "tool.execution_start",
    "hook.start",
    "assistant.turn_start",
    "assistant.turn_end",
    "session.compaction_start",
    "session.shutdown",
    "session.usage_checkpoint",
    "session.model_change",
    "session.mode_changed",
    "session.task_complete",
    "subagent.started",
    "subagent.completed",
    "skill.context_delivered",
    "model.message",
    "model.messages_snapshot",
  ])("%s says nothing that another line does not", (type) => {
    expect(partsOf(type, { content: "x", message: { content: "x" }, summary: "x" })).toEqual([])
  })

  test("session.usage_record: cached tokens count once, and a request has one name everywhere", () => {
    const told = { model: "gpt-5.4", inputTokens: 100, cacheReadTokens: 60, cacheWriteTokens: 10 }
    const accounting = { sourceSessionId: ID, sequence: 7 }
    const usage = { ...told, outputTokens: 5, accounting }
    expect(decodeLine(line("session.usage_record", { usage })).usage).toEqual({
      messageId: `copilot ${ID} 7`,
      model: "gpt-5.4",
      input: 30,
      cacheRead: 60,
      cacheCreation: 10,
      output: 5,
      cacheHour: 0,
    })
    expect(decodeLine(line("session.usage_record", { usage: told })).usage?.messageId).toBe("copilot e1")
    expect(decodeLine(line("session.usage_record", { usage: {} })).usage).toBeUndefined()
  })

  test("session.compaction_complete: a boundary and a summary, if it was applied", () => {
    const data = {
      success: true,
      outcome: "applied",
      summaryContent: "<overview>x</overview>",
      preCompactionTokens: 900,
      postCompactionTokens: 90,
      trigger: "threshold",
      compactionTokensUsed: { model: "m", inputTokens: 10, outputTokens: 2 },
    }
    const compacted = (more: object = {}, place = {}) =>
      decodeLine(line("session.compaction_complete", { ...data, ...more }, place))
    expect(compacted().parts).toEqual([
      { kind: "boundary", trigger: "auto", preTokens: 900, postTokens: 90, preserved: [] },
      { kind: "summary", text: "<overview>x</overview>", by: "Copilot CLI" },
    ])
    expect(compacted().usage).toMatchObject({ model: "m", input: 10, output: 2 })
    expect(compacted({ trigger: "manual" }).parts).toMatchObject([{ trigger: "manual" }, {}])
    expect(compacted({ outcome: undefined, trigger: undefined }).parts).toMatchObject([
      { trigger: "unknown" },
      {},
    ])
    for (const none of [{ success: false }, { outcome: "cancelled" }])
      expect(compacted(none).parts).toEqual([])
    expect(compacted({}, { agentId: "a" }).parts).toEqual([])
  })

  test("a subagent's lines are marked as such", () => {
    const its = decodeLine(line("assistant.message", { content: "x" }, { agentId: "a" }))
    expect(its).toMatchObject({ sidechain: true, agentId: "a" })
    expect(decodeLine(line("assistant.message", { content: "x" })).sidechain).toBe(false)
  })
})

describe("tools", () => {
  test.each([
    ["bash", "run"],
    ["powershell", "run-other"],
    ["view", "read"],
    ["create", "write"],
    ["edit", "edit"],
    ["grep", "search"],
    ["glob", "search"],
    ["task", "agent"],
    ["sql", "todo"],
    ["ask_user", "ask"],
    ["exit_plan_mode", "plan"],
    ["skill", "skill"],
    ["web_fetch", "fetch"],
    ["read_bash", "watch"],
  ] as const)("%s: %s", (name, kind) => {
    expect(toolKind(name)).toBe(kind)
  })

  test("files, changes and todos", () => {
    const edit = { file_path: "/a", old_string: "x", new_string: "y" }
    expect(toolFiles("edit", edit)).toEqual([{ path: "/a", op: "edit" }])
    expect(replacedTexts("edit", edit)).toEqual([{ before: "x", after: "y" }])
    expect(toolFiles("create", { file_path: "/a" })).toEqual([{ path: "/a", op: "write" }])
    expect(toolFiles("view", { file_path: "/a" })).toEqual([{ path: "/a", op: "read" }])
    const list = { todos: "# Plan\n- [x] Mend\n- [ ] Test" }
    expect(todosOf("update_todo", list)).toEqual([
      { content: "Mend", status: "completed" },
      { content: "Test", status: "pending" },
    ])
    expect(toolTarget("update_todo", list)).toBe("2 todos")
    expect(toolTarget("read_agent", { agent_id: "a1" })).toBe("a1")
  })
})

describe("todos in a table", () => {
  const changes = (query: string) => taskChanges("sql", { query })

  test("rows that are written, changed and deleted by their ids", () => {
    expect(
      changes(
        "INSERT INTO todos (id, title, description) VALUES\n  ('valve', 'Mending the valve', 'It''s stuck; (open) it'),\n  ('latch', 'Making a latch', NULL);\nINSERT INTO todo_deps (todo_id, depends_on) VALUES ('latch', 'valve');",
      ),
    ).toEqual([
      { id: "valve", isNew: true, subject: "Mending the valve" },
      { id: "latch", isNew: true, subject: "Making a latch" },
    ])
    expect(changes("UPDATE todos SET status = 'done', updated_at = 1 WHERE id = 'valve'")).toEqual([
      { id: "valve", status: "completed" },
    ])
    expect(changes("update todos set status='in_progress' where id in ('a', 'b');")).toEqual([
      { id: "a", status: "in_progress" },
      { id: "b", status: "in_progress" },
    ])
    expect(changes("DELETE FROM todos WHERE id = 'a'")).toEqual([{ id: "a", status: "deleted" }])
  })

  test("nothing of other statements, nor of those that name no id", () => {
    for (const query of [
      "SELECT * FROM todos",
      "UPDATE todos SET status = 'done'",
      "UPDATE todos SET status = 'done' WHERE status = 'pending'",
      "DELETE FROM todos",
      "INSERT INTO notes (id, title) VALUES ('todos', 'x')",
      "INSERT INTO todos (id, title) VALUES ('a', 'never closed",
      "CREATE TABLE t (x TEXT)",
    ])
      expect(changes(query)).toEqual([])
    expect(taskChanges("sql", { query: 7 })).toEqual([])
  })

  test("they are the session's", () => {
    using archive = new Archive()
    const ok = { result: { content: "ok" } }
    const events = new CopilotEvents({ folder: join(archive.root, ".copilot"), id: ID, cwd: "/p" })
      .prompt("Mend it")
      .call("sql", { query: "INSERT INTO todos (id, title) VALUES ('a', 'Mend'), ('b', 'Test')" }, ok)
      .call("sql", { query: "UPDATE todos SET status = 'done' WHERE id = 'a'" }, ok)
    archive.follow(events.flush())
    expect(JSON.parse(`${archive.db.query("SELECT todos FROM sessions").values()[0]?.[0]}`)).toEqual([
      { id: "a", content: "Mend", status: "completed" },
      { id: "b", content: "Test", status: "pending" },
    ])
  })
})

describe("in the views", () => {
  const made = (archive: Archive): CopilotEvents =>
    fullEvents({ folder: join(archive.root, ".copilot"), id: ID, cwd: join(archive.root, "p") })
  const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

  test("turns, calls, files, tokens and boundary, each once", () => {
    using archive = new Archive()
    archive.follow(made(archive).flush())
    expect(rows(archive, "SELECT seq, via, prompt, answer, tools, errors FROM turns ORDER BY seq")).toEqual([
      [
        1,
        "typed",
        "Why does the kiln overheat? Never touch the boiler.",
        "The valve stuck; it opens slowly now.",
        5,
        2,
      ],
      [2, "typed", "Now release the kiln.", "Released.", 1, 0],
    ])
    expect(rows(archive, "SELECT name, is_error, exit_code FROM tool_calls ORDER BY id")).toEqual([
      ["bash", 0, null],
      ["bash", 1, 1],
      ["edit", 0, null],
      ["create", 0, null],
      ["edit", 1, null],
      ["bash", 0, null],
    ])
    expect(rows(archive, "SELECT op FROM files WHERE op <> 'command' ORDER BY op")).toEqual([
      ["edit"],
      ["write"],
    ])
    expect(
      rows(archive, "SELECT model, input, cache_read, output, sidechain FROM usage ORDER BY time"),
    ).toEqual([
      ["gpt-5.4", 600, 400, 50, 0],
      ["gpt-5.4", 300, 0, 10, 1],
      ["gpt-5.4", 500, 1500, 70, 0],
    ])
    expect(archive.count("boundaries")).toBe(1)
    expect(rows(archive, "SELECT program, branch, version, parent FROM sessions")).toEqual([
      ["copilot", "main", "1.0.102", null],
    ])
    expect(rows(archive, "SELECT text FROM notes WHERE kind = 'constraint'")).toEqual([
      ["Never touch the boiler."],
    ])
  })

  test("no human speaks in what a subagent is told", () => {
    using archive = new Archive()
    archive.follow(made(archive).flush())
    expect(rows(archive, "SELECT role, origin FROM messages WHERE sidechain = 1 ORDER BY id")).toEqual([
      ["host", "assistant"],
      ["assistant", "subagent"],
    ])
  })

  test("a beginning, and then the whole, are as if all had been taken at once", () => {
    expectBeginningsAsWhole(made)
  })

  test("sessions of an excluded folder are left out", () => {
    using archive = new Archive()
    const { path } = made(archive).flush()
    expect(isExcluded({ home: archive.root, exclude: [join(archive.root, "p")] }, path)).toBe(true)
    expect(isExcluded({ home: archive.root, exclude: ["/elsewhere"] }, path)).toBe(false)
  })

  test("a session that the released program has written, with a model that was a stand-in", () => {
    using archive = new Archive()
    const fixture = resolve(import.meta.dir, "../../fixtures/copilot-1.0.102.jsonl.zst")
    const content = Bun.zstdDecompressSync(readFileSync(fixture))
    const path = join(archive.root, ".copilot/session-state", ID, "events.jsonl")
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    archive.follow({ path })
    const told = Buffer.from(content)
      .toString()
      .split("\n")
      .filter(Boolean)
      .map((text) => JSON.parse(text))
    expect(rows(archive, "SELECT via, prompt, answer FROM turns WHERE via <> 'none' ORDER BY seq")).toEqual([
      ["typed", "Mend the kiln", "The valve is mended."],
      ["typed", "Release the work", "Released."],
    ])
    expect(rows(archive, "SELECT name, is_error, exit_code, sidechain FROM tool_calls ORDER BY id")).toEqual(
      expect.arrayContaining([
        ["bash", 1, 3, 0],
        ["mcp__ctxbridge__look_up", 0, null, 0],
        ["view", 0, null, 1],
        ["edit", 1, null, 0],
      ]),
    )
    // Copilot's own totals; it does not count what a compaction took.
    const { usage } = told.findLast(({ type }) => type === "session.shutdown").data.modelMetrics.m1
    const summed = "SELECT sum(input + cache_read + cache_creation), sum(cache_read), sum(output) FROM usage"
    const [sums] = rows(archive, summed)
    expect(sums).toEqual([usage.inputTokens + 2000, usage.cacheReadTokens + 500, usage.outputTokens + 20])
    expect(archive.count("boundaries")).toBe(1)
    // Hooks said something at each prompt and call: it is context once, and in no result.
    const given = told.filter(({ data }) => data.output?.additionalContext !== undefined).length
    expect(archive.count("messages WHERE role = 'host' AND kind <> 'summary'")).toBeGreaterThanOrEqual(given)
    const results = told.flatMap((one) => decodeLine(JSON.stringify(one)).parts)
    for (const part of results) if (part.kind === "toolResult") expect(part.text).not.toContain("MARKER")
  })
})
