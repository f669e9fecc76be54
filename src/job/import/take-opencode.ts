/**
 * Brings opencode's sessions into the vault, each as a transcript of lines made of its rows. A line is appended once its
 * row is whole, and again if that changes, so a copy only grows. Needs no database of ours.
 */
import {
  dataOf,
  messagePieces,
  pieceIn,
  pieceLine,
  type StoredMessage,
  type StoredPiece,
  sessionPiece,
  sha256Hex,
} from "../../agents/opencode/opencode-lines.ts"
import { opencodeSession } from "../../agents/opencode/opencode-places.ts"
import { objectOf, stringOf } from "../../record/json.ts"
import { FILLER } from "../../secrets/fill.ts"
import { FILTERED } from "../../secrets/filter.ts"
import { appendMade, type Made } from "../../vault/append-made.ts"
import type { Taken } from "../../vault/capture.ts"
import { ValuesInMemory } from "../../vault/known-values.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { markPending } from "../../vault/pending.ts"
import { archivedIn } from "../../vault/reader.ts"
import { forgottenOf } from "../../vault/tombstones.ts"
import { isExcludedFolder } from "../../views/excluded.ts"
import { readDatabase, type StoredSession, timeOf, withStored } from "./opencode-store.ts"
import {
  hasNews,
  type MadePlace,
  type MadeTaken,
  noteLeftOut,
  noteSeen,
  nothingTaken,
  seenOf,
  type TakeMade,
} from "./taken-made.ts"

/** UTF-16 units of lines that are appended at a time: all of a session may not fit into memory. */
const MOST = 8 << 20
/** The same where somebody waits: as long as it takes, no deadline is seen. */
const MOST_HURRIED = 1 << 20
/** A value that was filled has no fewer bytes. */
const FILLED = String.fromCharCode(FILLER).repeat(8)
/**
 * ms after which nobody seems to be writing a message any more that was not finished. While the model says a long thing,
 * or a program runs, nothing is written either, so what is taken then is marked as a half.
 */
const ABANDONED = 10 * 60_000
/** ms after which a prompt has all of its parts. */
const WHOLE_SOON = 5000
/** ms of opencode's time that are read again: of rows that are written at once, one may be seen before another. */
const OVERLAP = 60_000

/**
 * @param path of a session, or of a database that could not be read, to tell why
 * @throws CtxError `foreign-unknown`, `busy`; any error of SQLite's
 */
export function takeOpencode(place: MadePlace, path: string, options: TakeMade): MadeTaken {
  const named = opencodeSession(path)
  if (named === undefined) {
    readDatabase(path)
    return nothingTaken(place, { path, copy: vaultPath(path, place.home), session: "" }, "current")
  }
  const { folder, session: id } = named
  const copy = vaultPath(path, place.home)
  const file = vaultFile(place.dataHome, copy)
  return withStored(folder, id, (session) => {
    const nothing = (state: Taken["captured"]["state"], isExcluded = false): MadeTaken =>
      nothingTaken(place, { path, copy, session: id }, state, isExcluded)
    if (session === undefined) return nothing("missing")
    const forgotten = forgottenOf(place.dataHome, id, path)
    if (forgotten?.whole === true) return nothing("forgotten")
    const directory = stringOf(session.row["directory"])
    if (directory === undefined ? (place.exclude ?? []).length > 0 : isExcludedFolder(place, directory)) {
      if (options.dryRun !== true) noteLeftOut(place, path, session.updated)
      return nothing("current", true)
    }
    if (options.isWhole !== true && !hasNews(place, path, session.updated)) return nothing("current")
    const taking = { path, copy, file, id, session, edit: forgotten?.edit }
    const { taken, altered, isBehind } = new Taker(place, taking, options).take()
    const rest = nothing(isBehind ? "behind" : "current")
    return { ...rest, captured: { ...rest.captured, taken }, altered }
  })
}

interface Taking {
  readonly path: string
  readonly copy: string
  readonly file: string
  readonly id: string
  readonly session: StoredSession
  /** Fills what the user wants forgotten. */
  readonly edit: ((content: Uint8Array, from: number) => Uint8Array) | undefined
}

class Taker {
  readonly #place: MadePlace
  readonly #taking: Taking
  readonly #options: TakeMade
  /** Each piece as it was last appended. */
  #held = new Map<string, Pick<StoredPiece, "sha256" | "isOpen">>()
  /** The same with what is being appended. */
  #next = this.#held
  /** Bytes of the copy that `#held` is of. */
  #heldTo = -1
  #altered = 0
  /** Whether something in the copy may have been filled as a secret. */
  #hasFilled = false
  /** What was recognised as one in this session: it is taken in several goes. */
  readonly #values = new ValuesInMemory()
  /** Whether something is not whole yet. */
  #isOpen = false

  constructor(place: MadePlace, taking: Taking, options: TakeMade) {
    this.#place = place
    this.#taking = taking
    this.#options = options
  }

  take(): { readonly taken: number; readonly altered: number; readonly isBehind: boolean } {
    const { dryRun = false, isWhole = false, deadline } = this.#options
    const { path, session, file } = this.#taking
    const seen = isWhole ? undefined : seenOf(this.#place, path)
    const since = seen === undefined ? 0 : seen.updated - OVERLAP
    const most = deadline === undefined ? MOST : MOST_HURRIED
    let taken = 0
    let isBehind = false
    // What is left after so many bytes is appended next; without writing, all is counted at once.
    const pieces = this.#pieces(since)[Symbol.iterator]()
    for (let isDone = false; !isDone && !isBehind; ) {
      const some: StoredPiece[] = []
      let length = 0
      while (!isDone && (length < most || dryRun)) {
        const next = pieces.next()
        if (next.done === true) isDone = true
        else {
          some.push(next.value)
          length += next.value.body.length
        }
      }
      const made = this.#append(some)
      taken += made.taken
      isBehind = made.isLate ?? (!isDone && performance.now() > (deadline ?? Number.POSITIVE_INFINITY))
    }
    // Without a note, the next call looks at all of it again, and takes what is missing.
    if (!dryRun && !this.#isOpen && !isBehind)
      noteSeen(this.#place, path, { updated: session.updated, to: archivedIn(file) })
    return { taken, altered: this.#altered, isBehind }
  }

  /** Of messages that have changed since then, as far as they are whole. */
  *#pieces(since: number): Generator<StoredPiece> {
    const { session, id } = this.#taking
    yield sessionPiece(session.row)
    for (const message of session.messagesSince(since)) {
      const { pieces, isOpen } = messagePieces(id, message, this.#isOver(message))
      yield* pieces
      if (!isOpen) continue
      this.#isOpen = true
      return
    }
  }

  /** Whether nobody writes a message any more. */
  #isOver({ row, parts }: StoredMessage): boolean {
    const { updated, lastAnswer } = this.#taking.session
    const { role, time } = dataOf(row)
    const created = timeOf(objectOf(time)["created"] ?? row["time_created"])
    if (lastAnswer > created) return true
    // A session's own time says nothing of it: it changes with a name, and does not with each step of an answer.
    const changes = [row, ...parts].flatMap((one) =>
      one["time_updated"] === undefined ? [] : timeOf(one["time_updated"]),
    )
    const last = Math.max(created, ...(changes.length === 0 ? [updated] : changes))
    return this.#options.now - last > (role === "user" ? WHOLE_SOON : ABANDONED)
  }

  #append(pieces: readonly StoredPiece[]): Made {
    const { dataHome, secrets = FILTERED } = this.#place
    const { path, copy, file, id, edit = (content: Uint8Array) => content } = this.#taking
    const made = appendMade({
      copy: file,
      path,
      now: this.#options.now,
      dryRun: this.#options.dryRun ?? false,
      deadline: this.#options.deadline,
      secrets,
      edit: (content) => edit(content, 0),
      values: this.#values,
      earlier: () => (this.#hasFilled ? this.#all() : []),
      choose: (held) => this.#choose(pieces, held, edit),
      onBegin: () => markPending(dataHome, { path, copy, session: id }),
    })
    this.#held = this.#next
    this.#heldTo = made.before + made.taken
    return made
  }

  #choose(
    pieces: readonly StoredPiece[],
    held: Iterable<Uint8Array>,
    edit: NonNullable<Taking["edit"]>,
  ): string[] {
    // Nobody else has appended since.
    if (this.#heldTo < 0 || archivedIn(this.#taking.file) !== this.#heldTo) this.#read(held)
    const known = new Map(this.#held)
    const lines = pieces.flatMap((piece) => {
      const before = known.get(piece.row)
      if (before?.sha256 === piece.sha256) return []
      const line = pieceLine(piece, before)
      known.set(piece.row, piece)
      // What is filled as a whole cannot be known again, and would be appended each time.
      return edit(Buffer.from(line), 0)[0] === FILLER ? [] : [line]
    })
    this.#next = known
    return lines
  }

  #read(held: Iterable<Uint8Array>): void {
    this.#held = new Map()
    const isVerifying = this.#options.isWhole === true && this.#options.dryRun === true
    for (const content of held) {
      const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
      this.#hasFilled ||= bytes.includes(FILLED)
      for (const line of bytes.toString("utf8").split("\n")) {
        const piece = pieceIn(line)
        if (piece === undefined) continue
        this.#held.set(piece.row, { sha256: piece.sha256, isOpen: piece.isOpen })
        // What was filled as a secret, or is forgotten, is no longer what was read.
        if (isVerifying && !line.includes("*") && sha256Hex(piece.body) !== piece.sha256) this.#altered++
      }
    }
  }

  /** All lines that there are: what was recognised as a secret in one is filled in the others. */
  *#all(): Generator<string> {
    const { session, id } = this.#taking
    for (const message of session.messagesSince(0))
      for (const piece of messagePieces(id, message, true).pieces) yield pieceLine(piece)
  }
}
