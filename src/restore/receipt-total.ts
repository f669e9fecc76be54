/** The sums over several receipts. Pure. */
import type { KindCounts, Receipt } from "./receipt.ts"
import { HELD_KINDS } from "./receipt.ts"

export function totalOf(receipts: readonly Receipt[]): Receipt["kinds"] {
  const sum = (all: readonly KindCounts[]): KindCounts =>
    all.reduce(
      (a, b) => ({
        before: a.before + b.before,
        kept: a.kept + b.kept,
        given: a.given + b.given,
        lost: a.lost + b.lost,
      }),
      { before: 0, kept: 0, given: 0, lost: 0 },
    )
  const kinds = HELD_KINDS.map((kind) => [kind, sum(receipts.map(({ kinds }) => kinds[kind]))])
  return Object.fromEntries(kinds) as Receipt["kinds"]
}
