/**
 * What each way of pruning, and the proxy with other settings, would have made of the sessions of an archive, at list
 * prices. See docs/measurements/prune-costs.md.
 *
 *     CTXBRIDGE_HOME=DIR bun bench/prune-grid.ts [--sessions N]
 */
import { parseArgs } from "node:util"
import { markdownTable, percent } from "../src/base/text.ts"
import { resolveOptions } from "../src/config/options.ts"
import type { RequestPrice } from "../src/prune/costs.ts"
import { type PlayedWays, playedWays, settingsOn, wayVerdicts } from "../src/prune/savings.ts"
import { UNITS_PER_TOKEN, wayOptions } from "../src/prune/way.ts"
import { openCurrent } from "../src/views/open-current.ts"
import { priceList, requestCost } from "../src/views/prices.ts"

const { values } = parseArgs({ options: { sessions: { type: "string", default: "100" } } })
const dataHome = process.env["CTXBRIDGE_HOME"]
if (dataHome === undefined) throw new Error("CTXBRIDGE_HOME is not set")

const { rule, proxy } = wayOptions(resolveOptions({}).config)
const others = [true, false].flatMap((afterPause) =>
  [1, 2, 4].flatMap((keep) =>
    [...new Set([1, keep])].flatMap((keepResults) =>
      [2_000, 5_000, 20_000, 40_000].map((tokens) => {
        const threshold = tokens * UNITS_PER_TOKEN
        return {
          setting: [afterPause ? "pause" : "prompt", keep, keepResults, tokens].join(" "),
          options: { ...proxy, afterPause, keep, keepResults, threshold, step: threshold / 2 },
        }
      }),
    ),
  ),
)
const prices = priceList([])
const priceOf: RequestPrice = (model, tokens) => requestCost(prices, model, tokens)
const options = { rule, proxy, others }

using db = openCurrent(dataHome, "command")
const played = [...playedWays(db, dataHome, options, priceOf, Number(values.sessions))]

type Spent = PlayedWays["none"]

/** Median, dearest, how many are cheaper and dearer, and what all of them sent, cost and lost together. */
function cellsOf(
  pick: (session: PlayedWays) => Spent,
  { median, worst, cheaper, dearer }: Verdict,
): string[] {
  const sum = (of: (one: Spent) => number | undefined, session = pick): number =>
    played.reduce((total, one) => total + (one.none.dollars === undefined ? 0 : (of(session(one)) ?? 0)), 0)
  const share = (of: (one: Spent) => number | undefined): string =>
    percent(sum(of) / sum(of, ({ none }) => none), 1)
  return [
    share(({ sent }) => sent),
    share(({ dollars }) => dollars),
    percent(
      sum(({ broken }) => broken) /
        sum(
          ({ dollars }) => dollars,
          ({ none }) => none,
        ),
      1,
    ),
    percent(median, 1),
    percent(worst, 1),
    String(cheaper),
    String(dearer),
    String(sum(({ compactions }) => compactions)),
  ]
}

type Verdict = ReturnType<typeof settingsOn>[number] | ReturnType<typeof wayVerdicts>[number]

const HEAD = ["tokens sent", "cost", "rewritten", "median", "dearest", "cheaper", "dearer", "compactions"]

const asIf = (n: number): PlayedWays[] =>
  played.map((one) => ({ ...one, ways: { ...one.ways, native: [one.ways.native[n]!] } }))
const ways = [0, 1].flatMap((n) =>
  wayVerdicts(asIf(n)).flatMap((verdict) => {
    if (n === 1 && verdict.way !== "native") return []
    const name = verdict.way === "native" ? `native, ${n === 0 ? "at best" : "at worst"}` : verdict.way
    return [[name, ...cellsOf(({ ways }) => ways[verdict.way].at(n) ?? ways[verdict.way][0]!, verdict)]]
  }),
)
const spent = played.reduce((sum, { none }) => sum + (none.dollars ?? 0), 0)
console.log(`${played.length} sessions, $${spent.toFixed(2)}\n`)
console.log(markdownTable(["way", ...HEAD], ways).join("\n"))
console.log("")
const rows = settingsOn(played, options).map((verdict, n) => [
  ...verdict.setting.split(" "),
  ...cellsOf((one) => one.others[n]!, verdict),
])
console.log(markdownTable(["when", "keep", "results", "threshold", ...HEAD], rows).join("\n"))
