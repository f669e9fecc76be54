/**
 * The autopilot on transcripts of real clients: its figures are Claude Code's own, by both ways of reading them, and
 * what fills the window is all of it. Made of the files beside the checkout; without them it skips.
 */
import { describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { glance } from "../../src/claude/glance.ts"
import { readStatusLineInput } from "../../src/claude/status-line-input.ts"
import { examineContext } from "../../src/restore/window/context-report.ts"
import { type ContextState, follow, judge, NEW_CONTEXT } from "../../src/restore/window/context-state.ts"
import { windowOf } from "../../src/restore/window/window.ts"
import { captureTranscript } from "../../src/vault/capture.ts"
import { index } from "../../src/views/indexing.ts"
import { open } from "../../src/views/open.ts"
import { sampleFiles, transcriptFiles } from "../support/real.ts"

const THRESHOLDS = { warn: 0.7, critical: 0.85 }
const CIRCUMSTANCES = { option: 0, limits: {}, thresholds: THRESHOLDS }
/** Share of the window that a learnt compaction point may be off; of the small one, which is harder. */
const NEAR = 0.03
const SMALL = 200_000

const isConversation = (path: string): boolean => !basename(path).includes("agent-")
const samples = sampleFiles().filter(isConversation)
const transcripts = transcriptFiles().filter(isConversation)
const named = (path: string): string => path.split("/").slice(-3).join("/")

interface Reading {
  /** What was known before a line. */
  readonly context: ContextState
  /** Of the automatic compactions in that line. */
  readonly points: readonly number[]
}

/** As the hooks follow it, line by line; the last one is what is known at the end. */
function* readings(path: string): Generator<Reading> {
  let context = NEW_CONTEXT
  for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
    const seen = glance(Buffer.from(`${line}\n`), context.base === undefined)
    const points = seen.compactions.flatMap(({ trigger, preTokens }) =>
      trigger === "auto" && preTokens !== undefined ? [preTokens] : [],
    )
    yield { context, points }
    context = follow(context, seen)
  }
  yield { context, points: [] }
}

/** The newest answer of the conversation that says how many tokens it was made from, in the plainest way. */
function plainReading(path: string): number | undefined {
  let tokens: number | undefined
  for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
    const { type, isSidechain, message } = JSON.parse(line)
    const usage = message?.usage
    if (type !== "assistant" || isSidechain === true || message.model === "<synthetic>" || !usage) continue
    const sent =
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
    if (sent > 0) tokens = sent + usage.output_tokens
  }
  return tokens
}

describe.skipIf(samples.length === 0)("three versions", () => {
  for (const path of samples) {
    test(`the hook's reading and the archive's are the host's figure: ${named(path)}`, () => {
      const { context } = [...readings(path)].at(-1)!
      expect(context.tokens).toBe(plainReading(path)!)
      const report = reportOf(path)
      expect(report.tokens).toBe(plainReading(path)!)
      expectWhole(report.fill, report.tokens)
    })
  }

  for (const version of new Set(samples.map((path) => path.split("/").at(-3)!))) {
    test(`${version}: what the host told its status line is what the transcript says, window and all`, () => {
      const folder = dirname(dirname(samples.find((path) => path.split("/").at(-3) === version)!))
      const document = JSON.parse(readFileSync(join(folder, "statusline.json"), "utf8"))
      const { session, tokens, window } = readStatusLineInput(document)
      const path = samples.find((one) => basename(one).includes(session!.slice(0, 8)))!
      const known = [...readings(path)].map(({ context }) => context)
      expect(known.map((context) => context.tokens)).toContain(tokens)
      const { model } = known.at(-1)!
      expect(windowOf({ model, option: 0, seen: tokens!, limits: {} })).toBe(window!)
    })
  }
})

describe.skipIf(transcripts.length === 0)("long sessions", () => {
  test("what fills the window sums to 100 %, by kind and by file", () => {
    const largest = transcripts.toSorted((a, b) => statSync(b).size - statSync(a).size).slice(0, 4)
    for (const path of largest) {
      const { fill, tokens } = reportOf(path)
      expectWhole(fill, tokens)
    }
  })

  const sessions = transcripts.map((path) => [...readings(path)]).filter((all) => pointsIn(all).length > 2)
  if (transcripts.length > 0 && sessions.length === 0)
    console.warn("skipped: learning from real compactions: no session has three automatic ones")

  test.skipIf(sessions.length === 0)(
    "after two compactions, the next comes within 3 points of what was learnt",
    () => {
      for (const all of sessions) {
        for (const { context, points } of all) {
          if ((context.points ?? []).length < 2) continue
          const { compactsAt } = judge({ ...context, tokens: 1 }, CIRCUMSTANCES)!
          for (const point of points) expect(Math.abs(compactsAt - point)).toBeLessThanOrEqual(SMALL * NEAR)
        }
      }
    },
  )
})

const pointsIn = (all: readonly Reading[]): number[] => all.flatMap(({ points }) => points)

/** What `status` says of a session that has been archived. */
function reportOf(path: string) {
  const root = mkdtempSync(join(tmpdir(), "ctxbridge-real-"))
  const db = open(join(root, "archive"), "write", 0)
  try {
    const taken = captureTranscript({ dataHome: join(root, "archive"), home: root }, path, {
      now: 0,
      deadline: Number.POSITIVE_INFINITY,
      lastLine: "any",
    })
    db.transaction(() => index(db, join(root, "archive"), taken, () => false)).immediate()
    const report = examineContext(db, join(root, "archive"), taken.session, CIRCUMSTANCES)
    expect(report).toBeDefined()
    return report!
  } finally {
    db.close()
    rmSync(root, { recursive: true, force: true })
  }
}

interface Part {
  readonly percent: number
  readonly tokens: number
}

function expectWhole(fill: { kinds: readonly Part[]; files: readonly Part[] }, tokens: number): void {
  for (const list of [fill.kinds, fill.files]) {
    expect(list.reduce((sum, { percent }) => sum + Math.round(percent * 10), 0)).toBe(1000)
    expect(Math.abs(list.reduce((sum, one) => sum + one.tokens, 0) - tokens)).toBeLessThanOrEqual(list.length)
  }
}
