import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { decodeLine, isNamedAsTranscript, mediaOfLine, recordsIn } from "../../../src/agents/agents.ts"
import { gemini } from "../../../src/agents/gemini/gemini.ts"
import { isTranscriptFile, transcriptName } from "../../../src/agents/layouts.ts"
import { replacedTexts, todosOf, toolFiles, toolKind, toolTarget } from "../../../src/agents/tool-kinds.ts"
import { CLOSE, MARK } from "../../../src/record/our-marks.ts"
import type { Part } from "../../../src/record/types.ts"
import { sessionOf } from "../../../src/vault/capture.ts"
import { isAgentsCopy, vaultPath } from "../../../src/vault/layout.ts"
import { isExcluded } from "../../../src/views/excluded.ts"
import { sourcesOf } from "../../../src/views/view-sources.ts"
import { Archive } from "../../support/archive.ts"
import { fullChat, GeminiChat } from "../../support/gemini-chat.ts"
import { expectBeginningsAsWhole } from "../../support/prefixes.ts"
import { SHARED } from "../../support/real.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const AGENT = "1a1b2c3d-0000-4000-8000-00000000000a"
const chat = (): GeminiChat => new GeminiChat({ home: "/h", session: ID, cwd: "/p" })
/** All records of the line before the last, which only tells the time. */
const records = (made: GeminiChat, back = 2) =>
  recordsIn(Buffer.from(made.lines.at(-back)!.trim())).map((one) => one.record)
const partsOf = (made: GeminiChat, back = 2): readonly Part[] =>
  records(made, back).flatMap(({ parts }) => parts)
const message = (type: string, fields: object): readonly Part[] =>
  decodeLine(JSON.stringify({ id: "m", timestamp: "2026-08-09T10:11:00.000Z", type, ...fields })).parts

describe("files", () => {
  const folder = "/h/.gemini/tmp/kiln/chats"
  const main = `${folder}/session-2026-08-09T10-11-0a1b2c3d.jsonl`
  const subagent = `${folder}/${ID}/${AGENT}.jsonl`

  test("a session is named by its lines, a subagent's by its path", () => {
    using archive = new Archive()
    const { path } = fullChat({ home: archive.root, session: ID, cwd: "/p" }).flush()
    expect(transcriptName(path)).toEqual({ session: undefined, agent: undefined })
    expect(sessionOf(path)).toBe(ID)
    expect(transcriptName(subagent)).toEqual({ session: ID, agent: AGENT })
    expect([main, subagent].map(isNamedAsTranscript)).toEqual([true, true])
  })

  test.each([
    [main, true],
    [subagent, true],
    ["/h/.gemini/tmp/kiln/logs.jsonl", false],
    [`${main}.unreadable-17`, false],
  ])("what is a transcript: %s", (path, is) => {
    expect(isTranscriptFile(path)).toBe(is)
  })

  test("copies", () => {
    expect(vaultPath(main, "/h")).toBe("gemini/home/session-2026-08-09T10-11-0a1b2c3d.jsonl.zst")
    expect(vaultPath(subagent, "/h")).toBe(`gemini/home/${ID}/subagents/agent-${AGENT}.jsonl.zst`)
    expect(vaultPath(main.replace("/h", "/other"), "/h")).toMatch(/^gemini\/root-[\da-f]{8}\//)
    expect(isAgentsCopy(vaultPath(main, "/h"), "gemini")).toBe(true)
  })

  test("its folder", () => {
    const places = { home: "/h", claudeDir: "/c" }
    expect(gemini.transcripts({ ...places, named: () => undefined })).toEqual(["/h/.gemini/tmp"])
    const named = (name: string) => (name === "GEMINI_CLI_HOME" ? "/g" : undefined)
    expect(gemini.transcripts({ ...places, named })).toEqual(["/g/.gemini/tmp"])
  })
})

describe("records", () => {
  test("whose line, also of the records within", () => {
    for (const line of fullChat({ home: "/h", session: ID, cwd: "/p" }).lines)
      for (const { record, text } of recordsIn(Buffer.from(line.trim()))) {
        expect(record).toMatchObject({ program: "gemini" })
        // Alone, it has the same parts, by which it is shown.
        expect(decodeLine(text).parts).toEqual(record.parts)
      }
    for (const line of [
      '{"type":"user","id":"x","timestamp":"t"}',
      '{"sessionId":"x","type":"cost-state","startTime":"t"}',
      '{"id":"x"}',
      "x",
    ])
      expect(gemini.wrote(line)).toBe(false)
  })

  test("the beginning names session and folder", () => {
    const [head, context] = chat().lines.map(decodeLine)
    expect(head).toMatchObject({ type: "session", sessionId: ID, timestamp: "2026-08-09T10:11:00.000Z" })
    expect(context).toMatchObject({ type: "$set", cwd: "/p", parts: [] })
    const subagent = new GeminiChat({ home: "/h", session: ID, cwd: "/p", agent: AGENT })
    expect(decodeLine(subagent.lines[0]!)).toMatchObject({ sessionId: AGENT, cwd: "/p" })
  })

  test("a prompt is what was typed, without hooks' words and files", () => {
    const ours = `${MARK}"recall">x${CLOSE}`
    const content = [
      { text: `<hook_context>${ours}</hook_context>\n\nMend @plan.md` },
      { text: "<hook_context>Be brief.</hook_context>" },
      { text: "\n--- Content from referenced files ---" },
      { text: "A stranger's words" },
    ]
    const hooks = [ours, "Be brief."].map((text) => ({ kind: "context", source: "hook", text }))
    expect(message("user", { content })).toEqual([
      { kind: "prompt", via: "typed", text: "Mend @plan.md" },
      ...(hooks as Part[]),
    ])
    expect(message("user", { content: [{ text: "expanded" }], displayContent: "/mend" })).toEqual([
      { kind: "prompt", via: "typed", text: "/mend" },
    ])
    expect(message("user", { content: "older form" })).toEqual([
      { kind: "prompt", via: "typed", text: "older form" },
    ])
    expect(
      message("user", { content: [{ functionResponse: { id: "c", response: { output: "x" } } }] }),
    ).toEqual([])
  })

  test("answers, thoughts, images, tokens", () => {
    expect(partsOf(chat().answer("The valve"))).toEqual([
      { kind: "thinking", text: "Cause: the valve" },
      { kind: "text", text: "The valve" },
    ])
    expect(records(chat().answer("x")).map(({ usage }) => usage)).toEqual([
      undefined,
      {
        messageId: expect.stringMatching(/^gemini 0a1b2c3d/),
        model: "gemini-3-pro",
        input: 600,
        output: 25,
        cacheCreation: 0,
        cacheRead: 400,
        cacheHour: 0,
      },
    ])
    const image = [{ text: "See" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }]
    expect(message("user", { content: image })[1]).toEqual({
      kind: "media",
      mediaType: "image/png",
      base64Length: 4,
    })
    expect(mediaOfLine(JSON.stringify({ id: "m", timestamp: "t", type: "user", content: image }))).toEqual([
      "AAAA",
    ])
  })

  test("a call and its result are records of their own", () => {
    const made = chat().shell("npm test", "1 failed", 1)
    const [said, tokens, call, result] = records(made, 3)
    expect(said).toMatchObject({ type: "gemini", parts: [{ kind: "text", text: "I look." }] })
    expect(tokens).toMatchObject({ type: "tokens", parts: [] })
    expect(call).toMatchObject({ type: "call", once: true, timestamp: "2026-08-09T10:11:01.000Z" })
    expect(call!.parts).toMatchObject([
      { kind: "toolUse", name: "run_shell_command", input: { command: "npm test" } },
    ])
    expect(result).toMatchObject({
      type: "result",
      uuid: `${call!.uuid} result`,
      parts: [{ kind: "toolResult", id: call!.uuid, text: "Exit code 1\n1 failed", isError: true }],
    })
  })

  test("results: errors, and what hooks have said behind them", () => {
    const [, , , failed] = records(chat().call("glob", {}, { error: "no such tool" }, { status: "error" }), 3)
    expect(failed!.parts).toMatchObject([{ text: "no such tool", isError: true }])
    const ours = `${MARK}"compact">The valve${CLOSE}`
    const output = `seen\n\n<hook_context>${ours}</hook_context>`
    const [, , , told] = records(chat().call("glob", {}, { output }), 3)
    expect(told!.parts).toMatchObject([
      { kind: "toolResult", text: "seen", isError: false },
      { kind: "context", source: "hook", text: ours },
    ])
  })

  test("results of calls without an id each count, and several of one call", () => {
    const response = (output: string) => ({ functionResponse: { name: "glob", response: { output } } })
    const inner = (toolCalls: object[]) =>
      recordsIn(Buffer.from(JSON.stringify({ id: "m", timestamp: "x", type: "gemini", toolCalls })))
        .map((one) => one.record)
        .filter(({ type }) => type === "result")
    const call = (result: object[], more: object = {}) => ({ name: "glob", args: {}, result, ...more })
    expect(
      inner([call([response("a")]), call([response("b")])]).map(({ uuid, once }) => [uuid, once]),
    ).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
    const both = inner([call([response("a"), response("b")], { id: "c" })])
    expect(both.map(({ uuid, once }) => [uuid, once])).toEqual([
      ["c result", true],
      ["c result 1", true],
    ])
  })

  test("what stands behind a command's output, and what only looks like it", () => {
    const shell = (output: string) => {
      const [, , , ran] = records(chat().call("run_shell_command", {}, { output }), 3)
      return ran!.parts
    }
    const notes = "Error: (none)\nExit Code: 2\nProcess Group PGID: 7\n\n"
    expect(shell(`Output: Error: a\nb\n${notes}`)).toMatchObject([{ text: "Exit code 2\nError: a\nb" }])
    expect(shell("Output: Exit Code: 2\nb")).toMatchObject([{ text: "Output: Exit Code: 2\nb" }])
  })

  test.each([
    ["mcp_ctxbridge_search", undefined, "mcp__ctxbridge__search"],
    ["mcp_my_db_query", "query (my_db MCP Server)", "mcp__my_db__query"],
    ["ctxbridge__show", "show (ctxbridge MCP Server)", "mcp__ctxbridge__show"],
    ["read_file", "ReadFile", "read_file"],
  ])("the tool %s of %s is called %s", (name, displayName, called) => {
    const line = JSON.stringify({ id: "c", name, args: {}, ...(displayName && { displayName }) })
    expect(decodeLine(line).parts).toMatchObject([{ kind: "toolUse", name: called }])
  })

  test("of the messages after a compaction, only the summary is new", () => {
    const made = chat().user(["One"]).answer("Two").compaction("<state_snapshot>All</state_snapshot>")
    expect(partsOf(made, 1)).toEqual([
      { kind: "boundary", trigger: "unknown", preTokens: undefined, postTokens: undefined, preserved: [] },
      { kind: "summary", text: "<state_snapshot>All</state_snapshot>", by: "Gemini CLI" },
    ])
  })

  test("an answer as old documents have it", () => {
    expect(message("model", { parts: [{ text: "Done" }] })).toEqual([{ kind: "text", text: "Done" }])
  })

  test("titles, errors, notices, and what holds nobody's words", () => {
    expect(decodeLine('{"$set":{"summary":"Kiln"}}').parts).toEqual([{ kind: "title", text: "Kiln" }])
    expect(message("error", { content: "429" })).toEqual([{ kind: "apiError", text: "429" }])
    expect(message("info", { content: [{ text: "Updated" }] })).toEqual([{ kind: "notice", text: "Updated" }])
    expect(message("warning", { content: "Slow" })).toEqual([{ kind: "notice", text: "Slow" }])
    expect(decodeLine('{"$rewindTo":"m1"}')).toMatchObject({ type: "$rewindTo", parts: [] })
    expect(decodeLine('{"$set":{"memoryScratchpad":{"x":1}}}')).toMatchObject({ type: "$set", parts: [] })
    expect(decodeLine('{"$set":{"directories":["/q"]}}').cwd).toBe("/q")
  })
})

test("tools", () => {
  expect(toolFiles("replace", { file_path: "/p/a" })).toEqual([{ path: "/p/a", op: "edit" }])
  expect(toolFiles("read_file", { absolute_path: "/p/a" })).toEqual([{ path: "/p/a", op: "read" }])
  expect(replacedTexts("replace", { old_string: "x", new_string: "y" })).toEqual([
    { before: "x", after: "y" },
  ])
  expect(todosOf("write_todos", { todos: [{ description: "Mend", status: "in_progress" }] })).toEqual([
    { content: "Mend", status: "in_progress" },
  ])
  expect(toolTarget("invoke_agent", { agent_name: "generalist", prompt: "Look" })).toBe("Look")
  expect(["google_web_search", "activate_skill", "write_todos"].map(toolKind)).toEqual([
    "fetch",
    "skill",
    "todo",
  ])
})

describe("in the views", () => {
  const made = (archive: Archive, agent?: string): GeminiChat => {
    const options = { home: archive.root, session: ID, cwd: join(archive.root, "p") }
    if (agent === undefined) return fullChat(options)
    return new GeminiChat({ ...options, agent }).user(["Look. Never touch it."]).answer("It is stuck.")
  }
  const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

  test("turns, calls, files, tokens and boundary, each once, whatever is written again", () => {
    using archive = new Archive()
    archive.follow(made(archive).flush())
    expect(rows(archive, "SELECT seq, via, prompt, answer, tools, errors FROM turns ORDER BY seq")).toEqual([
      [1, "typed", "Why does the kiln overheat in autumn?", "The valve of the kiln was stuck.", 3, 1],
      [2, "typed", "Paint it ultramarine.", "Painted.", 1, 0],
    ])
    expect(rows(archive, "SELECT name, is_error, exit_code FROM tool_calls ORDER BY use")).toEqual([
      ["read_file", 0, null],
      ["replace", 0, null],
      ["run_shell_command", 1, 1],
      ["run_shell_command", 0, null],
    ])
    expect(rows(archive, "SELECT op FROM files WHERE op <> 'command' ORDER BY op")).toEqual([
      ["edit"],
      ["read"],
    ])
    expect(rows(archive, "SELECT count(*), sum(input), sum(cache_read), sum(output) FROM usage")).toEqual([
      [6, 3600, 2400, 150],
    ])
    expect(archive.count("boundaries")).toBe(1)
    expect(archive.count("messages WHERE role = 'human'")).toBe(2)
    expect(rows(archive, "SELECT DISTINCT origin FROM messages WHERE role = 'tool'")).toEqual([["tool"]])
    expect(rows(archive, "SELECT id, program, parent FROM sessions")).toEqual([[ID, "gemini", null]])
    expect(rows(archive, "SELECT path FROM projects")).toEqual([[join(archive.root, "p")]])
  })

  test("a subagent's belongs to its session, and no human speaks there", () => {
    using archive = new Archive()
    archive.follow(made(archive).flush())
    archive.follow(made(archive, AGENT).flush())
    expect(rows(archive, "SELECT id, parent FROM sessions WHERE parent IS NOT NULL")).toEqual([
      [`${ID}/${AGENT}`, ID],
    ])
    expect(rows(archive, "SELECT via, origin FROM turns WHERE session LIKE '%/%'")).toEqual([
      ["brief", "assistant"],
    ])
    expect(archive.count("notes WHERE kind = 'constraint'")).toBe(0)
    expect(sourcesOf(archive.dataHome, (id) => id === ID).map(({ session }) => session)).toEqual([
      ID,
      `${ID}/${AGENT}`,
    ])
  })

  test("a beginning, and then the whole, are as if all had been taken at once", () => {
    expectBeginningsAsWhole(made)
  })

  test("sessions of an excluded folder are left out, and subagents' of theirs", () => {
    using archive = new Archive()
    for (const { path } of [made(archive).flush(), made(archive, AGENT).flush()]) {
      expect(isExcluded({ home: archive.root, exclude: [join(archive.root, "p")] }, path)).toBe(true)
      expect(isExcluded({ home: archive.root, exclude: ["/elsewhere"] }, path)).toBe(false)
    }
  })
})

const samples = join(SHARED, "samples/agents/gemini-cli")

test.skipIf(!existsSync(samples))(
  "every line of real sessions is decoded (needs samples beside the checkout)",
  () => {
    for (const name of readdirSync(samples).filter((one) => one.endsWith(".jsonl"))) {
      const lines = readFileSync(join(samples, name), "utf8").split("\n").filter(Boolean)
      const all = lines.flatMap((line) => recordsIn(Buffer.from(line)))
      for (const { record } of all) {
        expect(record.program).toBe("gemini")
        expect(record.type).not.toMatch(/^(?:malformed|unknown)/)
      }
      const kinds = new Set(all.flatMap(({ record }) => record.parts.map(({ kind }) => kind)))
      expect([...kinds]).toContain("prompt")
      expect([...kinds]).toContain("text")
    }
  },
)
