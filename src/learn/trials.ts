/** What became of each slot of a restore. Pure. */
import type { TriedRestore } from "../archive/queries/followed-uses.ts"
import type { SlotKind } from "../restore/slots.ts"
import { isSlotKind } from "./follow-uses.ts"

export interface Trial {
  readonly kind: SlotKind
  readonly text: string
  readonly cell: string
  /** false: left out by chance. */
  readonly shown: boolean
  /** Before anything else had shown it. */
  readonly used: boolean
  /** Only after something else had: it had to be found. */
  readonly found: boolean
}

/** Without what the context had anyway. */
export function trialsOf({ items, letters }: Pick<TriedRestore, "items" | "letters">): Trial[] {
  return items.flatMap(([kind, text, , cell, shown], n) => {
    const letter = letters[n]
    if (!isSlotKind(kind) || letter === undefined || letter === "h") return []
    return [{ kind, text, cell, shown: shown === 1, used: letter === "u", found: letter === "f" }]
  })
}
