/** Which ways work for which program, and which of them is recommended. */
import { expect, test } from "bun:test"
import type { Installed } from "../../../src/claude/install/clients.ts"
import type { HostEnvironment } from "../../../src/claude/settings/read-settings.ts"
import { nativeWay } from "../../../src/prune/set-native.ts"
import { WAYS, type WayName, type WayState } from "../../../src/prune/way.ts"
import { PRUNE_WAYS, pickWay, shareSaved } from "../../../src/prune/ways.ts"

const client = (version: string | undefined): Installed => ({
  path: "/bin/claude",
  file: "/bin/claude",
  kind: "native",
  version,
})

const NOTHING: HostEnvironment = { names: new Set(), extraBody: [], baseUrl: [] }
const CLEARS = JSON.stringify({ context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } })

test("the four are described in the order of their risk", () => {
  expect(PRUNE_WAYS.map(({ name }) => name)).toEqual([...WAYS])
})

test("native works from the version that asks for the beta in all requests, unless something keeps it from that", () => {
  const works = (version: string | undefined, ...names: string[]): boolean =>
    nativeWay(client(version), { ...NOTHING, names: new Set(names) }).unsupported === undefined
  expect(["2.0.76", "2.1.111", "2.1.112", "2.1.330", "3.0.0", undefined].map((one) => works(one))).toEqual([
    false,
    false,
    true,
    true,
    true,
    false,
  ])
  for (const name of ["CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "CLAUDE_CODE_USE_VERTEX"])
    expect(works("2.1.330", name)).toBe(false)
  expect(works("2.1.330", "ANTHROPIC_BASE_URL")).toBe(true)
})

test("native is on where the value that counts clears", () => {
  const state = (...extraBody: HostEnvironment["extraBody"]): WayState =>
    nativeWay(client("2.1.330"), { ...NOTHING, extraBody })
  const shell = { from: "environment", value: CLEARS } as const
  const other = { from: "local", value: "{}" } as const
  expect(state()).toEqual({ way: "native", isActive: false })
  expect(state(shell)).toMatchObject({ isActive: true, detail: "set in the environment" })
  expect(state(other, shell)).toMatchObject({
    isActive: false,
    detail: expect.stringContaining("but the local"),
  })
  expect(state({ from: "user", value: "{not json" })).toEqual({ way: "native", isActive: false })
})

test("the first way that works is picked, with why the safer ones do not", () => {
  const ways = (...without: WayName[]): WayState[] =>
    WAYS.map((way) => ({
      way,
      isActive: false,
      ...(without.includes(way) ? { unsupported: `no ${way}` } : {}),
    }))
  expect(pickWay({ ways: ways() })).toEqual({ way: "native", isActive: false, passed: [] })
  expect(pickWay({ ways: ways("native", "plugin") })).toEqual({
    way: "proxy",
    isActive: false,
    passed: [
      { way: "native", why: "no native" },
      { way: "plugin", why: "no plugin" },
    ],
  })
  expect(pickWay({ ways: ways(...WAYS) })).toBeUndefined()
})

test("the share that is saved counts only the sessions of which it is known", () => {
  const session = (tokens: number, native: number | undefined) => ({
    session: "s",
    title: "t",
    tokens,
    saved: { native, plugin: undefined, proxy: 0, patch: 0 },
  })
  expect(shareSaved([session(100, 10), session(300, 90), session(1000, undefined)], "native")).toBe(0.25)
  expect(shareSaved([session(100, undefined)], "native")).toBeUndefined()
  expect(shareSaved([], "patch")).toBeUndefined()
})
