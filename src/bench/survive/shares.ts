/** Shares of the needed facts that a text contains. Pure. */
import { FACT_KINDS, type FactKind } from "../../transcript/facts.ts"
import type { Needed } from "./needed.ts"

export type Shares = Readonly<Record<FactKind, number | undefined>>

/** Share of the needed facts of each kind; undefined when none was needed. */
export function shares(needed: Needed, holds: (kind: FactKind, fact: string) => boolean): Shares {
  const share = (kind: FactKind): number | undefined => {
    const facts = needed[kind]
    return facts.length === 0 ? undefined : facts.filter((fact) => holds(kind, fact)).length / facts.length
  }
  return Object.fromEntries(FACT_KINDS.map((kind) => [kind, share(kind)])) as unknown as Shares
}

/** The needed facts that a text does not contain. */
export function missing(needed: Needed, holds: (kind: FactKind, fact: string) => boolean): Needed {
  const lacks = (kind: FactKind): string[] => needed[kind].filter((fact) => !holds(kind, fact))
  return Object.fromEntries(FACT_KINDS.map((kind) => [kind, lacks(kind)])) as unknown as Needed
}

/** Means over several compactions, for each kind over those where it was needed; `mean` is over the kinds. */
export function meanShares(all: readonly Shares[]): Shares & { readonly mean: number | undefined } {
  const kinds = FACT_KINDS.map((kind) => [kind, mean(all.map((one) => one[kind]))] as const)
  return { ...(Object.fromEntries(kinds) as unknown as Shares), mean: mean(kinds.map(([, share]) => share)) }
}

export function mean(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length
}
