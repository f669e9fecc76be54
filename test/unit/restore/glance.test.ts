/** What hooks read of new lines, and how it is followed. */
import { describe, expect, test } from "bun:test"
import { basename } from "node:path"
import { glance } from "../../../src/claude/glance.ts"
import { contextTokens } from "../../../src/record/token-counts.ts"
import { type ContextState, NEW_CONTEXT } from "../../../src/restore/window/context-state.ts"
import { follow } from "../../../src/restore/window/track-context.ts"
import { sampleFiles } from "../../support/real.ts"

const usage = (cacheRead: number, more: object = {}) => ({
  type: "assistant",
  version: "2.1.112",
  message: {
    id: "m",
    model: "claude-sonnet-4-6",
    content: [{ type: "text", text: "said" }],
    usage: {
      input_tokens: 1000,
      cache_read_input_tokens: cacheRead,
      cache_creation_input_tokens: 5,
      output_tokens: 50,
    },
  },
  ...more,
})
const boundary = (trigger: string, preTokens: number, more: object = {}) => ({
  type: "system",
  subtype: "compact_boundary",
  compactMetadata: { trigger, preTokens, ...more },
})
const user = (content: unknown, more: object = {}) => ({
  type: "user",
  message: { role: "user", content },
  ...more,
})
const bytes = (...lines: unknown[]): Uint8Array =>
  Buffer.from(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""))
const after = (context: ContextState, ...lines: unknown[]) =>
  follow(context, glance(bytes(...lines), context.base === undefined))

describe("glance", () => {
  test("the newest answer of the conversation counts, whatever else mentions usage", () => {
    const seen = glance(
      bytes(
        usage(10),
        usage(20_000),
        usage(900_000, { isSidechain: true }),
        user([{ type: "tool_result", content: '{"usage":{"input_tokens":7}}' }], {
          toolUseResult: { usage: { input_tokens: 77_777 } },
        }),
        { ...usage(0), message: { ...usage(0).message, usage: { input_tokens: 0, output_tokens: 0 } } },
        { ...usage(0), message: { ...usage(5).message, model: "<synthetic>" } },
        { type: "progress", data: { message: usage(500_000) } },
        '{"type":"assistant","message":{"usage"',
        'no JSON with "usage" in it',
      ),
      true,
    )
    expect(seen.usage && contextTokens(seen.usage)).toBe(21_055)
    expect(seen.usage?.version).toBe("2.1.112")
    expect(seen.firstPrompt).toBe(1015)
    expect(seen.compactions).toEqual([])
  })

  test("readings before a compaction no longer count", () => {
    const seen = glance(
      bytes(usage(150_000), boundary("auto", 151_055, { postTokens: 300 }), user("x".repeat(35))),
      true,
    )
    expect(seen.usage).toBeUndefined()
    expect(seen.compactions).toEqual([{ trigger: "auto", preTokens: 151_055, postTokens: 300 }])
    expect(seen.chars).toBe(35)
  })

  test("a compaction that is only mentioned does not count", () => {
    const told = user(`the log: ${JSON.stringify(boundary("auto", 1))}`)
    expect(glance(bytes(told, user('"compact_boundary"'), usage(7)), false).compactions).toEqual([])
  })
})

describe("follow", () => {
  test("without news, returns the same object", () => {
    expect(after(NEW_CONTEXT, { type: "file-history-snapshot" })).toBe(NEW_CONTEXT)
  })

  test("after a compaction, counts the first request and the summary once, until the next answer", () => {
    const started = after(NEW_CONTEXT, user("hi"), usage(20_000))
    expect(started).toMatchObject({ tokens: 21_055, base: 21_005 })
    const full = after({ ...started, told: "critical" }, usage(160_000))
    const compacted = after(
      full,
      boundary("auto", 161_055),
      user("s".repeat(3500), { isCompactSummary: true }),
    )
    expect(compacted).toMatchObject({
      tokens: 22_005,
      estimated: true,
      compactions: 1,
      points: [161_055],
      history: [],
    })
    expect(compacted.told).toBeUndefined()
    const { estimated, ...answered } = after(compacted, usage(23_000))
    expect(answered).toMatchObject({ tokens: 24_055, base: 21_005, compactions: 1 })
    expect(estimated).toBeUndefined()
  })

  test("a manual compaction teaches nothing", () => {
    // Nobody has looked up yet what other sessions saw, and that stays so.
    expect(after(NEW_CONTEXT, boundary("manual", 40_000))).not.toHaveProperty("points")
    const known = { ...NEW_CONTEXT, points: [90_000] }
    expect(after(known, boundary("manual", 40_000)).points).toBe(known.points)
  })

  test("without counts, 3.5 characters make a token", () => {
    const { usage: _usage, ...silent } = usage(0).message
    const context = after(NEW_CONTEXT, user("q".repeat(700)), { type: "assistant", message: silent })
    expect(context).toMatchObject({ tokens: Math.round(704 / 3.5), estimated: true })
    expect(after(context, user("q".repeat(350)))).toMatchObject({
      tokens: Math.round(1054 / 3.5),
      estimated: true,
    })
  })
})

/** Of each conversation: what the host said of the tokens before each compaction, and what we had read. */
const samples = sampleFiles().filter((path) => !basename(path).includes("agent-"))

describe.skipIf(samples.length === 0)("real clients", () => {
  for (const path of samples) {
    test(`the host's own figures: ${path.split("/").slice(-3).join("/")}`, async () => {
      let context = NEW_CONTEXT
      for (const line of (await Bun.file(path).text()).split("\n").filter(Boolean)) {
        const seen = glance(Buffer.from(`${line}\n`), context.base === undefined)
        const told = seen.compactions[0]?.preTokens
        if (told !== undefined && context.tokens !== undefined && context.estimated !== true) {
          // Newer hosts add what has come since the last answer, by an estimate.
          expect(told - context.tokens).toBeGreaterThanOrEqual(0)
          expect(told - context.tokens).toBeLessThanOrEqual(path.includes("2.0.76") ? 0 : 200)
        }
        context = follow(context, seen)
      }
      expect(context.tokens).toBeGreaterThan(0)
      expect(context.estimated).toBeUndefined()
    })
  }
})
