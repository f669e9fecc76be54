/** `prune native` comes and goes without a trace, whatever is in the settings and whoever changes them meanwhile. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { addNative, EXTRA_BODY, type NativeWish, removeNative } from "../../src/prune/set-native.ts"

const CLEAR = "clear_tool_uses_20250919"

const indent = fc.constantFrom("", " ", "  ", "\t")
const rendered = (value: unknown, by: string, eol: string): string =>
  JSON.stringify(value, null, by).replaceAll("\n", eol)

const edit = fc.record({
  type: fc.constantFrom("clear_thinking_20251015", "compact_x"),
  keep: fc.jsonValue(),
})
const theirsToo = fc.record({ type: fc.constant(CLEAR), note: fc.string() }, { requiredKeys: ["type"] })
const management = (edits: fc.Arbitrary<unknown>) =>
  fc.record({ edits: fc.array(edits, { maxLength: 3 }), other: fc.jsonValue() }, { requiredKeys: [] })
const others = fc.dictionary(
  fc.string().filter((key) => key !== "__proto__"),
  fc.jsonValue(),
  { maxKeys: 3 },
)

/** The variable's text, as users write it. */
const bodyWith = (edits: fc.Arbitrary<unknown>) =>
  fc.oneof(
    fc.constant(""),
    fc
      .tuple(others, fc.option(management(edits)), indent)
      .map(([rest, own, by]) =>
        rendered({ ...rest, ...(own === null ? {} : { context_management: own }) }, by, "\n"),
      ),
  )

const textWith = (edits: fc.Arbitrary<unknown>) =>
  fc
    .tuple(
      others,
      fc.option(
        fc.tuple(
          fc.dictionary(
            fc.stringMatching(/^[A-Z_]{1,8}$/).filter((name) => name !== EXTRA_BODY),
            fc.string(),
            { maxKeys: 3 },
          ),
          fc.option(bodyWith(edits)),
        ),
      ),
      indent,
      fc.constantFrom("\n", "\r\n"),
      fc.constantFrom("", "\uFEFF"),
    )
    .map(([rest, env, by, eol, bom]) => {
      const { env: _, ...kept } = rest
      const variables = env && { ...env[0], ...(env[1] === null ? {} : { [EXTRA_BODY]: env[1] }) }
      return bom + rendered({ ...kept, ...(variables === null ? {} : { env: variables }) }, by, eol)
    })

const wish: fc.Arbitrary<NativeWish> = fc.record({
  clearing: fc.record({ trigger: fc.nat(), keep: fc.nat(), atLeast: fc.nat() }),
  window: fc.option(fc.integer({ min: 100_000 }), { nil: undefined }),
  percent: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
})

// biome-ignore lint/suspicious/noExplicitAny: whatever the settings hold
const value = (text: string): any => JSON.parse(text.replace(/^\uFEFF/, ""))
// biome-ignore lint/suspicious/noExplicitAny: whatever the user has written
const bodyIn = (text: string): any => {
  const body = value(text).env?.[EXTRA_BODY]
  return body ? JSON.parse(body) : undefined
}

test("what is set and taken back leaves no byte behind", () => {
  fc.assert(
    fc.property(textWith(edit), wish, (before, wanted) => {
      const set = addNative(before, before, wanted)
      expect(bodyIn(set.text).context_management.edits.at(-1).type).toBe(CLEAR)
      expect(removeNative(set.text, before)).toEqual({
        text: before,
        removed: expect.arrayContaining([...set.added, ...set.replaced]),
      })
    }),
    { numRuns: 500 },
  )
})

test("setting it is inserting: all of the user's edits and fields stay, in their order", () => {
  fc.assert(
    fc.property(textWith(fc.oneof(edit, theirsToo)), wish, (before, wanted) => {
      const after = addNative(before, before, wanted).text
      const [was, is] = [bodyIn(before) ?? {}, bodyIn(after)]
      expect({ ...is, context_management: null }).toEqual({ ...was, context_management: null })
      const edits = was.context_management?.edits ?? []
      expect(is.context_management.edits.slice(0, edits.length)).toEqual(edits)
      const { env: _, ...rest } = value(after)
      const { env: __, ...former } = value(before)
      expect(rest).toEqual(former)
      expect(addNative(after, before, wanted).text).toBe(after)
    }),
    { numRuns: 500 },
  )
})

test("a clearing of the user's is neither changed nor taken out", () => {
  fc.assert(
    fc.property(textWith(theirsToo), wish, (before, { clearing }) => {
      const has = bodyIn(before)?.context_management?.edits?.length > 0
      const set = addNative(before, undefined, { clearing, window: undefined, percent: undefined })
      expect(set.text === before).toBe(has)
      if (has) expect(removeNative(before, before)).toEqual({ text: before, removed: [] })
    }),
    { numRuns: 300 },
  )
})

test("what the user changes meanwhile stays, and ours goes", () => {
  fc.assert(
    fc.property(textWith(edit), wish, edit, fc.string(), indent, (before, wanted, more, mine, by) => {
      const settings = value(addNative(before, before, wanted).text)
      const body = JSON.parse(settings.env[EXTRA_BODY])
      body.context_management.edits.unshift(more)
      body.mine = mine
      settings.env[EXTRA_BODY] = rendered(body, by, "\n")
      settings.env.MINE = mine
      const left = removeNative(JSON.stringify(settings), before).text
      const { edits } = bodyIn(left).context_management
      expect(edits[0]).toEqual(JSON.parse(JSON.stringify(more)))
      expect(edits.slice(1)).toEqual(bodyIn(before)?.context_management?.edits ?? [])
      expect(bodyIn(left).mine).toBe(mine)
      expect(value(left).env.MINE).toBe(mine)
      expect(value(left).env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})
