/** What `prune native` writes into Claude Code's settings, and that nothing of the user's is lost in it. */
import { describe, expect, test } from "bun:test"
import {
  addNative,
  clearsResults,
  EXTRA_BODY,
  type NativeWish,
  removeNative,
  withClearing,
  withoutClearing,
} from "../../../src/prune/set-native.ts"

const CLEARING = { trigger: 50_000, keep: 10, atLeast: 20_000 }
const WISH: NativeWish = { clearing: CLEARING, window: undefined, percent: undefined }
const EDIT = {
  type: "clear_tool_uses_20250919",
  trigger: { type: "input_tokens", value: 50_000 },
  keep: { type: "tool_uses", value: 10 },
  clear_at_least: { type: "input_tokens", value: 20_000 },
}

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
const bodyIn = (text: string): any => JSON.parse(JSON.parse(text).env[EXTRA_BODY])

const settings = (body: unknown, env: object = {}): string =>
  `${JSON.stringify({ model: "opus", env: { ...env, [EXTRA_BODY]: typeof body === "string" ? body : JSON.stringify(body) } }, null, 2)}\n`

/** Added to a text and removed again, with the text before it known. */
function expectInverse(before: string, wish = WISH): string {
  const { text } = addNative(before, before, wish)
  expect(removeNative(text, before).text).toBe(before)
  return text
}

describe("the value that goes into requests", () => {
  test("stands alone, or behind what the user has there", () => {
    expect(bodyIn(addNative(undefined, "", WISH).text)).toEqual({ context_management: { edits: [EDIT] } })
    const thinking = { type: "clear_thinking_20251015", keep: "all" }
    const theirs = { metadata: { a: 1 }, context_management: { edits: [thinking] } }
    expect(bodyIn(expectInverse(settings(theirs)))).toEqual({
      metadata: { a: 1 },
      context_management: { edits: [thinking, EDIT] },
    })
  })

  test.each([
    ["no env", '{\n  "model": "opus"\n}\n'],
    ["an empty object", "{}"],
    ["an empty env", '{ "env": {} }'],
    ["another variable", '{"env":{"FOO":"1"}}\n'],
    ["tabs", '{\n\t"env": {\n\t\t"FOO": "1"\n\t}\n}'],
    ["a byte order mark", '\uFEFF{\r\n  "env": {\r\n    "FOO": "1"\r\n  }\r\n}\r\n'],
    ["a value with spaces", settings('{ "max_tokens" : 10000000000000000000001 }')],
    ["an empty value", settings("")],
    ["an empty object as value", settings("{}")],
    ["no edits", settings({ context_management: {} })],
    ["empty edits", settings({ context_management: { edits: [] } })],
    ["a value with an escaped slash", '{"env":{"CLAUDE_CODE_EXTRA_BODY":"{\\"a\\":\\"\\u002f\\"}"}}'],
  ])("comes and goes without a trace: %s", (_name, before) => {
    expect(clearsResults(JSON.parse(expectInverse(before).replace("\uFEFF", "")).env[EXTRA_BODY])).toBe(true)
  })

  test("a number that a program would round stays as it is", () => {
    expect(addNative(settings('{ "n": 1e400 }'), undefined, WISH).text).toContain("1e400")
  })

  test("the user's own clearing stays, and is never taken for ours", () => {
    const own = settings({ context_management: { edits: [{ type: EDIT.type }] } })
    expect(addNative(own, undefined, WISH)).toEqual({ text: own, added: [], replaced: [] })
    expect(removeNative(own, own)).toEqual({ text: own, removed: [] })
    // Even when nobody knows any more what was there.
    expect(removeNative(own, undefined)).toEqual({ text: own, removed: [] })
  })

  test("other numbers take the place of ours", () => {
    const first = addNative("{}", "{}", WISH).text
    const next = addNative(first, "{}", { ...WISH, clearing: { ...CLEARING, keep: 3 } })
    expect(next).toMatchObject({ added: [], replaced: [EXTRA_BODY] })
    expect(bodyIn(next.text).context_management.edits).toEqual([
      { ...EDIT, keep: { type: "tool_uses", value: 3 } },
    ])
    expect(removeNative(next.text, "{}").text).toBe("{}")
    expect(addNative(next.text, "{}", { ...WISH, clearing: { ...CLEARING, keep: 3 } }).text).toBe(next.text)
  })

  test("what the user changed since stays", () => {
    const before = settings({ metadata: { a: 1 } })
    const changed = settings({
      metadata: { a: 2 },
      context_management: {
        edits: [{ type: "compact_x" }, { ...EDIT, keep: { type: "tool_uses", value: 1 } }],
      },
    })
    const { text, removed } = removeNative(changed, before)
    expect(removed).toEqual([EXTRA_BODY])
    expect(bodyIn(text)).toEqual({
      metadata: { a: 2 },
      context_management: { edits: [{ type: "compact_x" }] },
    })
  })

  test("without a record, only what has our form goes", () => {
    const { text } = addNative('{"env":{"FOO":"1"}}', undefined, WISH)
    expect(removeNative(text, undefined).text).toBe('{"env":{"FOO":"1"}}')
    expect(removeNative(addNative("{}", undefined, WISH).text, undefined).text).toBe("{}")
  })

  test.each([
    "{not json",
    "[]",
    '"text"',
    '{"context_management":[]}',
    '{"context_management":{"edits":{}}}',
  ])("one that cannot be read is refused: %s", (value) => {
    for (const act of [
      () => addNative(settings(value), undefined, WISH),
      () => withoutClearing(value, undefined),
    ])
      expect(act).toThrow(expect.objectContaining({ code: "settings-shape" }))
    expect(clearsResults(value)).toBe(false)
  })

  test("is text that a JSON parser reads", () => {
    expect(JSON.parse(withClearing("", CLEARING))).toEqual({ context_management: { edits: [EDIT] } })
  })
})

describe("window and percentage", () => {
  const asked = { clearing: undefined, window: 150_000, percent: 60 }

  test("are set as asked for, and nothing else", () => {
    const text = expectInverse('{"env":{"FOO":"1"}}', asked)
    expect(JSON.parse(text).env).toEqual({
      FOO: "1",
      CLAUDE_CODE_AUTO_COMPACT_WINDOW: "150000",
      CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "60",
    })
  })

  test("a value of the user's is not changed", () => {
    const before = '{"env":{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE":"50"}}'
    expect(() => addNative(before, undefined, asked)).toThrow(
      expect.objectContaining({
        code: "settings-taken",
        message: expect.stringContaining("is 50, set by you"),
      }),
    )
    const same = addNative(before, before, { ...asked, percent: 50 }).text
    expect(removeNative(same, before).text).toBe(before)
  })

  test("another number takes the place of ours", () => {
    const first = addNative("{}", "{}", asked).text
    const next = addNative(first, "{}", { ...asked, percent: 70 })
    expect(next.replaced).toEqual(["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"])
    expect(removeNative(next.text, "{}").text).toBe("{}")
  })

  test("a variable of another type is refused", () => {
    expect(() => addNative('{"env":{"CLAUDE_CODE_EXTRA_BODY":{}}}', undefined, WISH)).toThrow(
      "must be a string",
    )
    expect(() => addNative('{"env":[]}', undefined, WISH)).toThrow("env must be an object")
  })
})
