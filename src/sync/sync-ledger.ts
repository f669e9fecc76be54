/**
 * What this machine knows of targets, in `sync/`: what each has been told, what of its frames was compared and fetched, when
 * the last sync was, and what this archive is called there. Names and hashes, no text.
 */
import { hostname } from "node:os"
import { tryTo, writePrivate, writeWhole } from "../base/files.ts"
import { appendFileSync, readFileSync } from "../base/fs.ts"
import { hashName, parseJson, parseLines, readJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { isFetchedCopy, machineOf } from "../vault/layout.ts"
import type { Tombstone } from "../vault/tombstone.ts"
import { fileState } from "../views/kept-pages.ts"
import type { ViewsMark, Watermark } from "../views/queries/touched-files.ts"
import type { NamedTarget } from "./targets/open-target.ts"
import { pieceKey, type VaultPiece } from "./targets/pieces.ts"
import type { Tally } from "./targets/target.ts"

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

/** What was there when the last sync ended: turns by writer where that is known, and what was forgotten. */
interface SeenThere {
  readonly tally?: Tally | undefined
  readonly forgotten: number
}

type LedgerLine =
  | SentTurn
  /** That the target knows of: a hash of its session, and when it was written. */
  | { readonly tombstone: string; readonly time: number }
  /** As they were when nothing in them was left to send, and what else that depends on. */
  | { readonly views: string }
  /** Whether a sync is under way, or was when its process ended: then more may be there than is noted. */
  | { readonly sending: boolean }
  | { readonly there: SeenThere }

/** The views, as they were when all in them was as it was sent, but for what is named. */
interface LookedAt {
  readonly mark: ViewsMark
  /** Whose vectors were sent. */
  readonly embedder: string | null
  /** Sessions with turns that were due and could not be sent. */
  readonly left: readonly string[]
}

/** What the last sync has left to the next one, so that it need not read the ledger. */
interface LastLook {
  /** The ledger's file as it was: whoever else has written to it is not known here. */
  readonly ledger: string
  readonly lines: number
  readonly turns: number
  readonly tombstones: Readonly<Record<string, number>>
  readonly views?: string | undefined
  readonly there?: SeenThere | undefined
  readonly looked: LookedAt
  /** Handles of turns that were sent without a vector, if there is a model. */
  readonly bare: readonly string[]
}

/** Families whose lines are looked for one by one; for more, all lines are read. */
const MOST_FAMILIES = 16
const NEWLINE = 10

export const syncFolder = (dataHome: string): string => join(dataHome, "sync")

/**
 * What a target has been told: one file per target, by the target's own id, to which each batch appends a few lines once it
 * is safe there. If it is lost, everything is sent again, and the target knows it. A file beside it tells what it comes to,
 * so that whoever has little to send reads little of it.
 */
export class Ledger {
  readonly #turns = new Map<string, SentTurn>()
  /** A turn in which a text was filled has another handle, but the same key. */
  readonly #handles = new Map<string, string>()
  readonly #tombstones = new Map<string, number>()
  readonly #file: string
  readonly #lastFile: string
  readonly #last: LastLook | undefined
  #isRead: "no" | "in part" | "whole" = "no"
  #seen: string | undefined
  #there: SeenThere | undefined
  #isWhole = false
  #lines = 0
  /** Whether the file ends with a newline. A killed process may have left half a line, which nobody reads. */
  #hasNewline = false

  /** @param target the target's id */
  constructor(dataHome: string, target: string) {
    const name = join(syncFolder(dataHome), hashName(target))
    this.#file = `${name}.jsonl`
    this.#lastFile = `${name}.last.json`
    const last = readJson(this.#lastFile) as LastLook | undefined
    if (last === undefined || last.ledger !== fileState(this.#file)) {
      this.#readWhole()
      return
    }
    this.#last = last
    this.#lines = last.lines
    this.#seen = last.views
    this.#there = last.there
    this.#isWhole = true
    for (const [session, time] of Object.entries(last.tombstones)) this.#tombstones.set(session, time)
  }

  /** Of all turns that were sent; once some families were read alone, of these. */
  get turns(): ReadonlyMap<string, SentTurn> {
    if (this.#isRead === "no") this.#readWhole()
    return this.#turns
  }

  get watermark(): Watermark {
    return new Map([...this.turns].map(([handle, { state }]) => [handle, state]))
  }

  /** Undefined: all must be looked at. */
  get looked(): LookedAt | undefined {
    return this.#last?.looked
  }

  /** Handles of the turns that were sent without a vector. */
  get bare(): ReadonlySet<string> {
    if (this.#isRead === "no" && (this.looked?.embedder ?? null) === null) this.#readWhole()
    const bare = new Set(this.#isRead === "whole" ? [] : this.#last?.bare)
    for (const { handle, hasVector } of this.#turns.values()) {
      if (hasVector) bare.delete(handle)
      else bare.add(handle)
    }
    return bare
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

  /** For whoever asks for no other turns than those of these families. */
  readFamilies(families: ReadonlySet<string>): void {
    if (this.#isRead !== "no" || families.size > MOST_FAMILIES) return
    this.#isRead = "in part"
    const all = families.size === 0 ? Buffer.alloc(0) : readFileSync(this.#file)
    for (const family of families) {
      // Also of sessions whose names only begin so, which harms nobody.
      const name = Buffer.from(`"session":${JSON.stringify(family).slice(0, -1)}`)
      for (let at = all.indexOf(name); at >= 0; at = all.indexOf(name, at + 1)) {
        const start = all.lastIndexOf(NEWLINE, at) + 1
        const line = parseJson(all.toString("utf8", start, all.indexOf(NEWLINE, at)))
        if (line !== undefined) this.#note(line as LedgerLine)
      }
    }
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
    const turns = this.#isRead === "whole" ? this.#turns.size : (this.#last?.turns ?? 0)
    if (gone.length === 0 && this.#lines < 2 * (turns + this.#tombstones.size) + 1000) return
    if (this.#isRead !== "whole") this.#readWhole()
    for (const handle of gone) this.#turns.delete(handle)
    const current = [
      ...this.#turns.values(),
      ...[...this.#tombstones].map(([tombstone, time]) => ({ tombstone, time })),
      ...(this.#seen === undefined ? [] : [{ views: this.#seen }]),
      ...(this.#there === undefined ? [] : [{ there: this.#there }]),
      { sending: !this.#isWhole },
    ]
    writeWhole(this.#file, current.map((line) => `${JSON.stringify(line)}\n`).join(""))
    this.#lines = current.length
  }

  /**
   * Notes how the views were when this sync began. Call when all else is noted, and nothing is under way.
   *
   * @param looked undefined: they are as they were at the last sync
   */
  noteLooked(looked = this.looked): void {
    const ledger = fileState(this.#file)
    if (looked === undefined || (looked === this.looked && ledger === this.#last?.ledger)) return
    const last: LastLook = {
      ledger,
      lines: this.#lines,
      turns: this.#isRead === "whole" ? this.#turns.size : (this.#last?.turns ?? 0),
      tombstones: Object.fromEntries(this.#tombstones),
      views: this.#seen,
      there: this.#there,
      looked,
      bare: looked.embedder === null ? [] : [...this.bare],
    }
    writeJson(this.#lastFile, last)
  }

  #readWhole(): void {
    this.#isRead = "whole"
    this.#lines = 0
    this.#turns.clear()
    this.#handles.clear()
    const text = tryTo(() => readFileSync(this.#file, "utf8")) ?? ""
    for (const line of parseLines(text)) this.#take(line as LedgerLine)
  }

  #append(lines: readonly LedgerLine[]): void {
    if (lines.length === 0) return
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("")
    if (this.#lines === 0) writePrivate(this.#file, text)
    else appendFileSync(this.#file, this.#hasNewline ? text : `\n${text}`, { mode: 0o600 })
    this.#hasNewline = true
    for (const line of lines) this.#take(line)
  }

  #take(line: LedgerLine): void {
    this.#lines++
    this.#note(line)
  }

  #note(line: LedgerLine): void {
    if ("handle" in line && "state" in line) {
      const before = this.#handles.get(line.key)
      if (before !== undefined && before !== line.handle) this.#turns.delete(before)
      this.#handles.set(line.key, line.handle)
      this.#turns.set(line.handle, line)
    } else if ("tombstone" in line) this.#tombstones.set(line.tombstone, line.time)
    else if ("views" in line) this.#seen = line.views
    else if ("sending" in line) this.#isWhole = !line.sending
    else if ("there" in line) this.#there = line.there
  }
}

/** How far a copy was fetched, and a hash of what was there then. */
interface Fetched {
  readonly to: number
  readonly digest: string
}

const pieceHash = ({ to, sha256, frame }: VaultPiece): string =>
  `${to} ${sha256.slice(0, 16)} ${Bun.hash.xxHash64(frame).toString(36)}`

/**
 * What is known of the frames at a target. Only what is costly to find out: if it is lost, copies are compared with what is
 * there, byte by byte, once.
 */
export class FrameState {
  /** By the copy's id: the file as it was when it was last compared with what is there. */
  readonly compared = new Map<string, string>()
  /** By the copy's id: how far it was there when the last sync ended. */
  readonly sent = new Map<string, number>()
  /** Of the files there that this machine writes, as they were then. */
  stamps: Readonly<Record<string, string>>
  /** By `<machine>/<id>`. */
  readonly fetched = new Map<string, Fetched>()
  /** Pieces that are not what they say, and a hash of each: they are not unpacked again until they are others. */
  readonly #refused = new Map<string, string>()
  /** Hash of what was taken out of lines by anybody, when the turns were last looked at. */
  fills: string
  /** What was told of damage there, which is told once. */
  told: readonly string[]
  /** Machines of which something was fetched. */
  readonly #machines: Set<string>
  readonly #file: string

  /** @param target the target's id */
  constructor(dataHome: string, target: string) {
    this.#file = join(syncFolder(dataHome), `${hashName(target)}.frames.json`)
    const { machines, compared, sent, stamps, told, fetched, fills, refused } = (readJson(this.#file) ??
      {}) as {
      machines?: readonly string[]
      refused?: Record<string, string>
      fills?: string
      told?: readonly string[]
      sent?: Record<string, number>
      stamps?: Record<string, string>
      compared?: Record<string, string>
      fetched?: Record<string, Fetched>
    }
    this.#machines = new Set(machines)
    this.fills = fills ?? ""
    this.told = told ?? []
    this.stamps = stamps ?? {}
    for (const [id, to] of Object.entries(sent ?? {})) this.sent.set(id, to)
    for (const [id, stamp] of Object.entries(compared ?? {})) this.compared.set(id, stamp)
    for (const [name, one] of Object.entries(fetched ?? {})) this.fetched.set(name, one)
    for (const [name, hash] of Object.entries(refused ?? {})) this.#refused.set(name, hash)
  }

  /** Notes, before anything is fetched, whose copies may come. */
  expect(machines: readonly string[]): void {
    if (machines.every((machine) => this.#machines.has(machine))) return
    for (const machine of machines) this.#machines.add(machine)
    this.save()
  }

  /** Whether a copy of the vault mirrors one at this target: whoever sent its bytes has sent its turns, too. */
  isTheirs(copy: string): boolean {
    return isFetchedCopy(copy) && this.#machines.has(machineOf(copy))
  }

  isRefused(piece: VaultPiece): boolean {
    const known = this.#refused.get(pieceKey(piece))
    return known !== undefined && known === pieceHash(piece)
  }

  /** Notes whether a piece is what it says. */
  judge(piece: VaultPiece, isSound: boolean): void {
    if (isSound) this.#refused.delete(pieceKey(piece))
    else this.#refused.set(pieceKey(piece), pieceHash(piece))
  }

  /** Drops what is noted of pieces that are no more. */
  keepRefused(there: ReadonlySet<string>): void {
    for (const name of this.#refused.keys()) if (!there.has(name)) this.#refused.delete(name)
  }

  save(): void {
    const machines = [...this.#machines]
    const compared = Object.fromEntries(this.compared)
    writeJson(this.#file, {
      machines,
      fills: this.fills,
      told: this.told,
      compared,
      sent: Object.fromEntries(this.sent),
      stamps: this.stamps,
      fetched: Object.fromEntries(this.fetched),
      refused: Object.fromEntries(this.#refused),
    })
  }
}

/** The last sync with a target. */
export interface LastSync {
  readonly kind: NamedTarget["kind"]
  /** As shown to people. */
  readonly target: string
  /** The target's id. */
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

/** What this computer is called elsewhere. */
export const machineName = (host = hostname()): string =>
  host
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, 40) || "unnamed"

/** This archive's name among those that write to a folder: readable, and another one when the archive is copied. */
export function writerName(dataHome: string, host?: string): string {
  const file = join(syncFolder(dataHome), "id.txt")
  const known = tryTo(() => readFileSync(file, "utf8").trim())
  const id = known !== undefined && /^[0-9a-f]{8}$/.test(known) ? known : crypto.randomUUID().slice(0, 8)
  if (id !== known) writeWhole(file, `${id}\n`)
  return `${machineName(host)}-${id}`
}
