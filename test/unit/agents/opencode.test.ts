import { describe, expect, test } from "bun:test"
import { decodeLine, holdsRecord, isNamedAsTranscript, mediaOfLine } from "../../../src/agents/agents.ts"
import { transcriptName } from "../../../src/agents/layouts.ts"
import { opencode } from "../../../src/agents/opencode/opencode.ts"
import {
  messagePieces,
  pieceIn,
  pieceLine,
  sessionPiece,
  sha256Hex,
} from "../../../src/agents/opencode/opencode-lines.ts"
import { opencodeTranscript } from "../../../src/agents/opencode/opencode-places.ts"
import { exitCode, replacedTexts, todosOf, toolFiles, toolTarget } from "../../../src/agents/tool-kinds.ts"
import { MARK } from "../../../src/record/our-marks.ts"
import type { Part, TranscriptRecord } from "../../../src/record/types.ts"
import { isAgentsCopy, vaultPath } from "../../../src/vault/layout.ts"
import { called, said, TOKENS } from "../../support/opencode-store.ts"

const SESSION = "ses_0001synthetic"

/** The records of one message with these parts. */
function recordsOf(parts: readonly object[], message: object = {}): TranscriptRecord[] {
  const data = {
    role: "assistant",
    modelID: "m1",
    time: { created: 1_777_888_000_000, completed: 1_777_888_009_000 },
  }
  const rows = parts.map((part, n) => ({ id: `prt_${n}`, data: JSON.stringify(part) }))
  const row = { id: "msg_1", time_created: 1_777_888_000_000, data: JSON.stringify({ ...data, ...message }) }
  return messagePieces(SESSION, { row, parts: rows }, true).pieces.map((piece) =>
    decodeLine(pieceLine(piece)),
  )
}
const partsOf = (parts: readonly object[], message: object = {}): Part[] =>
  recordsOf(parts, message).flatMap((record) => [...record.parts])
const user = (...parts: object[]): Part[] => partsOf(parts, { role: "user" })

describe("files", () => {
  const path = opencodeTranscript("/h/.local/share/opencode", SESSION)

  test("a session has a path, although it is no file, and a copy", () => {
    expect(transcriptName(path)).toEqual({ session: SESSION, agent: undefined })
    expect(isNamedAsTranscript(path)).toBe(true)
    expect(vaultPath(path, "/h")).toBe(`opencode/home/${SESSION}.jsonl.zst`)
    expect(vaultPath(opencodeTranscript("/x/opencode", SESSION), "/h")).toMatch(
      /^opencode\/root-[\da-f]{8}\//,
    )
    expect(isAgentsCopy(vaultPath(path, "/h"), "opencode")).toBe(true)
    expect(isNamedAsTranscript(`/backup/opencode/${SESSION}.jsonl`)).toBe(false)
  })

  test("XDG_DATA_HOME moves its folder", () => {
    const places = { home: "/h", claudeDir: "/c", named: () => undefined }
    expect(opencode.transcripts(places)).toEqual(["/h/.local/share/opencode"])
    const moved = { ...places, named: (name: string) => (name === "XDG_DATA_HOME" ? "/d" : undefined) }
    expect(opencode.transcripts(moved)).toEqual(["/d/opencode"])
  })
})

describe("lines", () => {
  const row = { id: "msg_1", time_created: 1, data: '{"role":"user","time":{"created":1}}' }

  test("the same rows make the same bytes, however their fields are ordered", () => {
    const line = (data: string): string =>
      messagePieces(SESSION, { row, parts: [{ id: "prt_1", data }] }, true)
        .pieces.map((piece) => pieceLine(piece))
        .join("")
    expect(line('{"type":"text","text":"a","metadata":{"y":1,"x":2}}')).toBe(
      line('{"metadata":{"x":2,"y":1},"text":"a","type":"text"}'),
    )
  })

  test("a line says which row it is of, and its SHA-256", () => {
    const piece = sessionPiece({
      id: SESSION,
      directory: "/p",
      title: "Kiln",
      time_created: 1000,
      time_updated: 2000,
    })
    for (const isAgain of [false, true]) {
      const found = pieceIn(pieceLine(piece, isAgain ? piece : undefined).trimEnd())!
      expect(found).toMatchObject({ row: "session", sha256: sha256Hex(found.body), body: piece.body })
    }
    expect(pieceIn('{"type":"user"}')).toBeUndefined()
    // What opencode counts with each step makes no further line.
    expect(
      sessionPiece({
        id: SESSION,
        directory: "/p",
        title: "Kiln",
        time_created: 1000,
        time_updated: 3000,
        cost: 1,
        tokens_input: 7,
      }),
    ).toEqual(piece)
  })

  test("what is still being written waits, and what follows with it", () => {
    const of = (parts: object[], isOver = false) => {
      const rows = parts.map((part, n) => ({ id: `prt_${n}`, data: JSON.stringify(part) }))
      const message = { ...row, data: '{"role":"assistant","time":{"created":1}}' }
      const { pieces, isOpen } = messagePieces(SESSION, { row: message, parts: rows }, isOver)
      return { rows: pieces.map((piece) => piece.row), isOpen }
    }
    const streaming = { type: "text", text: "Half a", time: { start: 1 } }
    const running = { type: "tool", tool: "bash", state: { status: "running", input: { command: "ls" } } }
    expect(of([streaming, said("b")])).toEqual({ rows: [], isOpen: true })
    // The call is whole before its result.
    expect(of([said("a"), running, said("b")])).toEqual({ rows: ["prt_0", "prt_1"], isOpen: true })
    expect(of([said("a")])).toEqual({ rows: ["prt_0"], isOpen: true })
    // Nobody writes it any more.
    expect(of([streaming, running], true)).toEqual({ rows: ["prt_0", "prt_1", "msg_1"], isOpen: false })
    expect(messagePieces(SESSION, { row, parts: [] }, false)).toEqual({ pieces: [], isOpen: true })
  })

  test("an output that opencode no longer sends is the same line, and a short one more", () => {
    const rows = (more: object) => {
      const part = called("bash", { command: "ls" }, "a.txt")
      const state = { ...part.state, time: { ...part.state.time, ...more } }
      const parts = [{ id: "prt_1", data: JSON.stringify({ ...part, state }) }]
      return messagePieces(SESSION, { row, parts }, true).pieces.slice(0, -1)
    }
    const before = rows({})
    const after = rows({ compacted: 1_777_888_100_000 })
    expect(after.slice(0, 2)).toEqual(before)
    expect(decodeLine(pieceLine(after[2]!))).toMatchObject({ type: "cleared", parts: [] })
  })

  test("what user's words have changed in files is counted apart from them", () => {
    const data = { role: "user", time: { created: 1 } }
    const of = (message: object) =>
      messagePieces(SESSION, { row: { ...row, data: JSON.stringify(message) }, parts: [] }, true).pieces
    const [before] = of(data)
    expect(of({ ...data, summary: { diffs: [] } })).toMatchObject([before!, { kind: "diffs" }])
  })
})

describe("records", () => {
  test("a session: id, folder, version, title, and who has started it", () => {
    const row = {
      id: SESSION,
      directory: "/p",
      version: "1.18.33",
      title: "Kiln",
      time_created: 1_777_888_000_000,
    }
    const of = (more: object) => decodeLine(pieceLine(sessionPiece({ ...row, ...more })))
    expect(of({})).toMatchObject({
      type: "session",
      program: "opencode",
      sessionId: SESSION,
      cwd: "/p",
      version: "1.18.33",
      timestamp: new Date(1_777_888_000_000).toISOString(),
      parts: [{ kind: "title", text: "Kiln" }],
    })
    expect(of({}).spawned).toBeUndefined()
    expect(of({ title: "New session - 2026-05-04T10:00:00.000Z" }).parts).toEqual([])
    expect(of({ parent_id: "ses_p", agent: "general" }).spawned).toEqual({ parent: "ses_p", name: "general" })
    // As files of older versions name it.
    expect(of({ parentID: "ses_p" }).spawned).toEqual({ parent: "ses_p", name: "subagent" })
  })

  test("a summary of another session's in a prompt is none of the human's words", () => {
    const ours = `${MARK}"handoff" session="x">\n- Mind the boiler\n</ctxbridge-restore>`
    expect(user({ type: "text", text: `Continue it.\n\n${ours}` })).toEqual([
      { kind: "prompt", via: "typed", text: "Continue it." },
      { kind: "context", source: "handoff", text: ours },
    ])
  })

  test("a prompt is what the human typed, and nothing that opencode says in their place", () => {
    expect(user({ type: "text", text: "Mend it" })).toEqual([
      { kind: "prompt", via: "typed", text: "Mend it" },
    ])
    expect(user({ type: "text", text: "Called the Read tool", synthetic: true })).toEqual([
      { kind: "context", source: "opencode", text: "Called the Read tool" },
    ])
    expect(user({ type: "text", text: "Not sent", ignored: true })).toMatchObject([{ kind: "context" }])
    expect(
      user({ type: "text", text: "Continue", synthetic: true, metadata: { compaction_continue: true } }),
    ).toEqual([{ kind: "notice", text: "Continue" }])
    expect(user({ type: "subtask", command: "review", prompt: "Review it", agent: "general" })).toEqual([
      { kind: "prompt", via: "command", text: "/review Review it" },
    ])
    expect(user({ type: "text", text: "  " }, { type: "agent", name: "general" })).toEqual([])
  })

  test("what we have given is context, and nobody's words", () => {
    const given = `${MARK}"compact">\nkept\n</ctxbridge-restore>`
    const context = { kind: "context", source: "hook", text: given } as const
    expect(user({ type: "text", text: given })).toEqual([context])
    expect(partsOf([said(`Handover\n\n${given}`)], { summary: true, mode: "compaction" })).toEqual([
      { kind: "summary", text: "Handover", by: "opencode" },
      context,
    ])
    expect(partsOf([said(`Done\n\n${given}`)])).toEqual([{ kind: "text", text: "Done" }, context])
  })

  test("answers, thoughts, files", () => {
    expect(partsOf([said("Done"), { type: "reasoning", text: "Hm", time: { start: 1, end: 2 } }])).toEqual([
      { kind: "text", text: "Done" },
      { kind: "thinking", text: "Hm" },
    ])
    const image = { type: "file", mime: "image/png", url: "data:image/png;base64,QUJD" }
    expect(user(image)).toEqual([{ kind: "media", mediaType: "image/png", base64Length: 4 }])
    expect(user({ type: "file", mime: "text/plain", url: "file:///p/a.txt" })).toEqual([])
    const row = { id: "msg_1", data: '{"role":"user"}' }
    const parts = [{ id: "prt_1", data: JSON.stringify(image) }]
    expect(mediaOfLine(pieceLine(messagePieces(SESSION, { row, parts }, true).pieces[0]!))).toEqual(["QUJD"])
  })

  test("calls and results are apart, named by what a fork keeps of them, with fields as everywhere", () => {
    const edit = called("edit", { filePath: "/p/a.ts", oldString: "a", newString: "b" }, "Edited.")
    expect(recordsOf([edit]).map(({ type, uuid, parts }) => ({ type, uuid, parts }))).toEqual([
      {
        type: "call",
        uuid: "call 1777888000000 call_1 edit",
        parts: [
          {
            kind: "toolUse",
            id: "1777888000000 call_1 edit",
            name: "edit",
            input: { file_path: "/p/a.ts", new_string: "b", old_string: "a" },
          },
        ],
      },
      {
        type: "result",
        uuid: "result 1777888000000 call_1 edit",
        parts: [{ kind: "toolResult", id: "1777888000000 call_1 edit", text: "Edited.", isError: false }],
      },
      { type: "message", uuid: "opencode 1777888000000 message", parts: [] },
    ])
    // What lacks these is named by its row.
    const { callID: _, ...nameless } = edit
    expect(recordsOf([nameless])[1]!.parts).toMatchObject([{ kind: "toolResult", id: "prt_0" }])
    expect(recordsOf([said("a")], { time: {} })[0]!.uuid).toBe("prt_0")
  })

  test("a failed command has its exit status, and a failed call its error", () => {
    const [, failed] = partsOf([called("bash", { command: "npm test" }, "boom", { exit: 2 })])
    expect(failed).toMatchObject({ text: "Exit code 2\nboom", isError: true })
    expect(exitCode(true, (failed as { text: string }).text)).toBe(2)
    const state = { status: "error", input: { filePath: "/x" }, error: "File not found: /x" }
    expect(partsOf([{ type: "tool", tool: "read", state }])[1]).toMatchObject({
      text: "File not found: /x",
      isError: true,
    })
    const shot = called("screen_shot", {}, "taken")
    const attachments = [{ type: "file", url: "data:image/png;base64,QUJD" }]
    expect(partsOf([{ ...shot, state: { ...shot.state, attachments } }]).slice(1)).toEqual([
      { kind: "toolResult", id: "1777888000000 call_1 screen_shot", text: "taken", isError: false },
      { kind: "media", mediaType: "image/png", base64Length: 4 },
    ])
  })

  test.each([
    ["ctxbridge_search", "mcp__ctxbridge__search"],
    ["github_create_issue", "mcp__github__create_issue"],
    ["weather", "mcp__plugin__weather"],
    ["webfetch", "webfetch"],
  ])("the tool %s is called %s", (tool, name) => {
    expect(partsOf([called(tool, {}, "x")])[0]).toMatchObject({ kind: "toolUse", name })
  })

  test("a compaction is a boundary and a summary", () => {
    expect(user({ type: "compaction", auto: true, overflow: false })).toMatchObject([
      { kind: "boundary", trigger: "auto" },
    ])
    expect(user({ type: "compaction", auto: false })).toMatchObject([{ trigger: "manual" }])
    expect(partsOf([said("Handover")], { summary: true })).toEqual([
      { kind: "summary", text: "Handover", by: "opencode" },
    ])
  })

  test("tokens of each step, or of the message where no steps are told", () => {
    const counts = { model: "m1", input: 600, output: 150, cacheRead: 1400, cacheCreation: 0 }
    const usages = (parts: object[], message: object = {}) =>
      recordsOf(parts, message).flatMap(({ usage }) => usage ?? [])
    const step = { type: "step-finish", tokens: TOKENS }
    expect(usages([step], { tokens: TOKENS })).toMatchObject([counts])
    expect(usages([step, step], { tokens: TOKENS })).toMatchObject([counts, counts])
    expect(usages([], { tokens: TOKENS })).toMatchObject([counts])
    expect(usages([], { role: "user", tokens: TOKENS })).toEqual([])
    expect(usages([{ type: "step-finish", tokens: { input: 0 } }])).toEqual([])
  })

  test("what went wrong", () => {
    const error = (name: string) => ({ error: { name, data: { message: "why" } } })
    expect(partsOf([], error("MessageAbortedError"))).toEqual([{ kind: "interrupt", text: "why" }])
    expect(partsOf([], error("APIError"))).toEqual([{ kind: "apiError", text: "why" }])
    expect(partsOf([{ type: "retry", attempt: 1, ...error("APIError") }])).toEqual([
      { kind: "apiError", text: "why" },
    ])
  })

  test.each(["step-start", "snapshot", "patch", "something-new"])("%s says nothing, and is kept", (type) => {
    const [record] = recordsOf([{ type, hash: "x" }])
    expect(record).toMatchObject({ type: `part/${type}`, parts: [] })
  })

  test("a line that tells what has become of one says nothing again", () => {
    const row = { id: "msg_1", data: '{"role":"user"}' }
    const parts = [{ id: "prt_1", data: '{"type":"text","text":"Mend it"}' }]
    const [piece] = messagePieces(SESSION, { row, parts }, true).pieces
    expect(decodeLine(pieceLine(piece!, piece)).parts).toEqual([])
    expect(holdsRecord(Buffer.from(pieceLine(piece!)))).toBe(true)
    expect(opencode.decode('{"opencode":').type).toBe("malformed")
    expect(opencode.wrote('{"type":"user","opencode":"x"}')).toBe(false)
  })
})

describe("tools", () => {
  test("targets, files, changes and todos", () => {
    expect(toolFiles("read", { file_path: "/p/a.ts" })).toEqual([{ path: "/p/a.ts", op: "read" }])
    expect(toolFiles("write", { file_path: "/p/a.ts", content: "x" })).toEqual([
      { path: "/p/a.ts", op: "write" },
    ])
    expect(replacedTexts("edit", { file_path: "/p/a.ts", old_string: "a", new_string: "b" })).toEqual([
      { before: "a", after: "b" },
    ])
    expect(toolTarget("bash", { command: "ls" })).toBe("ls")
    expect(toolTarget("todowrite", { todos: [{ content: "a" }] })).toBe("1 todos")
    expect(
      todosOf("todowrite", { todos: [{ content: "a", status: "completed" }, { content: "b" }] }),
    ).toEqual([
      { content: "a", status: "completed" },
      { content: "b", status: "pending" },
    ])
    const [patched] = partsOf([
      called("apply_patch", { patchText: "*** Begin Patch\n*** Add File: c.ts\n+one\n*** End Patch" }, "ok"),
    ])
    expect(toolFiles("apply_patch", (patched as { input: unknown }).input)).toEqual([
      { path: "c.ts", op: "write" },
    ])
  })
})
