/**
 * What real clients wrote around their compactions, in their own order: while the text that a hook gave is still to come,
 * nobody takes it for lost; when it never comes, somebody does. Made of the files beside the checkout; without them it
 * skips.
 */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { outcomeIn } from "../../src/claude/context-arrived.ts"
import { sampleFiles } from "../support/real.ts"

/** What the hooks of the samples gave, and what ours would have. */
const GIVEN = "CTX-FROM-SESSIONSTART-COMPACT"
const OURS = '<ctxbridge-restore source=\\"compact\\" session=\\"s\\">'

const samples = sampleFiles().filter((path) => !basename(path).includes("agent-"))
if (samples.length === 0) console.warn("no samples of real clients beside the checkout: skipped")

interface Compaction {
  readonly version: string
  /** From the boundary to the next. */
  readonly lines: readonly string[]
  /** When the hook was called, in ms since the epoch. */
  readonly given: number
}

function* compactions(path: string): Generator<Compaction> {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean)
  const starts = lines.flatMap((line, n) => (line.includes('"subtype":"compact_boundary"') ? [n] : []))
  for (const [n, start] of starts.entries()) {
    const own = lines.slice(start, starts[n + 1])
    const hook = own
      .map((line) => JSON.parse(line))
      .find(({ attachment }) => attachment?.type === "hook_success")
    const boundary = JSON.parse(own[0]!)
    const ended = Date.parse(hook?.timestamp ?? boundary.timestamp)
    yield { version: boundary.version, lines: own, given: ended - (hook?.attachment.durationMs ?? 0) }
  }
}

const bytes = (lines: readonly string[]): Uint8Array => Buffer.from(lines.map((line) => `${line}\n`).join(""))

describe.skipIf(samples.length === 0)("real clients", () => {
  const all = samples.flatMap((path) => [...compactions(path)])
  const telling = all.filter(({ version }) => !version.startsWith("2.0."))

  test("nothing that arrives is ever taken for lost, however little of it is written yet", () => {
    expect(telling.length).toBeGreaterThanOrEqual(6)
    for (const { lines, given } of telling) {
      const ours = lines.map((line) => line.replaceAll(GIVEN, OURS))
      const outcomes = ours.map((_, n) => outcomeIn(bytes(ours.slice(0, n + 1)), given))
      const first = outcomes.indexOf("arrived")
      expect(first).toBeGreaterThan(0)
      expect(outcomes.map((outcome, n) => [n, outcome])).toEqual(
        outcomes.map((_, n) => [n, n < first ? "open" : "arrived"]),
      )
    }
  })

  test("what never arrives is lost once more is said, and not before the place where it would stand", () => {
    for (const { lines, given } of telling) {
      const place = lines.findIndex((line) => line.includes(GIVEN))
      const without = lines.filter((line) => !line.includes(GIVEN))
      const outcomes = without.map((_, n) => outcomeIn(bytes(without.slice(0, n + 1)), given))
      const first = outcomes.indexOf("lost")
      expect(outcomes.slice(0, place)).toEqual(Array(place).fill("open"))
      expect(first).toBeGreaterThanOrEqual(place)
      expect(new Set(outcomes.slice(first))).toEqual(new Set(["lost"]))
    }
  })

  test("the oldest host says nothing, and nothing is concluded from that", () => {
    const old = all.filter(({ version }) => version.startsWith("2.0."))
    expect(old.length).toBeGreaterThanOrEqual(3)
    for (const { lines, given } of old) expect(outcomeIn(bytes(lines), given)).toBe("unknown")
  })
})
