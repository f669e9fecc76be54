import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { decodeLine, isNamedAsTranscript, mediaOfLine } from "../../../src/agents/agents.ts"
import {
  isTranscriptFile,
  parentTranscript,
  placeBeside,
  transcriptName,
} from "../../../src/agents/layouts.ts"
import { qwen } from "../../../src/agents/qwen/qwen.ts"
import {
  exitCode,
  replacedTexts,
  todosOf,
  toolFiles,
  toolKind,
  toolTarget,
} from "../../../src/agents/tool-kinds.ts"
import { CLOSE, MARK } from "../../../src/record/our-marks.ts"
import type { Part } from "../../../src/record/types.ts"
import { isAgentsCopy, isBesideCopy, vaultPath } from "../../../src/vault/layout.ts"
import { isExcluded } from "../../../src/views/excluded.ts"
import { sessionsInNames } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { expectBeginningsAsWhole } from "../../support/prefixes.ts"
import { fullChat, QwenChat } from "../../support/qwen-chat.ts"
import { SHARED } from "../../support/real.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const chat = (): QwenChat => new QwenChat({ folder: "/h/.qwen", session: ID, cwd: "/p" })
const last = (made: QwenChat) => decodeLine(made.lines.at(-1)!)
const partsOf = (made: QwenChat): readonly Part[] => last(made).parts

describe("files", () => {
  const folder = "/h/.qwen/projects/-p"

  test("a session and a subagent's, by their paths", () => {
    expect(transcriptName(`${folder}/chats/${ID}.jsonl`)).toEqual({ session: ID, agent: undefined })
    expect(transcriptName(`${folder}/chats/archive/${ID}.jsonl`)).toEqual({ session: ID, agent: undefined })
    const subagent = `${folder}/subagents/${ID}/agent-explore-call_7.jsonl`
    expect(transcriptName(subagent)).toEqual({ session: ID, agent: "explore-call_7" })
    expect(parentTranscript(subagent)).toBe(`${folder}/chats/${ID}.jsonl`)
    expect(isNamedAsTranscript(subagent)).toBe(true)
    expect(placeBeside(`${folder}/chats/${ID}.jsonl`)).toBeUndefined()
  })

  test("Claude Code's stay its own", () => {
    expect(qwen.isNamedAsTranscript(`/h/.claude/projects/-p/${ID}.jsonl`)).toBe(false)
    expect(qwen.isNamedAsTranscript(`/h/.claude/projects/-p/${ID}/subagents/agent-a1.jsonl`)).toBe(false)
    expect(parentTranscript(`/h/.claude/projects/-p/${ID}/subagents/agent-a1.jsonl`)).toBeUndefined()
  })

  test.each([
    [`${folder}/chats/${ID}.jsonl`, true],
    [`${folder}/chats/${ID}.runtime.json`, false],
    [`${folder}/workflows/run/journal.jsonl`, false],
    [`${folder}/subagents/${ID}/agent-x.meta.json`, false],
    ["/h/.claude/projects/-p/x.jsonl", true],
  ])("what is a transcript: %s", (path, is) => {
    expect(isTranscriptFile(path)).toBe(is)
  })

  test("copies are named by the session, wherever it is put aside", () => {
    const usual = vaultPath(`${folder}/chats/${ID}.jsonl`, "/h")
    expect(usual).toBe(`qwen/home/${ID}.jsonl.zst`)
    expect(vaultPath(`${folder}/chats/archive/${ID}.jsonl`, "/h")).toBe(usual)
    expect(vaultPath(`/other/projects/-p/chats/${ID}.jsonl`, "/h")).toMatch(/^qwen\/root-[\da-f]{8}\//)
    expect(vaultPath(`${folder}/subagents/${ID}/agent-x.jsonl`, "/h")).toBe(
      `qwen/home/${ID}/subagents/agent-x.jsonl.zst`,
    )
    expect([isAgentsCopy(usual), isAgentsCopy(usual, "codex"), isBesideCopy(usual)]).toEqual([
      true,
      false,
      false,
    ])
  })

  test.each([
    [{}, "/h/.qwen/projects"],
    [{ QWEN_HOME: "/q" }, "/q/projects"],
    [{ QWEN_HOME: "/q", QWEN_RUNTIME_DIR: "/r" }, "/r/projects"],
  ])("its folder with %o", (env: Record<string, string>, folder) => {
    const named = (name: string) => env[name]
    expect(qwen.transcripts({ home: "/h", claudeDir: "/c", named })).toEqual([folder])
  })
})

describe("records", () => {
  test("whose line", () => {
    const made = fullChat({ folder: "/h/.qwen", session: ID, cwd: "/p" })
    for (const line of made.lines) expect(decodeLine(line)).toMatchObject({ program: "qwen", sessionId: ID })
    for (const line of [
      '{"parentUuid":null,"type":"user","message":{"role":"user","content":"x"},"uuid":"u"}',
      '{"uuid":"u","parentUuid":null,"type":"user","message":{"role":"user","content":"x"}}',
      "{}",
      "x",
    ])
      expect(qwen.wrote(line)).toBe(false)
  })

  test("place, version, branch and parent", () => {
    const made = chat().user(["One"]).user(["Two"])
    expect(last(made)).toMatchObject({
      type: "user",
      uuid: expect.stringMatching(/0001$/),
      parentUuid: expect.stringMatching(/0000$/),
      cwd: "/p",
      version: "0.24.4",
      gitBranch: "main",
      sidechain: false,
    })
  })

  test("a prompt is what was typed, without reminders and files", () => {
    expect(
      partsOf(
        chat().user([
          "<system-reminder>\nNobody's words.\n</system-reminder>\n\n",
          "Mend the kiln of @plan.md",
          "\n--- Content from referenced files ---",
          "Content from @plan.md:",
          "A stranger's words",
        ]),
      ),
    ).toEqual([{ kind: "prompt", via: "typed", text: "Mend the kiln of @plan.md" }])
    expect(partsOf(chat().user(["Mend it, expanded"], { systemPayload: { displayText: "/mend" } }))).toEqual([
      { kind: "prompt", via: "typed", text: "/mend" },
    ])
    expect(partsOf(chat().user(["<system-reminder>\nx\n</system-reminder>"]))).toEqual([])
  })

  test("what hooks and we have said at a prompt is context", () => {
    const ours = `${MARK}"recall">x${CLOSE}`
    expect(
      partsOf(
        chat().user(
          [
            "Mend it",
            `<qwen:user-prompt-submit-context>\n${ours.replaceAll("<", "&lt;").replaceAll(">", "&gt;")}\n</qwen:user-prompt-submit-context>`,
          ],
          { systemPayload: { displayText: "Mend it", hookContext: ours } },
        ),
      ),
    ).toEqual([
      { kind: "prompt", via: "typed", text: "Mend it" },
      { kind: "context", source: "hook:UserPromptSubmit", text: ours },
    ])
  })

  test.each([
    ["mid_turn_user_message", "real_user", { kind: "prompt", via: "queued" }],
    ["realtime_message", "real_user", { kind: "prompt", via: "typed" }],
    ["notification", "system", { kind: "notice" }],
    ["cron", "system", { kind: "notice" }],
    ["goal_runtime", "goal_runtime", { kind: "notice" }],
    [undefined, "system", { kind: "notice" }],
  ])("who speaks in a user's line: %s, %s", (subtype, provenance, part) => {
    const made = chat().user(["Look at the kiln"], { provenance, ...(subtype && { subtype }) })
    expect(partsOf(made)).toEqual([{ ...part, text: "Look at the kiln" } as Part])
  })

  test("answers, thoughts and images; tokens count once", () => {
    const made = chat().answer("The valve")
    expect(partsOf(made)).toEqual([
      { kind: "thinking", text: "Let me think of it." },
      { kind: "text", text: "The valve" },
    ])
    expect(last(made).usage).toEqual({
      messageId: expect.stringMatching(/^qwen 0a1b2c3d/),
      model: "qwen3-coder",
      input: 600,
      output: 20,
      cacheCreation: 0,
      cacheRead: 400,
      cacheHour: 0,
    })
    const image = chat().line("user", {
      message: {
        role: "user",
        parts: [{ text: "See" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }],
      },
    })
    expect(partsOf(image)[1]).toEqual({ kind: "media", mediaType: "image/png", base64Length: 4 })
    expect(mediaOfLine(image.lines.at(-1)!)).toEqual(["AAAA"])
    expect(last(chat().model([{ text: "x" }], { prompt: 0, cached: 0, output: 0 })).usage).toBeUndefined()
  })

  test("calls, also of tools that were not described beforehand", () => {
    const made = chat().model([
      { functionCall: { id: "a", name: "read_file", args: { file_path: "/p/x" } } },
      { functionCall: { id: "b", name: "tool_call", args: { name: "web_fetch", arguments: { url: "u" } } } },
    ])
    expect(partsOf(made)).toEqual([
      { kind: "toolUse", id: "a", name: "read_file", input: { file_path: "/p/x" } },
      { kind: "toolUse", id: "b", name: "web_fetch", input: { url: "u" } },
    ])
  })

  test("results: what a command printed and its exit status", () => {
    const [failed] = partsOf(chat().shell("npm test", "1 failed", 1))
    expect(failed).toEqual({ kind: "toolResult", id: "call_0", text: "Exit code 1\n1 failed", isError: true })
    expect(exitCode(true, "Exit code 1\n1 failed")).toBe(1)
    expect(partsOf(chat().shell("ls", "a\nb", 0))).toEqual([
      { kind: "toolResult", id: "call_0", text: "a\nb", isError: false },
    ])
    expect(partsOf(chat().call("edit", {}, { error: "no such text" }, { status: "error" }))).toEqual([
      { kind: "toolResult", id: "call_0", text: "no such text", isError: true },
    ])
    expect(partsOf(chat().call("agent", {}, { output: "" }, { status: "cancelled" }))).toEqual([
      { kind: "toolResult", id: "call_0", text: "", isError: true },
    ])
  })

  test("what we have said behind a result is context, and no result's words", () => {
    const ours = `${MARK}"compact">The valve${CLOSE}`
    const told = `Command: ls\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 0\nSignal: (none)\n\n${ours}`
    for (const output of [told, told.replaceAll("<", "&lt;").replaceAll(">", "&gt;")])
      expect(partsOf(chat().call("run_shell_command", {}, { output }))).toEqual([
        { kind: "toolResult", id: "call_0", text: "a", isError: false },
        { kind: "context", source: "hook", text: ours },
      ])
  })

  test.each([
    ["token_limit", "auto"],
    ["manual", "manual"],
  ])("a compaction by %s, with its summary", (reason, trigger) => {
    expect(partsOf(chat().compaction("<state_snapshot>The valve</state_snapshot>", reason))).toEqual([
      { kind: "boundary", trigger, preTokens: 190000, postTokens: 800, preserved: [] },
      { kind: "summary", text: "<state_snapshot>The valve</state_snapshot>", by: "Qwen Code" },
    ])
  })

  test("titles, errors, commands, sessions that another one started", () => {
    expect(last(chat().system("custom_title", { customTitle: "Kiln", titleSource: "manual" }))).toMatchObject(
      { type: "custom-title", parts: [{ kind: "title", text: "Kiln" }] },
    )
    expect(last(chat().system("custom_title", { customTitle: "Kiln", titleSource: "auto" })).type).toBe(
      "system/custom_title",
    )
    const event = { "event.name": "qwen-code.api_error", error_message: "429" }
    expect(partsOf(chat().system("ui_telemetry", { uiEvent: event }))).toEqual([
      { kind: "apiError", text: "429" },
    ])
    expect(partsOf(chat().system("slash_command", { phase: "invocation", rawCommand: "/about" }))).toEqual([
      { kind: "notice", text: "/about" },
    ])
    expect(partsOf(chat().system("slash_command", { phase: "result", rawCommand: "/about" }))).toEqual([])
    expect(last(chat().system("parent_session", { parentSessionId: "x" })).spawned).toEqual({
      parent: "x",
      name: "session",
    })
  })

  test.each([
    "attribution_snapshot",
    "file_history_snapshot",
    "session_model",
    "session_source",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_sources_snapshot",
    "goal_state",
    "goal_turn_end",
    "branch_checkpoint",
    "background_task_completed",
    "user_text_elements",
    "omni_recall",
    "at_command",
    "turn_result",
    "rewind",
    "of_a_later_version",
  ])("%s holds nobody's words", (subtype) => {
    expect(last(chat().system(subtype, { text: "x" }))).toMatchObject({
      type: `system/${subtype}`,
      program: "qwen",
      parts: [],
    })
  })
})

test("tools", () => {
  expect(toolFiles("read_file", { file_path: "/p/a" })).toEqual([{ path: "/p/a", op: "read" }])
  expect(toolFiles("edit", { file_path: "/p/a" })).toEqual([{ path: "/p/a", op: "edit" }])
  expect(replacedTexts("edit", { file_path: "/p/a", old_string: "x", new_string: "y" })).toEqual([
    { before: "x", after: "y" },
  ])
  expect(toolFiles("read_many_files", { include: ["/p/a", "/p/*.ts"] })).toEqual([
    { path: "/p/a", op: "read" },
  ])
  expect(todosOf("todo_write", { todos: [{ id: "1", content: "Mend", status: "pending" }] })).toEqual([
    { content: "Mend", status: "pending" },
  ])
  expect(toolTarget("agent", { description: "Look", prompt: "Look around" })).toBe("Look")
  expect(toolTarget("grep_search", { pattern: "valve" })).toBe("valve")
  expect(["run_shell_command", "web_fetch", "exit_plan_mode", "skill"].map(toolKind)).toEqual([
    "run",
    "fetch",
    "plan",
    "skill",
  ])
})

describe("in the views", () => {
  const made = (archive: Archive, agent?: string): QwenChat => {
    const options = { folder: join(archive.root, ".qwen"), session: ID, cwd: join(archive.root, "p") }
    if (agent === undefined) return fullChat(options)
    return new QwenChat({ ...options, agent }).user(["Look. Never touch it."]).answer("It is stuck.")
  }
  const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

  test("turns, calls, files, tokens and boundary, each once", () => {
    using archive = new Archive()
    archive.follow(made(archive).flush())
    expect(rows(archive, "SELECT seq, via, prompt, answer, tools, errors FROM turns ORDER BY seq")).toEqual([
      [1, "typed", "Why does the kiln overheat in summer?", "The valve of the kiln was stuck.", 3, 1],
      [2, "typed", "Paint it ultramarine.", "Painted.", 1, 0],
    ])
    expect(rows(archive, "SELECT name, is_error, exit_code FROM tool_calls ORDER BY id")).toEqual([
      ["read_file", 0, null],
      ["edit", 0, null],
      ["run_shell_command", 1, 1],
      ["run_shell_command", 0, null],
    ])
    expect(rows(archive, "SELECT op FROM files WHERE op <> 'command' ORDER BY op")).toEqual([
      ["edit"],
      ["read"],
    ])
    expect(rows(archive, "SELECT count(*), sum(input), sum(cache_read), sum(output) FROM usage")).toEqual([
      [6, 3600, 2400, 120],
    ])
    expect(archive.count("boundaries")).toBe(1)
    expect(rows(archive, "SELECT program, branch, version, parent FROM sessions")).toEqual([
      ["qwen", "main", "0.24.4", null],
    ])
    expect([...sessionsInNames(archive.dataHome, (copy) => isAgentsCopy(copy, "qwen"))]).toEqual([ID])
  })

  test("a subagent's belongs to its session, and no human speaks there", () => {
    using archive = new Archive()
    archive.follow(made(archive).flush())
    archive.follow(made(archive, "explore-call_1").flush())
    expect(rows(archive, "SELECT id, parent, agent FROM sessions WHERE parent IS NOT NULL")).toEqual([
      [`${ID}/explore-call_1`, ID, "explore-call_1"],
    ])
    expect(rows(archive, "SELECT via, origin FROM turns WHERE session LIKE '%/%'")).toEqual([
      ["brief", "assistant"],
    ])
    expect(archive.count("notes WHERE kind = 'constraint'")).toBe(0)
  })

  test("what the user took back is marked", () => {
    using archive = new Archive()
    const chat = made(archive)
    const before = chat.lines.length
    chat
      .user(["Paint it green."])
      .call("write_file", { file_path: "/p/x", content: "green" }, { output: "ok" })
    const again = JSON.parse(chat.lines[before]!)
    const line = {
      ...again,
      uuid: again.uuid.replace(/....$/, "9999"),
      timestamp: "2026-07-07T10:00:00.000Z",
    }
    line.message = { role: "user", parts: [{ text: "Paint it red." }] }
    chat.lines.push(`${JSON.stringify(line)}\n`)
    archive.follow(chat.flush())
    expect(rows(archive, "SELECT prompt FROM turns WHERE taken_back = 1")).toEqual([["Paint it green."]])
  })

  test("a beginning, and then the whole, are as if all had been taken at once", () => {
    expectBeginningsAsWhole(made, [(root) => root.replace(/[^A-Za-z0-9]/g, "-")])
  })

  test("sessions of an excluded folder are left out, and subagents' of theirs", () => {
    using archive = new Archive()
    const chat = made(archive).flush()
    const agent = made(archive, "explore-call_1").flush()
    const exclude = [join(archive.root, "p")]
    for (const { path } of [chat, agent]) {
      expect(isExcluded({ home: archive.root, exclude }, path)).toBe(true)
      expect(isExcluded({ home: archive.root, exclude: ["/elsewhere"] }, path)).toBe(false)
    }
  })
})

const sample = join(SHARED, "samples/agents/extra/generated-qwen-0.24.4-autocompact.jsonl")

test.skipIf(!existsSync(sample))(
  "every line of a real session is decoded (needs samples beside the checkout)",
  () => {
    const records = readFileSync(sample, "utf8").split("\n").filter(Boolean).map(decodeLine)
    for (const record of records) {
      expect(record.program).toBe("qwen")
      expect(record.type).not.toMatch(/^(?:malformed|unknown)/)
    }
    const kinds = records.flatMap(({ parts }) => parts.map(({ kind }) => kind))
    expect(kinds).toEqual(["prompt", "context", "toolUse", "toolResult", "boundary", "summary", "text"])
  },
)
