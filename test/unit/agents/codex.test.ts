import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import {
  AGENTS,
  decodeLine,
  holdsRecord,
  isNamedAsTranscript,
  mediaOfLine,
} from "../../../src/agents/agents.ts"
import { codex } from "../../../src/agents/codex/codex.ts"
import { placeBeside, transcriptName } from "../../../src/agents/layouts.ts"
import { exitCode, replacedTexts, todosOf, toolFiles, toolTarget } from "../../../src/agents/tool-kinds.ts"
import { MARK } from "../../../src/record/our-marks.ts"
import type { Part } from "../../../src/record/types.ts"
import { captureTranscript } from "../../../src/vault/capture.ts"
import { isAgentsCopy, isBesideCopy, vaultPath } from "../../../src/vault/layout.ts"
import { isExcluded } from "../../../src/views/excluded.ts"
import { index } from "../../../src/views/indexing.ts"
import { findSessions } from "../../../src/views/queries/sessions.ts"
import { Archive } from "../../support/archive.ts"
import { CodexRollout, ENVIRONMENT, fullRollout } from "../../support/codex-rollout.ts"
import { SHARED } from "../../support/real.ts"
import { namedViews } from "../../support/views.ts"

const ID = "0a1b2c3d-0000-7000-8000-000000000001"
const line = (type: string, payload: unknown, more: object = {}): string =>
  JSON.stringify({ timestamp: "2026-05-04T10:00:00.000Z", type, payload, ...more })
const partsOf = (payload: object, more: object = {}): readonly Part[] =>
  decodeLine(line("response_item", payload, more)).parts
const user = (text: string, kind?: string): readonly Part[] =>
  partsOf({
    type: "message",
    role: "user",
    content: [{ type: "input_text", text }],
    ...(kind && { internal_chat_message_metadata_passthrough: { content_item_kinds: [kind] } }),
  })
const output = (value: unknown): Part =>
  partsOf({ type: "function_call_output", call_id: "c", output: value })[0]!

const follow = (archive: Archive, { path }: { readonly path: string }): void => {
  const place = { dataHome: archive.dataHome, home: archive.root }
  const taken = captureTranscript(place, path, {
    now: Date.now(),
    deadline: Number.POSITIVE_INFINITY,
    lastLine: "whole",
  })
  archive.db
    .transaction(() => index(archive.db, archive.dataHome, taken, () => false, taken.fresh))
    .immediate()
}
const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

describe("files", () => {
  const rollout = (folder: string): string => `${folder}/rollout-2026-05-04T10-00-00-${ID}.jsonl`

  test("a rollout names its session, whatever folder it is in", () => {
    const name = { session: ID, agent: undefined }
    expect(transcriptName(rollout("/h/.codex/sessions/2026/05/04"))).toEqual(name)
    expect(transcriptName(rollout("/h/projects/x/.codex/archived_sessions"))).toEqual(name)
    expect(isNamedAsTranscript(rollout("/backup"))).toBe(true)
    expect(placeBeside(rollout("/h/projects/x/sessions"))).toBeUndefined()
  })

  test("its copy is the same after `codex archive`, and another's for another folder", () => {
    const usual = vaultPath(rollout("/h/.codex/sessions/2026/05/04"), "/h")
    expect(usual).toBe(`codex/home/rollout-2026-05-04T10-00-00-${ID}.jsonl.zst`)
    expect(vaultPath(rollout("/h/.codex/archived_sessions"), "/h")).toBe(usual)
    expect(vaultPath(rollout("/other/sessions/2026/05/04"), "/h")).toMatch(/^codex\/root-[\da-f]{8}\//)
    expect([isAgentsCopy(usual), isBesideCopy(usual)]).toEqual([true, false])
    expect(isAgentsCopy(usual.replace(".jsonl", ".~1.jsonl"))).toBe(true)
    expect(isAgentsCopy(`home/-h/${ID}.jsonl.zst`)).toBe(false)
  })

  test("its places lie below its folder, and Claude Code stays the last that is asked", () => {
    expect(
      codex.transcripts({
        home: "/h",
        claudeDir: "/c",
        named: (name) => (name === "CODEX_HOME" ? "/x" : undefined),
      }),
    ).toEqual(["/x/sessions", "/x/archived_sessions"])
    expect(AGENTS.at(-1)!.name).toBe("claude")
  })
})

describe("whose line", () => {
  test.each([
    line("session_meta", { id: ID }),
    '{"timestamp":"2026-01-01T00:00:00Z","ordinal":7,"type":"world_state","payload":{}}',
    '{ "type": "event_msg", "timestamp": "x", "payload": {} }',
  ])("Codex': %s", (text) => {
    expect(codex.wrote(text)).toBe(true)
  })

  test.each([
    '{"type":"user","message":{"role":"user","content":"x"},"uuid":"u"}',
    '{"type":"user","payload_of":"x","message":{"content":"{\\"type\\":\\"event_msg\\",\\"payload\\":{"}}',
    '{"type":"assistant","data":{"type":"event_msg","payload":{}}}',
    '{"payload":{}}',
  ])("not Codex': %s", (text) => {
    expect(codex.wrote(text)).toBe(false)
  })

  test("its records count as such, also those of types that nobody knows yet", () => {
    const holds = (text: string): boolean => holdsRecord(Buffer.from(text))
    expect(holds(line("session_meta", { id: ID }))).toBe(true)
    expect(
      holds(line("response_item", { type: "message", role: "assistant", content: [{ text: "x" }] })),
    ).toBe(true)
    expect(decodeLine(line("new_kind", { type: "odd" })).type).toBe("new_kind/odd")
    expect(codex.decode("half a li").type).toBe("malformed")
  })
})

describe("records", () => {
  test("session_meta: id, folder, version and branch", () => {
    const meta = { id: ID, cwd: "/p", cli_version: "0.130.0", source: "cli", git: { branch: "main" } }
    expect(decodeLine(line("session_meta", meta))).toMatchObject({
      sessionId: ID,
      cwd: "/p",
      version: "0.130.0",
      gitBranch: "main",
      spawned: undefined,
      program: "codex",
    })
  })

  test.each([
    [
      { source: { subagent: "review" }, parent_thread_id: "p" },
      { parent: "p", name: "review" },
    ],
    [
      { source: { subagent: { thread_spawn: { parent_thread_id: "p", agent_nickname: "Ada" } } } },
      { parent: "p", name: "Ada" },
    ],
    [
      { source: "exec", thread_source: "subagent" },
      { parent: "unknown", name: "subagent" },
    ],
  ])("session_meta of a subagent: %j", (meta, spawned) => {
    expect(decodeLine(line("session_meta", { id: ID, ...meta })).spawned).toEqual(spawned)
  })

  test("a prompt is what the human typed, and nothing that Codex says in their place", () => {
    const prompt = [{ kind: "prompt", via: "typed", text: "Mend it" }]
    expect(user("Mend it")).toEqual(prompt as Part[])
    expect(user("Mend it", "user.text")).toEqual(prompt as Part[])
    expect(user("<b>bold</b>")).toMatchObject([{ kind: "prompt" }])
    for (const text of [
      ENVIRONMENT,
      "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
      "<user_instructions>x</user_instructions>",
      "<turn_aborted>x</turn_aborted>",
    ])
      expect(user(text)).toEqual([])
    expect(user("Whatever it says", "environments.environment_context")).toEqual([])
    expect(user("<subagent_notification>\n{}\n</subagent_notification>")).toMatchObject([{ kind: "notice" }])
    expect(
      user(
        "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\na\n</result>\n</user_shell_command>",
      ),
    ).toEqual([
      { kind: "prompt", via: "bash", text: "ls" },
      { kind: "output", text: "Exit code: 0\na", isError: false },
    ])
  })

  test("what a hook or we have given is context, and nobody's words", () => {
    const given = `${MARK}"compact">\nkept\n</ctxbridge-restore>`
    const context = [{ kind: "context", source: "hook", text: given }]
    const developer = { type: "message", role: "developer", content: [{ text: given }] }
    expect(partsOf(developer)).toEqual(context as Part[])
    expect(user(given)).toEqual(context as Part[])
    const told = { ...developer, content: [{ text: "Mind the cat" }] }
    const kinds = { content_item_kinds: ["hooks.additional_context"] }
    expect(partsOf({ ...told, internal_chat_message_metadata_passthrough: kinds })).toMatchObject([
      { kind: "context", source: "hook", text: "Mind the cat" },
    ])
    expect(partsOf({ ...told, content: [{ text: "<permissions instructions>x" }] })).toEqual([])
  })

  test("answers, thoughts and images", () => {
    expect(
      partsOf({ type: "message", role: "assistant", content: [{ type: "output_text", text: "Done" }] }),
    ).toEqual([{ kind: "text", text: "Done" }])
    expect(
      partsOf({
        type: "reasoning",
        summary: [{ text: "a" }],
        content: [{ text: "b" }],
        encrypted_content: "x",
      }),
    ).toEqual([
      { kind: "thinking", text: "a" },
      { kind: "thinking", text: "b" },
    ])
    const image = { type: "message", role: "user", content: [{ image_url: "data:image/png;base64,QUJD" }] }
    expect(partsOf(image)).toEqual([{ kind: "media", mediaType: "image/png", base64Length: 4 }])
    expect(mediaOfLine(line("response_item", image))).toEqual(["QUJD"])
  })

  test.each([
    ["exec_command", { cmd: "ls", workdir: "/p" }, { command: "ls", workdir: "/p" }],
    ["shell", { command: ["bash", "-lc", "ls | wc"] }, { command: "ls | wc" }],
    ["shell", { command: ["/bin/zsh", "-c", "ls"] }, { command: "ls" }],
    ["shell", { command: ["git", "log", "a b"] }, { command: "git log 'a b'" }],
    ["shell_command", { command: "ls" }, { command: "ls" }],
    ["ctxbridge__search", { query: "x" }, { query: "x" }],
  ])("a call of %s with %j", (name, given, input) => {
    const called = partsOf({ type: "function_call", name, call_id: "c", arguments: JSON.stringify(given) })
    const kept = name.includes("__") ? `mcp__${name}` : name
    expect(called).toEqual([{ kind: "toolUse", id: "c", name: kept, input }])
  })

  test("other calls", () => {
    const shell = { type: "exec", command: ["bash", "-lc", "ls"] }
    expect(partsOf({ type: "local_shell_call", call_id: "c", action: shell })).toMatchObject([
      { name: "local_shell", input: { command: "ls" } },
    ])
    expect(
      partsOf({ type: "web_search_call", id: "w", action: { type: "search", query: "kilns" } }),
    ).toMatchObject([{ id: "w", name: "web_search_call", input: { query: "kilns" } }])
    expect(partsOf({ type: "web_search_call", status: "completed" })).toEqual([])
    expect(
      partsOf({
        type: "function_call",
        namespace: "mcp__db",
        name: "ask",
        call_id: "c",
        arguments: "no json",
      }),
    ).toMatchObject([{ name: "mcp__db__ask", input: "no json" }])
    expect(partsOf({ type: "tool_search_call", call_id: "c", arguments: { query: "x" } })).toMatchObject([
      { name: "tool_search", input: { query: "x" } },
    ])
  })

  test.each([
    ["plain", { text: "plain", isError: false }],
    ["Exit code: 1\nWall time: 0 seconds\nOutput:\nboom", { text: "Exit code 1\nboom", isError: true }],
    [
      "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok",
      { text: "ok", isError: false },
    ],
    [
      "Wall time: 5 seconds\nProcess running with session ID 7\nOutput:\nhalf",
      { text: "Process running with session ID 7\nhalf", isError: false },
    ],
    [
      '{"output":"bad","metadata":{"exit_code":2,"duration_seconds":0}}',
      { text: "Exit code 2\nbad", isError: true },
    ],
    ["apply_patch verification failed: no such line", { isError: true }],
    ["exec_command failed for `x`: rejected", { isError: true }],
    ["My build failed: not by Codex", { isError: false }],
    [
      [
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b" },
      ],
      { text: "a\nb", isError: false },
    ],
    [
      { content: "no", success: false },
      { text: "no", isError: true },
    ],
  ])("an output: %j", (told, result) => {
    expect(output(told)).toMatchObject({ kind: "toolResult", id: "c", ...result })
  })

  test("the status of a failed command is read as everywhere", () => {
    const failed = output("Process exited with code 3\nOutput:\nx") as Extract<Part, { kind: "toolResult" }>
    expect(exitCode(failed.isError, failed.text)).toBe(3)
  })

  test("tokens: cached ones count once; what is left in the window is no request", () => {
    const total = { total_tokens: 150 }
    const usage = { input_tokens: 100, cached_input_tokens: 60, output_tokens: 50 }
    const event = { type: "token_count", info: { last_token_usage: usage, total_token_usage: total } }
    const counts = { input: 40, cacheRead: 60, cacheCreation: 0, output: 50 }
    const told = decodeLine(line("event_msg", event)).usage
    expect(told).toMatchObject(counts)
    expect(decodeLine(line("token_usage_record", { usage, thread_token_usage: total })).usage).toEqual(told)
    const left = { ...event, info: { last_token_usage: { total_tokens: 9 }, total_token_usage: total } }
    expect(decodeLine(line("event_msg", left)).usage).toBeUndefined()
    expect(decodeLine(line("event_msg", { type: "token_count", info: null })).usage).toBeUndefined()
  })

  test("a compaction is a boundary, with its summary if anybody can read it", () => {
    expect(decodeLine(line("compacted", { message: "Handover" })).parts.map(({ kind }) => kind)).toEqual([
      "boundary",
      "summary",
    ])
    expect(decodeLine(line("compacted", { message: "" })).parts.map(({ kind }) => kind)).toEqual(["boundary"])
    const summary = { type: "message", role: "assistant", content: [{ text: "Handover" }] }
    expect(partsOf(summary, { metadata: { compaction_output: true } })).toEqual([])
  })

  test("events tell only what no item does", () => {
    const event = (payload: object) => decodeLine(line("event_msg", payload)).parts
    expect(event({ type: "user_message", message: "x" })).toEqual([])
    expect(event({ type: "agent_message", message: "x" })).toEqual([])
    expect(event({ type: "turn_aborted", reason: "interrupted" })).toEqual([
      { kind: "interrupt", text: "interrupted" },
    ])
    expect(event({ type: "error", message: "no network" })).toEqual([
      { kind: "apiError", text: "no network" },
    ])
    expect(event({ type: "thread_name_updated", thread_name: "Kiln" })).toEqual([
      { kind: "title", text: "Kiln" },
    ])
  })

  test("turn_context names folder and model", () => {
    expect(decodeLine(line("turn_context", { cwd: "/q", model: "gpt-5.4" }))).toMatchObject({
      cwd: "/q",
      model: "gpt-5.4",
    })
  })
})

describe("tools", () => {
  const patch =
    "*** Begin Patch\n*** Update File: a.ts\n*** Move to: b.ts\n@@ x\n same\n-old\n+new\n*** Add File: c.ts\n+one\n+two\n*** Delete File: d.ts\n*** End Patch"

  test("a patch names its files and what it did to them", () => {
    expect(toolFiles("apply_patch", { patch })).toEqual([
      { path: "a.ts", op: "edit" },
      { path: "b.ts", op: "edit" },
      { path: "c.ts", op: "write" },
      { path: "d.ts", op: "edit" },
    ])
    expect(toolTarget("apply_patch", { patch })).toBe("a.ts")
    expect(replacedTexts("apply_patch", { patch })).toEqual([
      { before: "same\nold", after: "same\nnew" },
      { before: undefined, after: "one\ntwo" },
    ])
  })

  test("a plan is the list of todos", () => {
    const plan = {
      plan: [
        { step: "Mend", status: "completed" },
        { step: "Test", status: "pending" },
      ],
    }
    expect(todosOf("update_plan", plan)).toEqual([
      { content: "Mend", status: "completed" },
      { content: "Test", status: "pending" },
    ])
    expect(toolTarget("update_plan", plan)).toBe("2 steps")
  })

  test("targets", () => {
    expect(toolTarget("write_stdin", { session_id: 7, chars: "" })).toBe("session 7")
    expect(toolTarget("write_stdin", { session_id: 7, chars: "q" })).toBe("q")
    expect(toolTarget("wait_agent", { targets: ["a", "b"] })).toBe("a, b")
    expect(toolTarget("spawn_agent", { message: "Review it" })).toBe("Review it")
    expect(toolFiles("view_image", { path: "/p/a.png" })).toEqual([{ path: "/p/a.png", op: "read" }])
  })
})

describe.each(["legacy", "paginated"] as const)("the views of a %s session", (mode) => {
  const made = (archive: Archive, more: object = {}): CodexRollout =>
    fullRollout({ mode, folder: join(archive.root, ".codex"), id: ID, cwd: join(archive.root, "p"), ...more })

  test("turns, calls, files, todos, tokens and boundary, each once", () => {
    using archive = new Archive()
    follow(archive, made(archive).flush())
    expect(rows(archive, "SELECT seq, via, prompt, answer, tools, errors FROM turns ORDER BY seq")).toEqual([
      [
        1,
        "typed",
        "Why does the kiln overheat? Never touch the boiler.",
        "The valve stuck; it opens slowly now.",
        4,
        1,
      ],
      [2, "typed", "Now release the kiln.", "Released.", 1, 0],
    ])
    expect(rows(archive, "SELECT name, target, is_error, exit_code FROM tool_calls ORDER BY id")).toEqual([
      ["exec_command", "rg -n valve src", 0, null],
      ["exec_command", "npm test", 1, 1],
      ["apply_patch", "src/valve.ts", 0, null],
      ["update_plan", "2 steps", 0, null],
      ["exec_command", "git push", 0, null],
    ])
    expect(rows(archive, "SELECT path, op FROM files WHERE op <> 'command' ORDER BY path")).toEqual([
      ["src/latch.ts", "write"],
      ["src/valve.ts", "edit"],
    ])
    expect(rows(archive, "SELECT model, input, cache_read, output FROM usage ORDER BY time")).toEqual([
      ["gpt-5.4", 600, 400, 50],
      ["gpt-5.4", 500, 1500, 70],
    ])
    expect(archive.count("boundaries")).toBe(1)
    expect(rows(archive, "SELECT program, branch, parent, todos FROM sessions")).toEqual([
      [
        "codex",
        "main",
        null,
        '[{"content":"Mend the valve","status":"completed"},{"content":"Test it","status":"in_progress"}]',
      ],
    ])
    expect(rows(archive, "SELECT text FROM notes WHERE kind = 'constraint'")).toEqual([
      ["Never touch the boiler."],
    ])
  })

  test("a beginning, and then the whole, are as if all had been taken at once", () => {
    using whole = new Archive()
    const { lines } = made(whole).flush()
    follow(whole, made(whole))
    const wanted = namedViews(whole.db)
    for (let n = 1; n < lines.length; n++) {
      using archive = new Archive()
      const { path } = made(archive)
      mkdirSync(dirname(path), { recursive: true })
      const text = lines.join("").replaceAll(whole.root, archive.root)
      const at = text.split("\n").slice(0, n).join("\n").length + 20
      writeFileSync(path, text.slice(0, at))
      follow(archive, made(archive))
      writeFileSync(path, text)
      follow(archive, made(archive))
      const views = JSON.parse(JSON.stringify(namedViews(archive.db)).replaceAll(archive.root, whole.root))
      expect(views).toEqual(wanted)
    }
  })

  test("in a subagent's, no human speaks, and it belongs to the one that started it", () => {
    using archive = new Archive()
    const meta = { source: { subagent: "review" }, parent_thread_id: "0a1b2c3d-0000-7000-8000-00000000000f" }
    follow(archive, made(archive, { meta }).flush())
    expect(rows(archive, "SELECT DISTINCT via, origin FROM turns")).toEqual([["brief", "assistant"]])
    expect(rows(archive, "SELECT parent, agent FROM sessions")).toEqual([
      ["0a1b2c3d-0000-7000-8000-00000000000f", "review"],
    ])
    expect(archive.count("notes WHERE kind = 'constraint'")).toBe(0)
    expect(archive.count("messages WHERE role = 'human'")).toBe(0)
    expect(archive.count("facts")).toBe(0)
  })

  test("a failed patch has changed no file", () => {
    using archive = new Archive()
    const rollout = new CodexRollout({ mode, folder: join(archive.root, ".codex"), id: ID, cwd: "/p" })
      .turn("Try it")
      .patch(
        "*** Begin Patch\n*** Add File: a.ts\n+x\n*** Update File: b.ts\n-x\n+y\n*** End Patch",
        "apply_patch verification failed: b.ts has no such line",
      )
    follow(archive, rollout.flush())
    expect(archive.count("files")).toBe(0)
  })

  test("a session of an excluded folder is left out", () => {
    using archive = new Archive()
    const { path } = made(archive).flush()
    expect(isExcluded({ home: archive.root, exclude: [join(archive.root, "p")] }, path)).toBe(true)
    expect(isExcluded({ home: archive.root, exclude: [join(archive.root, "q")] }, path)).toBe(false)
  })
})

describe("what was undone or said before", () => {
  const OTHER = "0a1b2c3d-0000-7000-8000-000000000002"
  const begun = (archive: Archive, mode: "legacy" | "paginated", id: string, meta = {}) =>
    new CodexRollout({ mode, folder: join(archive.root, ".codex"), id, cwd: join(archive.root, "p"), meta })

  test("turns that were undone are marked, with what they did to the todos", () => {
    using archive = new Archive()
    const plan = (step: string) => ({ plan: [{ step, status: "pending" }] })
    const rollout = begun(archive, "legacy", ID)
      .turn("First")
      .call("update_plan", plan("Oil it"), "Plan updated")
      .turn("Second")
      .call("update_plan", plan("Paint it"), "Plan updated")
      .turn("Third")
      .answer("Done.")
      .line("event_msg", { type: "thread_rolled_back", num_turns: 2 })
      .turn("Second, otherwise")
    follow(archive, rollout.flush())
    expect(rows(archive, "SELECT prompt, taken_back FROM turns ORDER BY seq")).toEqual([
      ["First", 0],
      ["Second", 1],
      ["Third", 1],
      ["Second, otherwise", 0],
    ])
    expect(rows(archive, "SELECT todos FROM sessions")).toEqual([[expect.stringContaining("Oil it")]])
  })

  test("a fork that goes on behind a part of another's file shares the turns in that part", () => {
    using archive = new Archive()
    const origin = begun(archive, "paginated", ID).turn("First").answer("Yes.").turn("Second").answer("No.")
    const end = Buffer.byteLength(origin.text)
    follow(archive, origin.turn("Third, later").answer("Well.").flush())
    const fork = begun(archive, "paginated", OTHER, {
      forked_from_id: ID,
      history_base: { thread_id: ID, end_ordinal_exclusive: 9, end_byte_offset: end },
    })
    follow(archive, fork.turn("Otherwise").answer("Yes.").flush())
    expect(
      rows(
        archive,
        "SELECT l.child, l.parent, l.kind, t.prompt FROM lineage l JOIN turns t ON t.id = l.turn",
      ),
    ).toEqual([[OTHER, ID, "fork", "Second"]])
    expect(findSessions(archive.db, OTHER)[0]).toMatchObject({ turns: 3, shared: 2 })
  })

  test("a fork that has a copy of what it began with shares no turn, and one that was started for a task is none", () => {
    using archive = new Archive()
    follow(archive, begun(archive, "legacy", ID).turn("First").flush())
    follow(
      archive,
      begun(archive, "legacy", OTHER, { forked_from_id: ID }).turn("First").turn("Second").flush(),
    )
    expect(rows(archive, "SELECT child, parent, turn FROM lineage")).toEqual([[OTHER, ID, 0]])
    expect(findSessions(archive.db, OTHER)[0]).toMatchObject({ turns: 2, shared: 0 })
    const third = "0a1b2c3d-0000-7000-8000-000000000003"
    const meta = { forked_from_id: ID, source: { subagent: "review" }, parent_thread_id: ID }
    follow(archive, begun(archive, "legacy", third, meta).turn("Look").flush())
    expect(archive.count("lineage")).toBe(1)
  })
})

/** Of 2025: no times, no payloads. */
test("a rollout of the first versions", () => {
  using archive = new Archive()
  const path = join(archive.root, ".codex/sessions/2025/05/07", `rollout-2025-05-07T10-00-00-${ID}.jsonl`)
  const said = (role: string, text: string) => ({
    type: "message",
    id: null,
    role,
    content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
  })
  const lines = [
    { id: ID, timestamp: "2025-05-07T10:00:00.000Z", instructions: null, git: { branch: "main" } },
    { record_type: "state" },
    said(
      "user",
      "<environment_context>\nCurrent working directory: /p/kiln\nApproval policy: never\n</environment_context>",
    ),
    said("user", "Why does the kiln overheat?"),
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "The valve?" }] },
    {
      type: "function_call",
      id: "fc_1",
      name: "shell",
      arguments: '{"command":["bash","-lc","npm test"]}',
      call_id: "c1",
    },
    { type: "function_call_output", call_id: "c1", output: '{"output":"ok","metadata":{"exit_code":0}}' },
    said("assistant", "The valve stuck."),
  ]
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, lines.map((one) => `${JSON.stringify(one)}\n`).join(""))
  for (const one of lines) expect(decodeLine(JSON.stringify(one)).program).toBe("codex")
  follow(archive, { path })
  expect(rows(archive, "SELECT prompt, answer, tools FROM turns")).toEqual([
    ["Why does the kiln overheat?", "The valve stuck.", 1],
  ])
  expect(rows(archive, "SELECT id, branch, cwd, program FROM sessions")).toEqual([
    [ID, "main", "/p/kiln", "codex"],
  ])
  expect(decodeLine('{"type":"message","id":"1","message":{"role":"user"}}').program).not.toBe("codex")
})

const samples = join(SHARED, "samples/agents/codex")

test.skipIf(!existsSync(samples))(
  "every line of real rollouts is decoded (needs samples beside the checkout)",
  () => {
    for (const name of readdirSync(samples)) {
      const lines = readFileSync(join(samples, name), "utf8").split("\n").filter(Boolean)
      const said: string[] = []
      const prompts: string[] = []
      for (const text of lines) {
        const record = decodeLine(text)
        expect(record).toMatchObject({ program: "codex" })
        expect(record.type).not.toMatch(/^(?:malformed|unknown)/)
        const { type, payload } = JSON.parse(text)
        if (type === "event_msg" && payload.type === "user_message") said.push(payload.message.trim())
        if (type === "event_msg" && payload.item?.type === "UserMessage")
          said.push(payload.item.content?.[0]?.text)
        for (const part of record.parts) if (part.kind === "prompt") prompts.push(part.text.trim())
        if (type !== "response_item") continue
        if (/_call$/.test(payload.type ?? "") && payload.call_id !== undefined)
          expect(record.parts).toMatchObject([{ kind: "toolUse", id: payload.call_id }])
        if (/_call_output$/.test(payload.type ?? ""))
          expect(record.parts[0]).toMatchObject({ kind: "toolResult" })
      }
      // Codex itself tells what was typed, in events that we pass over.
      if (!name.startsWith("agent-sessions")) expect(prompts).toEqual(said)
    }
  },
)
