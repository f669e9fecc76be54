import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { decodeLine } from "../../../src/agents/agents.ts"
import { cursor } from "../../../src/agents/cursor/cursor.ts"
import { isTranscriptFile, parentTranscript, transcriptName } from "../../../src/agents/layouts.ts"
import { replacedTexts, toolFiles, toolKind } from "../../../src/agents/tool-kinds.ts"
import { vaultPath } from "../../../src/vault/layout.ts"
import { Archive } from "../../support/archive.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const SUB = "0a1b2c3d-0000-4000-8000-000000000002"
const line = (role: string, ...content: object[]): string => JSON.stringify({ role, message: { content } })
const text = (said: string) => ({ type: "text", text: said })
const call = (name: string, input: object) => ({ type: "tool_use", name, input })

test.each([
  [`${ID}.jsonl`, { session: ID, agent: undefined }, `${ID}.jsonl`],
  [`${ID}/${ID}.jsonl`, { session: ID, agent: undefined }, `${ID}.jsonl`],
  [`${ID}/${SUB}.jsonl`, { session: ID, agent: SUB }, `${ID}/subagents/agent-${SUB}.jsonl`],
  [`${ID}/subagents/${SUB}.jsonl`, { session: ID, agent: SUB }, `${ID}/subagents/agent-${SUB}.jsonl`],
])("places and copies: %s", (name, session, copy) => {
  const path = `/h/.cursor/projects/p/agent-transcripts/${name}`
  expect(transcriptName(path)).toEqual(session)
  expect(vaultPath(path, "/h")).toBe(`cursor/home/${copy}.zst`)
  expect(isTranscriptFile(path)).toBe(true)
})

test("what is no transcript, and a subagent's parent", () => {
  expect(isTranscriptFile("/h/.cursor/projects/p/terminals/1.jsonl")).toBe(false)
  const folder = `/h/.cursor/projects/p/agent-transcripts/${ID}`
  expect(parentTranscript(`${folder}/subagents/${SUB}.jsonl`)).toBe(`${folder}/${ID}.jsonl`)
  const named = (name: string) => (name === "CURSOR_CONFIG_DIR" ? "/c" : undefined)
  expect(cursor.transcripts({ home: "/h", claudeDir: "/x", named })).toEqual(["/c/projects"])
})

test("a prompt, and its time", () => {
  const told =
    "<timestamp>Sunday, Jul 26, 2026, 1:06 PM (UTC+3)</timestamp>\n<user_query>\nMend it\n</user_query>"
  expect(decodeLine(line("user", text(told)))).toMatchObject({
    program: "cursor",
    timestamp: "2026-07-26T10:06:00.000Z",
    parts: [{ kind: "prompt", via: "typed", text: "Mend it" }],
  })
  expect(decodeLine(line("user", text("<user_info>x</user_info>Mend it")))).toMatchObject({
    timestamp: undefined,
    parts: [{ text: "Mend it" }],
  })
})

test("a prompt that quotes the tags of others", () => {
  const said = (told: string) => decodeLine(line("user", text(told))).parts
  const quoted = "Why is </user_query> or <timestamp>now</timestamp> shown here?"
  expect(said(`<user_query>${quoted}</user_query>`)).toMatchObject([{ text: quoted }])
  const about = "Why is <user_info>x</user_info> shown?"
  const told = `<user_info>y</user_info>\n${about}\n<attached_files>z</attached_files>\n`
  expect(said(told)).toMatchObject([{ text: about }])
})

test("answers and calls, each with an id of its own", () => {
  const { parts } = decodeLine(
    line("assistant", text("Done"), call("Shell", { command: "ls" }), call("Shell", { command: "ls" })),
  )
  expect(parts).toMatchObject([{ kind: "text", text: "Done" }, { name: "Shell" }, { name: "Shell" }])
  expect(new Set(parts.flatMap((part) => ("id" in part ? part.id : []))).size).toBe(2)
  const [write] = decodeLine(line("assistant", call("Write", { path: "/p/a", contents: "x" }))).parts
  expect(write).toMatchObject({ input: { path: "/p/a", content: "x" } })
})

test("what it notes besides", () => {
  expect(decodeLine('{"type":"turn_ended"}')).toMatchObject({
    program: "cursor",
    type: "turn_ended",
    parts: [],
  })
  expect(cursor.wrote('{"role":"user","content":"x"}')).toBe(false)
})

test("tools", () => {
  expect(toolKind("Shell")).toBe("run")
  expect(toolFiles("StrReplace", { path: "/p/a" })).toEqual([{ path: "/p/a", op: "edit" }])
  expect(replacedTexts("StrReplace", { path: "/p/a", old_string: "x", new_string: "y" })).toEqual([
    { before: "x", after: "y" },
  ])
})

test("in the views", () => {
  using archive = new Archive()
  const path = join(archive.root, ".cursor/projects/p/agent-transcripts", `${ID}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  const lines = [
    line("user", text("Why does it overheat?")),
    line("assistant", call("Shell", { command: "ls" })),
    line("assistant", text("The valve.")),
  ]
  writeFileSync(path, `${[...lines, ...lines].join("\n")}\n`)
  archive.follow({ path })
  expect(archive.db.query("SELECT prompt, answer, tools FROM turns").values()).toEqual([
    ["Why does it overheat?", "The valve.", 1],
    ["Why does it overheat?", "The valve.", 1],
  ])
  expect(archive.db.query("SELECT id, program FROM sessions").values()).toEqual([[ID, "cursor"]])
})
