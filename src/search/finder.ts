/**
 * Finding turns in an archive. What a finder tells names nothing by a row of its database. What is kept elsewhere are
 * entries, whole turns as one text: far-finder.ts.
 */
import type { WholeTurn } from "../read/turn.ts"
import type { Correction } from "./corrected-query.ts"
import type { Hit } from "./hit.ts"
import type { Narrowing } from "./narrowing.ts"

export interface FinderRequest extends Narrowing {
  /** Any text. Empty: the newest of what passes the filters. */
  readonly query: string
  readonly limit: number
  /** Whether words that no message has stay as they are. Default: false, the nearest words are searched for. */
  readonly isExact?: boolean | undefined
  /** Whether to show only a hit's best message. Default: false. */
  readonly isBrief?: boolean | undefined
  /** UTF-16 units for the texts of each hit. Default: all hits share what a reader should get at once. */
  readonly room?: number | undefined
}

export interface FinderResult {
  /** Best first; each with its handle, session, project and time. */
  readonly hits: readonly Hit[]
  /** Whether there are more hits than were asked for. */
  readonly more: boolean
  /** Whether nothing had the query's phrases and fields, so these hits only contain words of it. */
  readonly isLoose: boolean
  /** Ids, versions and the like of which messages have only parts. */
  readonly partial?: readonly string[]
  /** Words that no message has, and what was searched for instead. */
  readonly corrections?: readonly Correction[]
}

export interface Finder {
  find(request: FinderRequest): FinderResult | Promise<FinderResult>
  /** @returns the whole turn that a hit's handle names; undefined if there is none */
  open(handle: string): Promise<WholeTurn | undefined>
}
