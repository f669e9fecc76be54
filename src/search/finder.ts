/** Finding turns, wherever they are kept. What a finder tells names nothing by a row of its database. */
import type { WholeTurn } from "../read/turn.ts"
import type { Hit } from "./hit.ts"
import type { Narrowing } from "./narrowing.ts"

export interface FinderRequest extends Narrowing {
  /** Any text. Empty: the newest of what passes the filters. */
  readonly query: string
  readonly limit: number
  /** Whether to show only a hit's best message. Default: false. */
  readonly isBrief?: boolean | undefined
}

export interface FinderResult {
  /** Best first; each with its handle, session, project and time. */
  readonly hits: readonly Hit[]
  /** Whether there are more hits than were asked for. */
  readonly more: boolean
  /** Whether nothing had the query's phrases and fields, so these hits only contain words of it. */
  readonly isLoose: boolean
}

export interface Finder {
  find(request: FinderRequest): FinderResult | Promise<FinderResult>
  /** @returns the whole turn that a hit's handle names; undefined if there is none */
  open(handle: string): Promise<WholeTurn | undefined>
}
