/**
 * How many secrets of the sets in bench/secrets/ the filter fills: `bun bench/secrets.ts [--seed N] [--set N] [--show]
 * [--json]`.
 *
 * Each secret of a set stands in each place of the set, once bare in the text and once within a record of a transcript.
 * `whole` counts those that are filled to the last byte, `partly` those of which some bytes stay. `--show` lists what
 * is not filled whole.
 */
import { parseArgs } from "node:util"
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { FILTERED, filterLines, filterText } from "../src/secrets/filter.ts"
import { SET_1 } from "./secrets/set-1.ts"
import { SET_2 } from "./secrets/set-2.ts"
import { SET_3 } from "./secrets/set-3.ts"
import { SET_4 } from "./secrets/set-4.ts"
import { SET_5 } from "./secrets/set-5.ts"
import type { Place, SecretSet, Service } from "./secrets/types.ts"
import { secretOf } from "./secrets/value.ts"

const SETS: readonly SecretSet[] = [SET_1, SET_2, SET_3, SET_4, SET_5]

interface Share {
  total: number
  whole: number
  partly: number
}

interface Missed {
  readonly service: string
  readonly place: string
  readonly kind: string
  readonly before: string
  readonly after: string
}

/** The text as an output of a tool, in a record of its own. */
const recordOf = (text: string): string =>
  `${JSON.stringify({ type: "user", message: { role: "user", content: [{ type: "tool_result", content: text }] } })}\n`

function textAfter(text: string, isRecord: boolean): string {
  if (!isRecord) return filterText(text, FILTERED)
  const { content } = filterLines(Buffer.from(recordOf(text)), 0, FILTERED)
  return JSON.parse(Buffer.from(content).toString()).message.content[0].content
}

/** How places write a value: as it is, in a URL, in XML, with a backslash before what would end it, or in base64. */
const writingsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  secret.replaceAll("&", "&amp;"),
  secret.replaceAll("$", "\\$"),
  secret.replaceAll(/[:']/g, "\\$&"),
  Buffer.from(secret).toString("base64"),
  secret.replaceAll(/[ :]/g, (one) => (one === " " ? "-" : "")),
]

/** How much of the value is left in a text as long as the original. */
function judge(before: string, after: string, value: string): "whole" | "partly" | "missed" {
  const at = before.indexOf(value)
  const part = after.slice(at, at + value.length)
  if (part === value) return "missed"
  return [...part].every((one, n) => one === "*" || /[ %]/.test(value[n]!)) ? "whole" : "partly"
}

function measure(set: SecretSet, seed: number): { shares: Map<string, Share>; missed: Missed[] } {
  const dice = new Dice(seed)
  const shares = new Map<string, Share>()
  const missed: Missed[] = []
  const count = (row: string, verdict: ReturnType<typeof judge>): void => {
    const share = shares.get(row) ?? { total: 0, whole: 0, partly: 0 }
    shares.set(row, share)
    share.total++
    if (verdict !== "missed") share[verdict]++
  }
  const tryOne = (service: Service, place: Place, kind: string): void => {
    const { text, secret } = secretOf(service.shape, dice)
    const before = place.write(service.variable, text)
    if (before === "") return
    const written = writingsOf(secret).find((one) => before.includes(one))
    if (written === undefined) throw new Error(`place ${place.name} does not hold its secret`)
    for (const isRecord of [false, true]) {
      const after = textAfter(before, isRecord)
      const verdict = judge(before, after, written)
      count(`${service.isPrefixed ? "with" : "without"} a prefix, ${kind}`, verdict)
      count(`place: ${place.name}`, verdict)
      if (verdict !== "whole") missed.push({ service: service.name, place: place.name, kind, before, after })
    }
  }
  for (const service of set.services) {
    for (const place of set.places) tryOne(service, place, place.kind)
    if (service.isPrefixed) for (const place of set.barePlaces) tryOne(service, place, "bare")
  }
  return { shares, missed }
}

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    set: { type: "string" },
    show: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
})

for (const set of SETS) {
  if (values.set !== undefined && values.set !== set.name) continue
  const { shares, missed } = measure(set, Number(values.seed))
  if (values.json) {
    console.log(
      JSON.stringify({ set: set.name, seed: Number(values.seed), shares: Object.fromEntries(shares) }),
    )
    continue
  }
  console.log(`Set ${set.name}, ${set.services.length} services, seed ${values.seed}`)
  for (const [row, { total, whole, partly }] of shares) {
    const percent = ((100 * whole) / total).toFixed(1).padStart(5)
    console.log(
      `${percent}% whole, ${String(partly).padStart(4)} partly, of ${String(total).padStart(5)}  ${row}`,
    )
  }
  if (values.show) for (const one of missed) console.log(JSON.stringify(one))
}
