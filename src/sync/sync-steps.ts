/** A sync is a table of steps over one value: what runs them, and what they know of the world. Pure. */

import type { PathsAndPolicy } from "../config/load.ts"
import type { Database } from "../views/database.ts"

export interface SyncStep<Work extends { readonly wanted: object }> {
  readonly name: string
  /** Unless the user has asked for this, the step is passed over. */
  readonly needs?: keyof Work["wanted"]
  /** Left out: always. */
  due?(work: Work): boolean
  run(work: Work): void | Promise<void>
}

/** Runs what is due, one after the other; what one of them throws ends the sync. What was committed before stays. */
export async function runSyncSteps<Work extends { readonly wanted: object }>(
  steps: readonly SyncStep<Work>[],
  work: Work,
): Promise<void> {
  for (const { needs, due, run } of steps) {
    if (needs !== undefined && work.wanted[needs as keyof typeof work.wanted] !== true) continue
    if (due?.(work) ?? true) await run(work)
  }
}

export interface SyncWorld {
  readonly place: PathsAndPolicy
  /** Opens the views for one look: whoever wants them alone need not wait for the network. */
  readonly look: <T>(use: (db: Database) => T) => T
  readonly onProgress?: (label: string, done: number, total: number) => void
  /** Called before each batch; what it throws ends the sync. */
  readonly goOn?: () => void
  /** Where frames are kept. */
  readonly others?: OthersThere
}

/** What other machines have done at the target. */
export interface OthersThere {
  /** Whether whoever sent the bytes of this copy of the vault has sent its turns, too. */
  isTheirs(copy: string): boolean
  /** Fills in lines of a session what anybody has taken out; undefined if that is nothing. */
  fillerFor(session: string): ((line: Uint8Array) => Uint8Array) | undefined
  /** Sessions out of which anybody has taken something; none if that is no more than at the last sync. */
  readonly newlyFilled: readonly string[]
  /** Another one whenever they have taken out more. */
  readonly fillsStamp: string
  /** Looks again at what was taken out. */
  look(): Promise<void>
}
