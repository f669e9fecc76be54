/**
 * Which settings of the pruning rule are the cheapest: every combination over the simulated session and the largest ones
 * of an archive. See docs/measurements/prune-costs.md.
 *
 *     CTXBRIDGE_HOME=DIR bun bench/prune-grid.ts [--sessions N]
 */
import { parseArgs } from "node:util"
import { markdownTable } from "../src/base/text.ts"
import {
  batchedRule,
  costOf,
  fullAt,
  type PlayedSession,
  playedSession,
  SUMMARY_TOKENS,
  simulatedSession,
  unpruned,
} from "../src/cli/bench/prune/prune-bench.ts"
import { sentPassages } from "../src/prune/savings.ts"
import { vaultFile } from "../src/vault/layout.ts"
import { openCurrent } from "../src/views/open-current.ts"
import { largestRequests } from "../src/views/queries/token-use.ts"
import { linesFrom } from "../src/views/records.ts"

const KEEPS = [1, 2, 4, 8]
/** UTF-16 units of JSON. */
const THRESHOLDS = [20_000, 40_000, 60_000, 80_000, 160_000]
const STEPS = [0.25, 0.5, 1]
const WINDOWS = [200_000, 1_000_000]

const { values } = parseArgs({ options: { sessions: { type: "string", default: "10" } } })
const dataHome = process.env["CTXBRIDGE_HOME"]
if (dataHome === undefined) throw new Error("CTXBRIDGE_HOME is not set")

const real: PlayedSession[] = []
{
  using db = openCurrent(dataHome, "command")
  for (const { copy, title } of largestRequests(db, "largest", Number(values.sessions))) {
    const passages = sentPassages([...linesFrom(vaultFile(dataHome, copy))].map(({ line }) => line))
    if (passages.length > 0) real.push(playedSession(title, passages))
  }
}
const simulated = [1, 2, 3].map((seed) => simulatedSession(seed, 150))

function figures(sessions: readonly PlayedSession[], window: number, model: Parameters<typeof costOf>[1]) {
  const compaction = { point: fullAt(window), summary: SUMMARY_TOKENS }
  const costs = sessions.map((session) => ({
    whole: costOf(session, unpruned, compaction),
    pruned: costOf(session, model, compaction),
  }))
  const mean = (of: (cost: (typeof costs)[number]) => number) =>
    costs.reduce((sum, cost) => sum + of(cost), 0) / costs.length
  return {
    cost: mean(({ whole, pruned }) => pruned.cost / whole.cost),
    compactions: mean(({ pruned }) => pruned.compactions),
  }
}

for (const results of [false, true]) {
  const rows = KEEPS.flatMap((keep) =>
    THRESHOLDS.flatMap((threshold) =>
      STEPS.map((share) => {
        const options = { keep, threshold, step: threshold * share, maxChars: 80, results }
        const cells = [simulated, real].flatMap((sessions) =>
          WINDOWS.map((window) => {
            const { cost, compactions } = figures(sessions, window, () => batchedRule(options))
            return `${(100 * cost).toFixed(1)} (${compactions.toFixed(1)})`
          }),
        )
        return [String(keep), String(threshold), String(share), ...cells]
      }),
    ),
  )
  const head = ["keep", "threshold", "step", "simulated 200k", "simulated 1M", "real 200k", "real 1M"]
  console.log(results ? "\ntexts and results" : "texts only")
  console.log(markdownTable(head, rows).join("\n"))
}
