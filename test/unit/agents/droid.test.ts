import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { decodeLine, mediaOfLine } from "../../../src/agents/agents.ts"
import { droid } from "../../../src/agents/droid/droid.ts"
import { transcriptName } from "../../../src/agents/layouts.ts"
import { toolFiles, toolKind } from "../../../src/agents/tool-kinds.ts"
import { vaultPath } from "../../../src/vault/layout.ts"
import { Archive } from "../../support/archive.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const line = (type: string, fields: object): string =>
  JSON.stringify({ type, timestamp: "2026-03-04T05:06:07.000Z", ...fields })
const message = (role: string, content: unknown, id = "m1"): string =>
  line("message", { id, parentId: "m0", message: { role, content } })

test("places and copies", () => {
  const path = `/h/.factory/sessions/-p/${ID}.jsonl`
  expect(transcriptName(path)).toEqual({ session: ID, agent: undefined })
  expect(vaultPath(path, "/h")).toBe(`droid/home/${ID}.jsonl.zst`)
  expect(droid.transcripts({ home: "/h", claudeDir: "/c", named: () => undefined })).toEqual([
    "/h/.factory/sessions",
    "/h/.factory/projects",
  ])
  expect(droid.isUntried).toBe(true)
})

test("a session's beginning, in both forms", () => {
  expect(
    decodeLine(line("session_start", { id: ID, title: "Kiln", cwd: "/p", version: "0.9" })),
  ).toMatchObject({
    program: "droid",
    sessionId: ID,
    cwd: "/p",
    version: "0.9",
    parts: [{ kind: "title", text: "Kiln" }],
  })
  expect(decodeLine(line("session_start", { session: { id: ID, workspace_root: "/p" } }))).toMatchObject({
    sessionId: ID,
    cwd: "/p",
    parts: [],
  })
})

test("messages", () => {
  const said = [{ type: "text", text: "<system-reminder>x</system-reminder>\nMend it" }]
  expect(decodeLine(message("user", said))).toMatchObject({
    type: "user",
    uuid: "m1",
    parentUuid: "m0",
    parts: [{ kind: "prompt", text: "Mend it" }],
  })
  const answer = [
    { type: "thinking", text: "Hm" },
    { type: "text", text: "Done" },
    { type: "tool_use", id: "c", name: "Execute", input: { command: "npm test" } },
  ]
  expect(decodeLine(message("assistant", answer)).parts.map(({ kind }) => kind)).toEqual([
    "thinking",
    "text",
    "toolUse",
  ])
  const image = [{ type: "image", source: { media_type: "image/png", data: "AAAA" } }]
  expect(mediaOfLine(message("user", image))).toEqual(["AAAA"])
})

test("compactions, and what holds nobody's words", () => {
  expect(
    decodeLine(line("compaction_state", { summary: { title: "So far", body: "The valve" } })).parts,
  ).toMatchObject([
    { kind: "boundary", trigger: "unknown" },
    { kind: "summary", text: "So far\nThe valve", by: "Factory droid" },
  ])
  expect(decodeLine(line("compaction_state", { summary: "The valve" })).parts).toHaveLength(2)
  expect(decodeLine(line("todo_state", { todos: [] }))).toMatchObject({ program: "droid", parts: [] })
  expect(decodeLine(line("session_end", {}))).toMatchObject({ program: "droid", parts: [] })
  expect(droid.wrote('{"type":"message","role":"user","content":"x"}')).toBe(false)
})

test("tools", () => {
  expect(toolKind("Execute")).toBe("run")
  expect(toolFiles("Create", { file_path: "/p/a" })).toEqual([{ path: "/p/a", op: "write" }])
})

test("in the views", () => {
  using archive = new Archive()
  const path = join(archive.root, ".factory/sessions/-p", `${ID}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  const lines = [
    line("session_start", { id: ID, title: "Kiln", cwd: join(archive.root, "p") }),
    message("user", [{ type: "text", text: "Why does the kiln overheat?" }], "a"),
    message(
      "assistant",
      [{ type: "tool_use", id: "c", name: "Execute", input: { command: "npm test" } }],
      "b",
    ),
    message("user", [{ type: "tool_result", tool_use_id: "c", content: "1 failed", is_error: true }], "c"),
    message("assistant", [{ type: "text", text: "The valve is stuck." }], "d"),
  ]
  writeFileSync(path, `${lines.join("\n")}\n`)
  archive.follow({ path })
  expect(archive.db.query("SELECT prompt, answer, tools, errors FROM turns").values()).toEqual([
    ["Why does the kiln overheat?", "The valve is stuck.", 1, 1],
  ])
  expect(archive.db.query("SELECT id, program, title FROM sessions").values()).toEqual([
    [ID, "droid", "Kiln"],
  ])
})
