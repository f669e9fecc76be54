import { describe, expect, test } from "bun:test"
import { QWEN_INSTALLER } from "../../../src/agents/install/qwen-install.ts"
import { QWEN_HOOKS } from "../../../src/agents/qwen/qwen-hooks.ts"
import { resolvePlaces } from "../../../src/config/load.ts"
import type { HookEvent } from "../../../src/record/hook-event.ts"
import { QwenChat } from "../../support/qwen-chat.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const PLACES = { home: "/h", claudeDir: "/c", named: () => undefined }
const document = (fields: object) => ({
  session_id: ID,
  transcript_path: `/h/.qwen/projects/-p/chats/${ID}.jsonl`,
  cwd: "/p",
  ...fields,
})
const decode = (name: HookEvent["name"], fields: object) => QWEN_HOOKS.decode(name, document(fields), PLACES)
const chat = (): QwenChat => new QwenChat({ folder: "/h/.qwen", session: ID, cwd: "/p" })
const bytes = (made: QwenChat): Buffer => Buffer.from(made.lines.join(""))

describe("what it tells", () => {
  test("a prompt, as it was submitted", () => {
    expect(
      decode("user-prompt-submit", { prompt: "Mend it, expanded", submitted_prompt: "Mend it" }),
    ).toMatchObject({
      agent: "qwen",
      session: ID,
      cwd: "/p",
      prompt: "Mend it",
      isHuman: true,
      isSubagents: false,
    })
  })

  test.each([
    ["user-prompt-submit", { prompt: "" }],
    ["session-start", { source: "compact" }],
    ["post-tool-use", { agent_id: "explore-call_1" }],
    ["pre-compact", { agent_id: "explore-call_1", trigger: "auto" }],
  ] as const)("%s with %o is none for us", (name, fields) => {
    expect(decode(name, fields)).toBeUndefined()
  })

  test("a start, a tool, a subagent's end", () => {
    expect(decode("session-start", { source: "startup" })).toMatchObject({ source: "startup" })
    expect(decode("post-tool-use", { tool_name: "read_file" })).toMatchObject({
      name: "post-tool-use",
      isHuman: false,
    })
    const agentTranscript = `/h/.qwen/projects/-p/subagents/${ID}/agent-x.jsonl`
    expect(
      decode("subagent-stop", {
        agent_id: "x",
        agent_type: "explore",
        agent_transcript_path: agentTranscript,
      }),
    ).toMatchObject({ agentType: "explore", agentTranscript })
    expect(QWEN_HOOKS.decode("stop", {}, PLACES)).toBeUndefined()
  })
})

test("what it takes", () => {
  const said = (name: HookEvent["name"], text: string): string =>
    QWEN_HOOKS.encode({ name } as HookEvent, { text, note: "" })
  for (const [name, hookEventName] of [
    ["session-start", "SessionStart"],
    ["user-prompt-submit", "UserPromptSubmit"],
    ["post-tool-use", "PostToolUse"],
  ] as const)
    expect(JSON.parse(said(name, "x"))).toEqual({
      hookSpecificOutput: { hookEventName, additionalContext: "x" },
    })
  expect([said("pre-compact", "x"), said("stop", "x"), said("post-tool-use", "")]).toEqual(["", "", ""])
})

test("where a session was compacted, its summary, and whether the model has spoken since", () => {
  const { compactionOffsets, other } = QWEN_HOOKS
  const made = chat().user(['Tell me of "chat_compression"'])
  const before = bytes(made).length
  made.compaction("<state_snapshot>One</state_snapshot>")
  expect(compactionOffsets(bytes(made))).toEqual([before])
  expect(other!.summaryIn(bytes(made))).toBe("<state_snapshot>One</state_snapshot>")
  expect(other!.hasAnswer(bytes(made))).toBe(false)
  expect(other!.hasAnswer(bytes(made.answer("x")))).toBe(true)
  expect(other!.summaryIn(bytes(chat().answer("x")))).toBe("")
})

test("whether it starts our server", () => {
  const starts = (text: string | undefined) =>
    QWEN_HOOKS.other!.startsServer(PLACES, (file) => (file === "/h/.qwen/settings.json" ? text : undefined))
  expect(starts('{"mcpServers":{"ctxbridge":{"command":"/bin/ctxbridge","args":["mcp"]}}}')).toBe(true)
  expect([starts(undefined), starts("{}"), starts("x")]).toEqual([false, false, false])
})

describe("on Windows, our commands", () => {
  const added = (exePath: string, before?: string) =>
    QWEN_INSTALLER.files(resolvePlaces({ HOME: "/home/dev" }), exePath)[0]!.add(before)
  const stopIn = (text: string) => JSON.parse(text).hooks.Stop[0].hooks[0]
  const PLAIN = "C:/Users/dev/.local/bin/ctxbridge.exe"

  test.each([
    [PLAIN, PLAIN],
    ["C:/Users/Jo Doe/bin/ctxbridge.exe", "& 'C:/Users/Jo Doe/bin/ctxbridge.exe'"],
    ["C:/Users/Jo O'Doe (x86)/ctxbridge.exe", "& 'C:/Users/Jo O''Doe (x86)/ctxbridge.exe'"],
    ["//server/a share/ctxbridge.exe", "& '//server/a share/ctxbridge.exe'"],
  ])("%s is called as PowerShell reads it, and by it if it needs quotation marks", (exePath, program) => {
    const { text } = added(exePath)
    const { command, shell } = stopIn(text)
    expect(command).toBe(`${program} hook stop qwen`)
    expect(shell).toBe(program === PLAIN ? undefined : "powershell")
    // Known again as ours: nothing is added, and all goes.
    expect(added(exePath, text)).toEqual({ text, added: [], replaced: [] })
    const [hooks] = QWEN_INSTALLER.files(resolvePlaces({ HOME: "/home/dev" }), exePath)
    expect(hooks!.remove(text).text).not.toContain("ctxbridge")
  })

  test("one that no shell there could run is mended", () => {
    const exePath = "C:/Users/Jo Doe/ctxbridge.exe"
    const { text } = added(exePath)
    const { command, shell: _told, ...rest } = stopIn(text)
    const former = { ...rest, command: command.replace("& ", "") }
    const before = JSON.stringify({ hooks: { Stop: [{ hooks: [former] }] } })
    const mended = added(exePath, before)
    expect(mended.replaced).toEqual(["Stop"])
    expect(JSON.parse(mended.text).hooks.Stop).toEqual(JSON.parse(text).hooks.Stop)
  })
})
