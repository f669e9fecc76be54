import { expect, test } from "bun:test"
import { mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { decodeLine, documentLines, mediaOfLine } from "../../../src/agents/agents.ts"
import { cline } from "../../../src/agents/cline/cline.ts"
import { isDocument, isTranscriptFile, transcriptName } from "../../../src/agents/layouts.ts"
import { replacedTexts, toolFiles, toolKind } from "../../../src/agents/tool-kinds.ts"
import { takeDocument } from "../../../src/job/import/take-document.ts"
import { MARK } from "../../../src/record/our-marks.ts"
import { vaultPath } from "../../../src/vault/layout.ts"
import { index } from "../../../src/views/indexing.ts"
import { Archive } from "../../support/archive.ts"
import { namedViews } from "../../support/views.ts"

const SESSION = "/h/.cline/data/sessions/s1/s1.messages.json"
const EDITOR = ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
const TASK = `/h/${EDITOR}/tasks/1780000000000/api_conversation_history.json`
const text = (words: string) => ({ type: "text", text: words })

type Beside = Readonly<Record<string, unknown>>
const lines = (path: string, document: unknown, files: Beside = {}) =>
  documentLines(path, JSON.stringify(document), (name) =>
    name in files ? JSON.stringify(files[name]) : undefined,
  )
const records = (path: string, document: unknown, files: Beside = {}) =>
  lines(path, document, files).map((line) => decodeLine(JSON.stringify(line)))
/** Parts of a message in a session. */
const partsOf = (role: string, ...content: object[]) =>
  records(SESSION, { messages: [{ role, content }] })[1]!.parts

test("places and copies", () => {
  for (const path of [SESSION, TASK]) expect([isDocument(path), isTranscriptFile(path)]).toEqual([true, true])
  for (const name of ["s1.json", "s1.compaction.json", "other.messages.json", "hooks.jsonl"])
    expect(isTranscriptFile(`/h/.cline/data/sessions/s1/${name}`)).toBe(false)
  for (const other of [
    "tasks/1/ui_messages.json",
    "tasks/1/api_keys.json",
    "tasks/1/old/api_conversation_history.json",
  ])
    expect(isDocument(`/h/${EDITOR}/${other}`)).toBe(false)
  for (const name of ["settings/api_conversation_history.json", "cache/api_models.json"])
    expect(isDocument(`/h/${EDITOR}/${name}`)).toBe(false)
  expect(transcriptName(SESSION)).toEqual({ session: "s1", agent: undefined })
  expect(transcriptName(TASK)).toEqual({ session: "1780000000000", agent: undefined })
  expect(vaultPath(SESSION, "/h")).toBe("cline/home/s1.jsonl.zst")
  expect(vaultPath(TASK, "/h")).toMatch(/^cline\/(?!home).+\/1780000000000\.jsonl\.zst$/)
  const folders = (variables: Readonly<Record<string, string>>) =>
    cline.transcripts({ home: "/h", claudeDir: "/c", named: (name) => variables[name] })
  expect(folders({})).toEqual([
    "/h/.cline/data/sessions",
    `/h/${EDITOR}/tasks`,
    "/h/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "/h/AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
  ])
  expect(folders({ CLINE_DIR: "/d" })[0]).toBe("/d/data/sessions")
  expect(folders({ CLINE_DIR: "/d", CLINE_DATA_DIR: "/e" })[0]).toBe("/e/sessions")
  expect(folders({ CLINE_DIR: "/d", CLINE_DATA_DIR: "/e", CLINE_SESSION_DATA_DIR: "/f/s" })[0]).toBe("/f/s")
  expect(isDocument("/f/s/s1/s1.messages.json")).toBe(true)
  expect(cline.isUntried).toBe(true)
})

test("a session's beginning, messages and summary", () => {
  const messages = [
    { role: "user", content: "Why does the kiln overheat?", ts: 1_780_000_001_000 },
    { role: "assistant", content: [text("I look.")], ts: 1_780_000_002_000 },
    { role: "user", content: [text("Go on")], ts: 1_780_000_004_000 },
    { role: "other", content: [text("x")] },
  ]
  const manifest = { cwd: "/home/a b/p", started_at: "2026-05-28T20:26:40.000Z", metadata: { title: "Kiln" } }
  const summary = {
    role: "user",
    ts: 1_780_000_003_000,
    metadata: { kind: "compaction_summary", summary: "The fan" },
  }
  const files = { "s1.json": manifest, "s1.compaction.json": { messages: [summary] } }
  const [first, prompt, answer, compaction, next, other] = records(SESSION, { messages }, files)
  expect(first).toMatchObject({
    program: "cline",
    type: "session",
    sessionId: "s1",
    cwd: "/home/a b/p",
    timestamp: "2026-05-28T20:26:40.000Z",
    parts: [{ kind: "title", text: "Kiln" }],
  })
  expect(prompt).toMatchObject({
    type: "user",
    uuid: "s1-0",
    timestamp: "2026-05-28T20:26:41.000Z",
    parts: [{ kind: "prompt", text: "Why does the kiln overheat?" }],
  })
  expect(answer).toMatchObject({ type: "assistant", parts: [{ kind: "text", text: "I look." }] })
  expect(compaction!.parts).toMatchObject([
    { kind: "boundary", trigger: "unknown" },
    { kind: "summary", text: "The fan", by: "Cline" },
  ])
  expect(next!.parts).toMatchObject([{ kind: "prompt", text: "Go on" }])
  expect(other).toMatchObject({ program: "cline", type: "message", parts: [] })
  // A beginning and then the whole make the same lines, in the same order.
  const early = lines(SESSION, messages.slice(0, 2), { "s1.json": manifest })
  expect(lines(SESSION, { messages }, files).slice(0, 3)).toEqual(early)
  expect(records(SESSION, messages.slice(0, 1), files).at(-1)!.type).toBe("compaction")
})

test("a session without a manifest, and a summary without words", () => {
  const kept = { messages: [{ metadata: { kind: "compaction_summary" } }] }
  const [first, compaction] = records(SESSION, [], { "s1.compaction.json": kept })
  expect(first).toMatchObject({ sessionId: "s1", cwd: undefined, timestamp: undefined, parts: [] })
  expect(compaction!.parts).toMatchObject([{ kind: "boundary" }])
  expect(records(SESSION, [], { "s1.json": { workspace_root: "/w" } })[0]!.cwd).toBe("/w")
})

test("an editor's task: its folder and its beginning", () => {
  const details =
    "<environment_details>\n# Current Working Directory (/home/p) Files\na.ts\n</environment_details>"
  const [first, prompt] = records(TASK, [
    { role: "user", content: [text("<task>\nMend the kiln\n</task>"), text(details)] },
  ])
  expect(first).toMatchObject({
    sessionId: "1780000000000",
    cwd: "/home/p",
    timestamp: "2026-05-28T20:26:40.000Z",
  })
  expect(prompt!.parts).toEqual([{ kind: "prompt", via: "typed", text: "Mend the kiln" }])
})

test("only words of a human are prompts", () => {
  const said = (...content: object[]) =>
    partsOf("user", ...content).map((part) => (part.kind === "prompt" ? part.text : part.kind))
  expect(said(text('<user_input mode="act">Go</user_input>'))).toEqual(["Go"])
  expect(said(text("[read_file for 'a'] Result:"), text("its words"))).toEqual([])
  expect(said(text("[ask] Result:"), text("<answer>\nBlue\n</answer>"))).toEqual(["Blue"])
  expect(said(text("[ERROR] You did not use a tool"))).toEqual([])
  expect(said(text("# TODO LIST UPDATE REQUIRED"))).toEqual([])
  expect(said(text("# Mend\n[a] it"))).toEqual(["# Mend\n[a] it"])
  expect(said(text("Go <environment_details>x</environment_details>"))).toEqual(["Go"])
  expect(said(text(`${MARK} given`))).toEqual(["context"])
})

test("thoughts, calls and what they give back", () => {
  expect(
    partsOf(
      "assistant",
      { type: "thinking", thinking: "Hm" },
      {
        type: "tool_use",
        id: "a",
        name: "run_commands",
        input: { commands: ["npm test", { command: "ls" }] },
      },
      { type: "tool_use", id: "b", name: "editor", input: { path: "/a", old_text: "x", new_text: "y" } },
      { type: "tool_use", id: "c", name: "read_files", input: { files: [{ path: "/a" }, { path: "/b" }] } },
      { type: "tool_use", id: "d", name: "apply_patch", input: { input: "*** Begin Patch" } },
    ),
  ).toEqual([
    { kind: "thinking", text: "Hm" },
    { kind: "toolUse", id: "a", name: "run_commands", input: { command: "npm test\nls" } },
    { kind: "toolUse", id: "b", name: "editor", input: { path: "/a", old_string: "x", new_string: "y" } },
    { kind: "toolUse", id: "c", name: "read_files", input: { path: "/a", paths: ["/a", "/b"] } },
    { kind: "toolUse", id: "d", name: "apply_patch", input: { patch: "*** Begin Patch" } },
  ])
  const result = (content: unknown) => partsOf("user", { type: "tool_result", tool_use_id: "a", content })
  expect(result("ok")).toEqual([{ kind: "toolResult", id: "a", text: "ok", isError: false }])
  expect(result([{ query: "q", result: "one", success: true }])).toMatchObject([
    { text: "one", isError: false },
  ])
  expect(result([{ query: "q", error: "Command exited with code 2", success: false }])).toMatchObject([
    { text: "Exit code 2\nCommand exited with code 2", isError: true },
  ])
  expect(result([{ result: "", error: "gone", success: false }])).toMatchObject([{ isError: true }])
  expect(result("Command failed with exit code 3.\nno")).toMatchObject([{ isError: true }])
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } }
  expect(result([image])).toMatchObject([{ kind: "toolResult" }, { kind: "media", base64Length: 4 }])
  const [, line] = lines(SESSION, [{ role: "user", content: [image] }])
  expect(mediaOfLine(JSON.stringify(line))).toEqual(["QUJD"])
})

test("tools, and what is no session", () => {
  const paths = toolFiles("read_files", { path: "/a", paths: ["/a", "/b"] }).map(({ path }) => path)
  expect(paths).toEqual(["/a", "/b"])
  expect(toolFiles("read_files", { path: "/a" })).toEqual([{ path: "/a", op: "read" }])
  expect(toolFiles("write_to_file", { path: "/p/a" })).toEqual([{ path: "/p/a", op: "write" }])
  expect(toolFiles("read_file", { path: "/p/a" })).toEqual([{ path: "/p/a", op: "read" }])
  expect(replacedTexts("editor", { old_string: "x", new_string: "y" })).toEqual([{ before: "x", after: "y" }])
  expect([toolKind("run_commands"), toolKind("execute_command")]).toEqual(["run", "run"])
  expect(() => documentLines(SESSION, "{}", () => undefined)).toThrow()
  expect(cline.wrote('{"cline":"other"}')).toBe(false)
  expect(cline.decode("x").type).toBe("malformed")
})

/** Views of a session, written anew with ever more messages and taken each time. */
function viewsAfter(...lengths: readonly number[]): { views: string; turns: unknown[][] } {
  using archive = new Archive()
  const { db, dataHome, root } = archive
  const path = join(root, ".cline/data/sessions/s1/s1.messages.json")
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(join(dirname(path), "s1.json"), JSON.stringify({ session_id: "s1", cwd: join(root, "p") }))
  const call = { type: "tool_use", id: "a", name: "run_commands", input: { commands: ["npm test"] } }
  const messages = [
    { role: "user", content: "Why does the kiln overheat?" },
    { role: "assistant", content: [call] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "ok" }] },
    { role: "assistant", content: [text("The valve.")] },
    { role: "user", content: "Mend it" },
  ].map((message, n) => ({ ...message, ts: 1_780_000_000_000 + n * 1000 }))
  for (const length of lengths) {
    writeFileSync(path, JSON.stringify({ version: 1, messages: messages.slice(0, length) }))
    utimesSync(path, 1_800_000_000 + length, 1_800_000_000 + length)
    const taken = takeDocument({ dataHome, home: root }, path, { now: 0 })
    db.transaction(() => index(db, dataHome, taken, () => false)).immediate()
  }
  const turns = db.query("SELECT prompt, answer, tools FROM turns").values()
  expect(db.query("SELECT id, program FROM sessions").values()).toEqual([["s1", "cline"]])
  return { views: JSON.stringify(namedViews(db)).replaceAll(root, ""), turns }
}

test("in the views; a beginning and then the whole are as all at once", () => {
  const whole = viewsAfter(5)
  expect(whole.turns).toEqual([
    ["Why does the kiln overheat?", "The valve.", 1],
    ["Mend it", "", 0],
  ])
  for (const length of [1, 2, 3, 4]) expect(viewsAfter(length, 5).views).toEqual(whole.views)
})
