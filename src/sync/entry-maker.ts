/** Makes entries of the turns in the archive, for as long as the views are open. What must not be sent is left out. */
import type { Database } from "../archive/database.ts"
import { isExcludedSession } from "../archive/excluded-session.ts"
import { projectOfSession } from "../archive/queries/projects.ts"
import { turnByHandle } from "../archive/queries/turns.ts"
import { currentTranscript } from "../archive/transcript-rows.ts"
import { meanVector } from "../archive/turn-vectors.ts"
import type { Entry, EntryVector } from "../backends/entry.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { linesOfTurn, readTurn, turnOf } from "../read/turn.ts"
import { filterText } from "../secrets/filter.ts"
import { codeOf } from "../util/errors.ts"
import { CopyReaders } from "../vault/reader.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { entryOfTurn } from "./turn-entry.ts"
import { machineName } from "./writer-name.ts"

type Fillers = ((session: string) => ((line: Uint8Array) => Uint8Array) | undefined) | undefined

/** What there is to say of a turn elsewhere. */
type MadeEntry =
  | { readonly entry: Entry; readonly isWithheld: boolean }
  | { readonly session: string; readonly leftOut: "excluded" | "unreadable" }

/** What holds for all turns of a session. */
interface SessionAtHand {
  readonly isForgotten: boolean
  readonly isExcluded: boolean
  /** Path. */
  readonly project: string | null
}

export class EntryMaker implements Disposable {
  readonly #db: Database
  readonly #place: PathsAndPolicy
  readonly #embedder: string | undefined
  readonly #fillerFor: Fillers
  readonly #readers = new CopyReaders()
  readonly #sessions = new Map<string, SessionAtHand>()

  /**
   * @param embedder whose vectors are sent; undefined: none
   * @param fillerFor what other machines have taken out
   */
  constructor(db: Database, place: PathsAndPolicy, embedder: string | undefined, fillerFor: Fillers) {
    this.#db = db
    this.#fillerFor = fillerFor
    // Whatever the user has switched off: what leaves the machine is filtered.
    this.#place = { ...place, secrets: { ...place.secrets, enabled: true } }
    this.#embedder = embedder
  }

  [Symbol.dispose](): void {
    this.#readers.close()
  }

  /**
   * @param handle with `ctx:`
   * @returns undefined for a turn that is gone, or about to be; `isWithheld`: it has a text that another machine has taken out
   */
  entryOf(handle: string): MadeEntry | undefined {
    const row = turnByHandle(this.#db, handle)
    if (row === null) return undefined
    const { isForgotten, isExcluded, project } = this.#session(row.session)
    if (isForgotten) return undefined
    if (isExcluded) return { session: row.session, leftOut: "excluded" }
    const { dataHome, secrets } = this.#place
    const turn = readIfReadable(() => readTurn(this.#db, dataHome, turnOf(row), this.#readers))
    if (turn === "unreadable") return { session: row.session, leftOut: turn }
    const fill = this.#fillerFor?.(row.session)
    const lines = fill === undefined ? [] : [...linesOfTurn(this.#db, dataHome, turnOf(row), this.#readers)]
    const entry = entryOfTurn(turn, {
      project,
      machine: machineName(),
      answer: row.answer,
      vector: this.#vectorOf(handle),
      filter: (text) => filterText(text, secrets),
    })
    return { entry, isWithheld: lines.some((line) => fill?.(line) !== line) }
  }

  #session(session: string): SessionAtHand {
    const known = this.#sessions.get(session)
    if (known !== undefined) return known
    const [db, place] = [this.#db, this.#place]
    const path = currentTranscript(db, session)?.path ?? ""
    const found = {
      isForgotten: forgottenOf(place.dataHome, session, path)?.whole === true,
      isExcluded: isExcludedSession(db, place, session),
      project: projectOfSession(db, session)?.path ?? null,
    }
    this.#sessions.set(session, found)
    return found
  }

  #vectorOf(handle: string): EntryVector | undefined {
    const embedder = this.#embedder
    const values = embedder === undefined ? undefined : meanVector(this.#db, handle, embedder)
    return values && { embedder: embedder!, values }
  }
}

function readIfReadable<T>(read: () => T): T | "unreadable" {
  try {
    return read()
  } catch (error) {
    // `verify` reports it.
    if (codeOf(error).startsWith("vault-")) return "unreadable"
    throw error
  }
}
