/** Renders receipts for people: one compaction as a story of ten lines, several as tables, what is lost by name. Pure. */

import { count, oneLine } from "../base/text.ts"
import { tokensOf } from "../restore/explain.ts"
import { type DeliveryProof, HELD_KINDS, type HeldKind, type Receipt } from "../restore/receipt.ts"
import { sumOf } from "../restore/session-receipts.ts"
import { renderTable } from "./block.ts"
import { shortIds } from "./render-session.ts"
import { ago, type Screen, wrapped } from "./screen.ts"
import type { ShowPath } from "./shown-path.ts"
import { dotted, fit, type Style, safe } from "./style.ts"

type Counts = Receipt["kinds"]

/** With its session's title, where that is known. */
type Titled = Receipt & { readonly title?: string | null }

export const PROOFS: Readonly<Record<DeliveryProof, string>> = {
  arrived: "arrived",
  "arrived-later": "arrived at a later prompt",
  lost: "did not arrive",
  open: "not confirmed yet",
  untold: "this version of Claude Code does not say whether it arrived",
  "nothing-given": "nothing was given",
  "not-archived": "nothing could be: it was archived only later",
}

/** Columns of a session's id, where it is longer than Claude Code's. */
const NAME = 20

export function renderReceipts(receipts: readonly Titled[], total: Counts, screen: Screen): string[] {
  const names = shortIds(receipts.map(({ session }) => session))
  const lines = receipts.flatMap((receipt, n) => [
    ...headline(receipt, names[n]!, screen),
    ...renderCounts(receipt.kinds, screen),
    "",
  ])
  if (receipts.length > 1) {
    lines.push(screen.style.bold(`Together, ${count(receipts.length, "compaction")}`))
    lines.push(...renderCounts(total, screen), "")
  }
  const words = "Kept and restored: there word for word, or by an unambiguous short name."
  return [...lines, ...wrapped(`${words} Tokens: characters / 3.5.`, screen.columns)]
}

function headline(receipt: Titled, name: string, { columns, now, style }: Screen): string[] {
  const { time, trigger, preTokens, characters } = receipt
  const tokens = preTokens === null ? "" : ` at ${preTokens.toLocaleString("en-US")} tokens`
  const given = characters === 0 ? "nothing restored" : `restored ${sizeGiven(receipt)}`
  const head = `${fit(name, NAME)}  ${ago(time, now)}  ${safe(trigger)}${tokens}: ${given}`
  return [...wrapped(head, columns).map(style.bold), ...titleLine(receipt, columns)]
}

const titleLine = ({ title }: Titled, columns: number): string[] =>
  title == null ? [] : [fit(oneLine(title), columns)]

function sizeGiven({ characters, delivery }: Receipt): string {
  const size = `${count(characters, "character")} (about ${count(tokensOf(characters), "token")})`
  return characters === 0 ? PROOFS[delivery] : `${size}, ${PROOFS[delivery]}`
}

const SHARES = ["kept", "given", "lost"] as const
type Share = (typeof SHARES)[number]

interface Look {
  readonly title: string
  readonly colour: "green" | "cyan" | "red"
  /** Of a bar: they differ without colours, too. */
  readonly block: string
}

const SHOWN: Readonly<Record<Share, Look>> = {
  kept: { title: "kept", colour: "green", block: "█" },
  given: { title: "restored", colour: "cyan", block: "▓" },
  lost: { title: "lost", colour: "red", block: "░" },
}

/** Kinds that are told by name, in this order. Names and numbers are too many to say anything one by one. */
const TOLD: readonly (readonly [kind: HeldKind, title: string])[] = [
  ["constraint", "constraints"],
  ["decision", "decisions"],
  ["command", "commands"],
  ["error", "errors"],
  ["path", "files"],
]
/** Columns with which a name says something. */
const LEAST_NAMED = 8
/** Columns of the titles, and of a bar. */
const TITLE = 13
const BAR = 48

/**
 * The story of one compaction: what the summary kept, what was restored, and by name what neither has.
 *
 * @param showPath shortens paths of files
 * @param named what is told by name: what was lost, or what was restored
 */
export function renderReceipt(
  receipt: Titled,
  screen: Screen,
  showPath: ShowPath,
  named: "lost" | "given" = "lost",
): string[] {
  const { columns, style, now } = screen
  const { trigger, preTokens, time, session } = receipt
  const { before, ...parts } = sumOf(Object.values(receipt.kinds))
  const tokens = preTokens === null ? "" : ` at ${preTokens.toLocaleString("en-US")} tokens`
  const [name] = shortIds([session])
  const head = [
    style.bold(fit(`Compaction ${ago(time, now)}, ${trigger}${tokens}, session ${name}`, columns)),
    ...titleLine(receipt, columns),
  ]
  if (before === 0) return [...head, ...wrapped("Nothing in it is of the kinds that are counted.", columns)]
  const line = (share: Share, more: string): string => {
    const { title, colour } = SHOWN[share]
    const percent = `${Math.round((100 * parts[share]) / before)}%`
    const start = `${title.padEnd(TITLE - 4)}${String(parts[share]).padStart(5)}${percent.padStart(6)}  `
    return style[colour](start) + fit(more, columns - start.length)
  }
  const names = TOLD.flatMap(([kind, title]) => {
    const items = namesOf(receipt.items[kind][named], kind, showPath)
    return items.length === 0 ? [] : [`  ${title.padEnd(TITLE)}${fitted(items, columns - TITLE - 2)}`]
  })
  const others = (["name", "number"] as const).flatMap((kind) => {
    const { lost } = receipt.kinds[kind]
    return lost === 0 ? [] : [count(lost, kind)]
  })
  const more = "ctxbridge receipts -n 5 shows more compactions"
  return [
    ...head,
    barOf(parts, before, Math.min(BAR, columns), style),
    line("kept", "in Claude Code's summary, or in a message that it kept"),
    line("given", sizeGiven(receipt)),
    ...(named === "given" ? names : []),
    // Of what was restored, the story is told without it.
    ...(named === "given" && parts.lost === 0
      ? []
      : [line("lost", parts.lost === 0 ? "nothing" : "in neither; still in the archive:")]),
    ...(named === "lost" ? names : []),
    ...(named === "lost" && others.length > 0
      ? [`  ${"and".padEnd(TITLE)}${fit(others.join(", "), columns - TITLE - 2)}`]
      : []),
    ...(named === "given"
      ? []
      : [
          style.dim(
            fit(
              parts.lost === 0 ? more : `ctxbridge receipts --lost names all of it; ${more.slice(19)}`,
              columns,
            ),
          ),
        ]),
  ]
}

/** Everything that is in neither, latest first. */
export function renderLost(receipt: Receipt, screen: Screen, showPath: ShowPath): string[] {
  const [name] = shortIds([receipt.session])
  const { style, columns } = screen
  const { before, lost } = sumOf(Object.values(receipt.kinds))
  const named: readonly (readonly [HeldKind, string])[] = [...TOLD, ["name", "names"], ["number", "numbers"]]
  return [
    ...headline(receipt, name!, screen),
    ...wrapped(
      `${lost} of ${before} are in neither the summary nor the restore; ctxbridge search finds them.`,
      columns,
    ),
    ...named.flatMap(([kind, title]) => {
      const items = namesOf(receipt.items[kind].lost, kind, showPath)
      return items.length === 0
        ? []
        : ["", style.red(title), ...items.map((item) => `  ${fit(item, columns - 2)}`)]
    }),
  ]
}

/** Latest first, without what another one says already. */
function namesOf(items: readonly string[], kind: HeldKind, showPath: ShowPath): string[] {
  const show = (item: string): string => {
    if (kind === "path") return showPath(item)
    if (kind === "command") return safe(item.replace(/^cd \S+ (?:&&|;) ?(?=\S)/, ""))
    return kind === "error" ? safe(item) : `"${safe(item)}"`
  }
  // A change of the folder says nothing by itself.
  const latest = items.toReversed().filter((item) => kind !== "command" || !/^cd \S+$/.test(item))
  const told = [...new Set(latest.map(show))]
  return told.filter(
    (one, n) => !told.some((other, at) => at !== n && other.length > one.length && other.includes(one)),
  )
}

/** As many as a line holds, then how many more there are. */
function fitted(items: readonly string[], width: number): string {
  for (let n = Math.min(items.length, 6); n > 1; n--) {
    const line = dotted(...items.slice(0, n), n < items.length && `${items.length - n} more`)
    if (Bun.stringWidth(line) <= width) return line
  }
  const more = items.length > 1 ? ` · ${items.length - 1} more` : ""
  const first = fit(items[0]!, width - more.length)
  // The end of a path says more than its beginning.
  const short =
    first.endsWith("…") && items[0]!.startsWith("/") ? `…${items[0]!.slice(1 - width + more.length)}` : first
  return short.length > LEAST_NAMED ? short + more : count(items.length, "item")
}

/** Whole columns: whatever there is of a part has at least one. */
function barOf(parts: Readonly<Record<Share, number>>, whole: number, columns: number, style: Style): string {
  const wide = SHARES.map((share) =>
    parts[share] === 0 ? 0 : Math.max(1, Math.round((parts[share] / whole) * columns)),
  )
  const widest = wide.indexOf(Math.max(...wide))
  wide[widest]! += columns - wide.reduce((a, b) => a + b)
  return SHARES.map((share, n) => style[SHOWN[share].colour](SHOWN[share].block.repeat(wide[n]!))).join("")
}

/** Columns from which a table is set off from what is above it. */
const INDENTED = 48

function renderCounts(kinds: Counts, { columns, style }: Screen): string[] {
  const numbers = ["before", "kept", "given", "lost"] as const
  const indent = columns < INDENTED ? "" : "  "
  const rows = HELD_KINDS.filter((kind) => kinds[kind].before > 0).map((kind) => [
    `${indent}${kind === "path" ? "file" : kind}s`,
    ...numbers.map((column) => String(kinds[kind][column])),
  ])
  if (rows.length === 0) return ["  nothing of these kinds"]
  const titles = numbers.map((column) => (column === "before" ? column : SHOWN[column].title))
  // What was there is what became of it together.
  const [first, ...others] = titles.map((title) => ({ title, align: "right" as const }))
  return renderTable([{ title: "" }, { ...first!, optional: true }, ...others], rows, columns, style)
}
