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

export interface RestoreOptions extends RenderOptions {
  /** What is asked now, where no prompt is pending: turns of other sessions shall be about it. */
  readonly about?: string | undefined
}

export function restoreOf(
  db: Database,
  session: string,
  options: RestoreOptions,
  pending?: PendingPrompt,
): Restore {
  const { facts, related, ...rest } = gather(db, session, pending, options.related, options.about)
  return { text: renderRestore({ ...rest, facts, related }, options), facts, related }
}
