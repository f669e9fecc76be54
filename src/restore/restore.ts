/** What a session is given back: the same for the hooks and for whoever shows it beforehand. */
import type { Database } from "../archive/database.ts"
import { gather, type PendingPrompt } from "./gather.ts"
import type { Facts, RelatedLine } from "./material.ts"
import { type RenderOptions, renderRestore } from "./render.ts"

export interface Restore {
  /** `""`: there is nothing to give back, or no room for it. */
  readonly text: string
  /** Among which its lists were chosen. */
  readonly facts: Facts
  readonly related: readonly RelatedLine[]
}

export function restoreOf(
  db: Database,
  session: string,
  options: RenderOptions,
  pending?: PendingPrompt,
): Restore {
  const { facts, related, ...rest } = gather(db, session, pending, options.related)
  return { text: renderRestore({ ...rest, facts, related }, options), facts, related }
}
