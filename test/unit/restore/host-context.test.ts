/** What the host tells the status line of the window: hosts of all versions, and documents of any shape. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { readHostContext } from "../../../src/claude/status-line-input.ts"

const usage = { input_tokens: 1000, cache_read_input_tokens: 48_000, cache_creation_input_tokens: 1000 }

test("tokens and window if the host reports both, or else its own percentage, or else nothing", () => {
  const of = (context: object) => readHostContext({ session_id: "s-1", context_window: context })
  const whole = of({ context_window_size: 200_000, current_usage: usage, used_percentage: 99 })
  expect(whole).toMatchObject({ session: "s-1", window: 200_000, tokens: 50_000, share: 0.25 })
  expect(of({ current_usage: usage })).toMatchObject({ window: undefined, tokens: 50_000, share: undefined })
  expect(of({ current_usage: usage, used_percentage: 30 })).toMatchObject({ tokens: 50_000, share: 0.3 })
  expect(of({ context_window_size: 200_000, remaining_percentage: 75 })).toMatchObject({ share: 0.25 })
  // Before the first answer.
  const none = { context_window_size: 200_000, current_usage: null, used_percentage: null }
  expect(of(none)).toMatchObject({ window: 200_000, tokens: undefined, share: undefined, isEmptied: false })
  // Newer hosts right after a compaction.
  const emptied = { ...none, current_usage: { input_tokens: 0, output_tokens: 0 }, used_percentage: 0 }
  expect(of(emptied)).toMatchObject({ tokens: undefined, share: 0, isEmptied: true })
})

test("the model, the host's version and the transcript, unless it is no path that a host writes", () => {
  const of = (transcript_path: unknown) =>
    readHostContext({ model: { id: "claude-sonnet-4-6" }, version: "2.1.112", transcript_path })
  expect(of("/home/dev/.claude/projects/-p/s.jsonl")).toMatchObject({
    model: "claude-sonnet-4-6",
    version: "2.1.112",
    transcript: "/home/dev/.claude/projects/-p/s.jsonl",
  })
  for (const path of ["s.jsonl", "/etc/passwd", 7]) expect(of(path).transcript).toBeUndefined()
})

test("for any document: no invalid number or session name", () => {
  const value = fc.oneof(fc.jsonValue(), fc.double(), fc.constant("../x"))
  const context = fc.record(
    {
      context_window_size: value,
      current_usage: fc.oneof(value, fc.record({ input_tokens: value, output_tokens: value })),
      used_percentage: value,
      remaining_percentage: value,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(value, fc.record({ session_id: value, context_window: context })), (document) => {
      const { session, window, tokens, share } = readHostContext(document)
      for (const figure of [window, tokens, share])
        if (figure !== undefined) expect(figure).toBeGreaterThanOrEqual(0)
      expect(window).not.toBe(0)
      if (session !== undefined) expect(session).toMatch(/^[\w.-]+$/)
    }),
    { numRuns: 300 },
  )
})
