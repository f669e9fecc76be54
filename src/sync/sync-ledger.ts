/**
 * What a target has been told: one file per target in `sync/`, by the target's own id, to which each batch appends a few
 * lines once it is safe there. It holds names and hashes, no text. If it is lost, everything is sent again, and the
 * target knows it.
 */

import type { Watermark } from "../archive/queries/touched-files.ts"
import type { Tally } from "../backends/backend.ts"
import type { Target } from "../backends/open-target.ts"
import { tryTo, writePrivate, writeWhole } from "../util/files.ts"
import { appendFileSync, readFileSync } from "../util/fs.ts"
import { hashName, parseLines, readJson, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"
import type { Tombstone } from "../vault/tombstones.ts"

/** What is known of a turn there. */
export interface SentTurn {
  /** With `ctx:`. */
  readonly handle: string
  /** As `changesSince` has it. */
  readonly state: string
  /** The entry's. */
  readonly id: string
  readonly key: string
  readonly session: string
  readonly messages: number
  readonly hasVector: boolean
}

/** A tombstone that the target knows of: a hash of its session, and when it was written. */
interface ToldTombstone {
  readonly tombstone: string
  readonly time: number
}

/** The views as they were when nothing in them was left to send, and what else that depends on. */
interface SeenViews {
  readonly views: string
}

/** Whether a sync is under way, or was when its process ended: then more may be there than is noted. */
interface UnderWay {
  readonly sending: boolean
}

/** What was there when the last sync ended: turns by writer where that is known, and what was forgotten. */
export interface SeenThere {
  readonly tally?: Tally | undefined
  readonly forgotten: number
}

const isSent = (line: object): line is SentTurn => "handle" in line && "state" in line

export const syncFolder = (dataHome: string): string => join(dataHome, "sync")

export class Ledger {
  readonly turns = new Map<string, SentTurn>()
  /** A turn in which a text was filled has another handle, but the same key. */
  readonly #handles = new Map<string, string>()
  readonly #tombstones = new Map<string, number>()
  readonly #file: string
  #seen: string | undefined
  #there: SeenThere | undefined
  #isWhole = false
  #lines = 0
  /** Whether the file ends with a newline. A killed process may have left half a line, which nobody reads. */
  #hasNewline = false

  /** @param target the backend's id */
  constructor(dataHome: string, target: string) {
    this.#file = join(syncFolder(dataHome), `${hashName(target)}.jsonl`)
    const text = tryTo(() => readFileSync(this.#file, "utf8")) ?? ""
    for (const line of parseLines(text)) this.#take(line as object)
  }

  get watermark(): Watermark {
    return new Map([...this.turns].map(([handle, { state }]) => [handle, state]))
  }

  /** The views that were sent as a whole; undefined if something was left out, or changed while it was sent. */
  get seen(): string | undefined {
    return this.#seen
  }

  get there(): SeenThere | undefined {
    return this.#there
  }

  /** Whether all that was sent is noted here: the last sync came to its end, and nobody has lost what it noted. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Call before anything is sent, and when all of it is noted. */
  noteSending(sending: boolean): void {
    if (sending === this.#isWhole) this.#append([{ sending }])
  }

  /** Notes what is there now. */
  noteThere(there: SeenThere): void {
    if (!Bun.deepEquals(there, this.#there)) this.#append([{ there }])
  }

  /** What was sent of a turn before. */
  former(handle: string, key: string): SentTurn | undefined {
    const known = this.turns.get(handle) ?? this.turns.get(this.#handles.get(key) ?? "")
    // Of a turn that has another number by now, the key is another turn's.
    return known?.handle === handle || known?.key === key ? known : undefined
  }

  knows({ session, time }: Tombstone): boolean {
    return this.#tombstones.get(hashName(session)) === time
  }

  /** Notes what has just been committed there. */
  add(turns: readonly SentTurn[]): void {
    this.#append(turns)
  }

  /** Notes that all of this is carried out there, and drops the turns that are no more. */
  settle(tombstones: readonly Tombstone[], gone: readonly string[], seen: string | undefined): void {
    if (seen !== undefined && seen !== this.#seen) this.#append([{ views: seen }])
    this.#append(tombstones.map(({ session, time }) => ({ tombstone: hashName(session), time })))
    for (const handle of gone) this.turns.delete(handle)
    const current = [
      ...this.turns.values(),
      ...[...this.#tombstones].map(([tombstone, time]) => ({ tombstone, time })),
      ...(this.#seen === undefined ? [] : [{ views: this.#seen }]),
      ...(this.#there === undefined ? [] : [{ there: this.#there }]),
      { sending: !this.#isWhole },
    ]
    if (gone.length === 0 && this.#lines < 2 * current.length + 1000) return
    writeWhole(this.#file, current.map((line) => `${JSON.stringify(line)}\n`).join(""))
    this.#lines = current.length
  }

  #append(
    lines: readonly (SentTurn | ToldTombstone | SeenViews | UnderWay | { readonly there: SeenThere })[],
  ): void {
    if (lines.length === 0) return
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
    if (this.#lines === 0) writePrivate(this.#file, text)
    else appendFileSync(this.#file, this.#hasNewline ? text : `\n${text}`, { mode: 0o600 })
    this.#hasNewline = true
    for (const line of lines) this.#take(line)
  }

  #take(line: object): void {
    this.#lines++
    if (isSent(line)) {
      const before = this.#handles.get(line.key)
      if (before !== undefined && before !== line.handle) this.turns.delete(before)
      this.#handles.set(line.key, line.handle)
      this.turns.set(line.handle, line)
    } else if ("tombstone" in line) {
      const { tombstone, time } = line as ToldTombstone
      this.#tombstones.set(tombstone, time)
    } else if ("views" in line) this.#seen = (line as SeenViews).views
    else if ("sending" in line) this.#isWhole = !(line as UnderWay).sending
    else if ("there" in line) this.#there = (line as { there: SeenThere }).there
  }
}

/** The last sync with a target. */
export interface LastSync {
  readonly kind: Target["kind"]
  /** As shown to people. */
  readonly target: string
  /** The backend's id. */
  readonly id: string
  /** ISO 8601. */
  readonly time: string
  /** Of a folder. */
  readonly encrypted?: boolean
  /** Targets that come first and did not answer then. */
  readonly passed?: readonly { readonly target: string; readonly code: string }[]
}

const lastFile = (dataHome: string): string => join(syncFolder(dataHome), "targets.json")

/** The targets that something was sent to, the latest first. */
export function lastSyncs(dataHome: string): LastSync[] {
  const all = readJson(lastFile(dataHome))
  return Array.isArray(all) ? (all as LastSync[]) : []
}

export const noteSync = (dataHome: string, last: LastSync): void =>
  writeJson(lastFile(dataHome), [last, ...lastSyncs(dataHome).filter(({ target }) => target !== last.target)])
