/** Renders receipts as tables for people. Pure. */

import { count } from "../base/text.ts"
import type { DeliveryProof, Receipt } from "../restore/receipt.ts"
import { HELD_KINDS } from "../restore/receipt.ts"
import { tokensOf } from "../restore/receipt-line.ts"
import { renderTable } from "./block.ts"
import { shortIds } from "./render-session.ts"
import type { Screen } from "./screen.ts"
import { ago } from "./screen.ts"
import { safe } from "./style.ts"

type Counts = Receipt["kinds"]

export const PROOFS: Readonly<Record<DeliveryProof, string>> = {
  arrived: "arrived",
  "arrived-later": "arrived at a later prompt",
  lost: "did not arrive",
  open: "not confirmed yet",
  untold: "this version of Claude Code does not say whether it arrived",
  "nothing-given": "",
}

export function renderReceipts(receipts: readonly Receipt[], total: Counts, screen: Screen): string[] {
  const names = shortIds(receipts.map(({ session }) => session))
  const lines = receipts.flatMap((receipt, n) => [
    screen.style.bold(headline(receipt, names[n]!, screen.now)),
    ...renderCounts(receipt.kinds, screen),
    "",
  ])
  if (receipts.length > 1) {
    lines.push(screen.style.bold(`Together, ${count(receipts.length, "compaction")}`))
    lines.push(...renderCounts(total, screen), "")
  }
  return [
    ...lines,
    "Kept and restored: there word for word, or by an unambiguous short name. Tokens: characters / 3.5.",
  ]
}

function headline(receipt: Receipt, name: string, now: number): string {
  const { time, trigger, preTokens, characters, delivery } = receipt
  const tokens = preTokens === null ? "" : ` at ${preTokens.toLocaleString("en-US")} tokens`
  const size = `${count(characters, "character")} (about ${count(tokensOf(characters), "token")})`
  const given = characters === 0 ? "nothing restored" : `restored ${size}, ${PROOFS[delivery]}`
  return `${safe(name)}  ${ago(time, now)}  ${safe(trigger)}${tokens}: ${given}`
}

function renderCounts(kinds: Counts, { columns, style }: Screen): string[] {
  const numbers = ["before", "kept", "given", "lost"] as const
  const rows = HELD_KINDS.filter((kind) => kinds[kind].before > 0).map((kind) => [
    `  ${kind}s`,
    ...numbers.map((column) => String(kinds[kind][column])),
  ])
  if (rows.length === 0) return ["  nothing of these kinds"]
  const titles = numbers.map((column) => (column === "given" ? "restored" : column))
  const head = [{ title: "" }, ...titles.map((title) => ({ title, align: "right" as const }))]
  return renderTable(head, rows, columns, style)
}
