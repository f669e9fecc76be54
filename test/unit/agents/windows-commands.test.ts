/** Commands of hooks on Windows, where agents run them in PowerShell. */
import { describe, expect, test } from "bun:test"
import { COPILOT_INSTALLER } from "../../../src/agents/install/copilot-install.ts"
import { QWEN_INSTALLER } from "../../../src/agents/install/qwen-install.ts"
import { resolvePlaces } from "../../../src/config/load.ts"

const PLAIN = "C:/Users/dev/.local/bin/ctxbridge.exe"

describe.each([
  // Qwen Code takes another shell unless it is told.
  ["qwen", QWEN_INSTALLER, "Stop", "powershell"],
  ["copilot", COPILOT_INSTALLER, "agentStop", undefined],
] as const)("%s", (agent, installer, event, named) => {
  const hooksOf = (exePath: string) => installer.files(resolvePlaces({ HOME: "/home/dev" }), exePath)[0]!
  const added = (exePath: string, before?: string) => hooksOf(exePath).add(before)
  const stopIn = (text: string) => JSON.parse(text).hooks[event][0].hooks[0]

  test.each([
    [PLAIN, PLAIN],
    ["C:/Users/Jo Doe/bin/ctxbridge.exe", "& 'C:/Users/Jo Doe/bin/ctxbridge.exe'"],
    ["C:/Users/Jo O'Doe (x86)/ctxbridge.exe", "& 'C:/Users/Jo O''Doe (x86)/ctxbridge.exe'"],
    ["//server/a share/ctxbridge.exe", "& '//server/a share/ctxbridge.exe'"],
  ])("%s is called as PowerShell reads it", (exePath, program) => {
    const { text } = added(exePath)
    const { command, shell } = stopIn(text)
    expect(command).toBe(`${program} hook stop ${agent}`)
    expect(shell).toBe(program === PLAIN ? undefined : named)
    // Known again as ours: nothing is added, and all goes.
    expect(added(exePath, text)).toEqual({ text, added: [], replaced: [] })
    expect(hooksOf(exePath).remove(text).text).not.toContain("ctxbridge")
  })

  test("one that no shell there could run is mended", () => {
    const exePath = "C:/Users/Jo Doe/ctxbridge.exe"
    const { text } = added(exePath)
    const { command, shell: _told, ...rest } = stopIn(text)
    const former = { ...rest, command: command.replace("& ", "") }
    const mended = added(exePath, JSON.stringify({ hooks: { [event]: [{ hooks: [former] }] } }))
    expect(mended.replaced).toEqual([event])
    expect(JSON.parse(mended.text).hooks[event]).toEqual(JSON.parse(text).hooks[event])
  })
})
