/** The report of `bench prune` for people. Pure. */
import { cut, markdownTable, oneLine, percent } from "../../../base/text.ts"
import type { PruneBenchReport } from "./prune-bench.ts"

const HEAD = [
  "way",
  "requests",
  "compactions",
  "tokens sent",
  "largest",
  "prefix changes",
  "cost",
  "of no pruning",
]

export function renderPruneBench({ sessions, prices, options }: PruneBenchReport): string[] {
  const tables = sessions.flatMap(({ session, window, steps, unitsPerToken, overhead, ways }) => [
    `${cut(oneLine(session), 60)}: ${thousands(steps)} answers, a window of ${thousands(window)} tokens`,
    `(${unitsPerToken.toFixed(1)} characters of JSON per token, ${thousands(overhead)} tokens beside the messages)`,
    "",
    ...markdownTable(
      HEAD,
      ways.map((way) => [
        way.way,
        thousands(way.requests),
        thousands(way.compactions),
        millions(way.sent),
        thousands(way.largest),
        thousands(way.prefixChanges),
        millions(way.cost),
        percent(way.relative),
      ]),
    ),
    "",
  ])
  return [
    ...tables,
    `Cost: a token sent is ${prices.input}, written to the cache ${prices.cacheWrite}, read from it ${prices.cacheRead}, ` +
      `answered ${prices.output} (prices of ${prices.asOf}).`,
    `The rule of proxy and patch: keep ${options.keep}, threshold ${thousands(options.threshold)} characters of JSON, ` +
      `step ${thousands(options.step)}.`,
    ...NOTES,
  ]
}

const NOTES = [
  "",
  "Every request is made up again from what was said, and reckoned; nothing is sent. The model says the same each time,",
  "and nothing that was pruned or lost in a compaction is read again: what that costs cannot be told.",
  "The cache is taken to hold whatever the request before began with, and never to expire. No pruning and pruning alike",
  "compact 33,000 tokens before the window is full; the plugin asks no model for the summary, and goes on with as much.",
  "sliding cut: what others do, a new cut for each request (last 4 messages of the user's role, 80 characters).",
]

const thousands = (n: number): string => Math.round(n).toLocaleString("en-US")
const millions = (n: number): string => `${(n / 1e6).toFixed(2)} M`
