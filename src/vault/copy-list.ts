/**
 * The list of what the vault has held: which copies, how far, and the hash of their last bytes. A copy that is emptied,
 * cut or removed leaves no trace of itself; the list says that it was there (docs/architecture/vault.md).
 *
 * Written by whoever brings the views up to date, after the copy and never by a hook that somebody waits for: a copy
 * that is not in the list yet is noted by the next one who looks. Each line has a checksum of its own, and the last word
 * on a copy counts.
 */
import { inodeOf, tryTo, writeWhole } from "../base/files.ts"
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { join } from "../base/path.ts"
import { readExactly, writeFully } from "./copy-file.ts"
import { vaultFile } from "./layout.ts"
import { tailOf } from "./reader.ts"

export interface Listed {
  /** Of the copy: it stays the same when the copy is renamed, merged or filled. */
  readonly id: string
  /** Path below `vault/` when it was noted. */
  readonly copy: string
  /** Where Claude Code keeps the transcript. */
  readonly path: string
  readonly session: string
  /** When the copy was begun, in ms since the epoch. */
  readonly created: number
  /** Bytes of the transcript that it held. */
  readonly to: number
  /** XXH64 of the transcript's last bytes before `to`, as in the copy's last trailer; `""`: unknown. */
  readonly hash: string
  /** The file's size and time of change when it was noted; one that has others is looked at. */
  readonly size: number
  readonly time: number
}

interface CopyList {
  /** By the copy's id. */
  readonly copies: ReadonlyMap<string, Listed>
  /** Ids of copies that the user has given up: nobody reports them as lost. */
  readonly accepted: ReadonlySet<string>
  /** Lines that cannot be read. */
  readonly damaged: number
  /** Whether there is a list. */
  readonly exists: boolean
}

type Line =
  | Listed
  | { readonly gone: string }
  | { readonly accepted: string }
  /** Somebody has found it damaged: whoever can mend it looks at it, whatever the file's time says. */
  | { readonly doubt: string }
  | { readonly live: number }

/** ms to wait for somebody else who writes the list. */
const PATIENCE = 2000
/** Bytes up to which it is never written anew. */
const SMALL = 64 << 10

const listFile = (dataHome: string): string => join(dataHome, "vault", "copies.jsonl")

const SUM = ',"sum":"'

const sumOf = (text: string): string => Bun.hash.xxHash64(text, 0n).toString(16).padStart(16, "0")

function encoded(line: Line): string {
  const text = JSON.stringify(line).slice(0, -1)
  return `${text}${SUM}${sumOf(text)}"}\n`
}

/** @returns undefined for what we did not write so */
function decoded(text: string): Line | undefined {
  const at = text.lastIndexOf(SUM)
  if (at < 0 || text.slice(at + SUM.length) !== `${sumOf(text.slice(0, at))}"}`) return undefined
  return tryTo(() => JSON.parse(text) as Line)
}

/** Never fails: a list that cannot be read tells nothing. */
export function readList(dataHome: string): CopyList {
  const file = listFile(dataHome)
  const text = existsSync(file) ? tryTo(() => readFileSync(file, "utf8")) : undefined
  return text === undefined
    ? { copies: new Map(), accepted: new Set(), damaged: 0, exists: false }
    : { ...parsed(text), exists: true }
}

function parsed(text: string): Omit<CopyList, "exists"> {
  const copies = new Map<string, Listed>()
  const accepted = new Set<string>()
  let damaged = 0
  for (const one of text.split("\n")) {
    if (one === "") continue
    const line = decoded(one)
    if (line === undefined) damaged++
    else if ("gone" in line) copies.delete(line.gone)
    else if ("accepted" in line) {
      copies.delete(line.accepted)
      accepted.add(line.accepted)
    } else if ("doubt" in line) {
      const known = copies.get(line.doubt)
      if (known !== undefined) copies.set(line.doubt, { ...known, time: DOUBTED })
    } else if ("id" in line) {
      const known = copies.get(line.id)
      // Whoever looks at a copy that was cut must not make the list forget what it held.
      const isLess = known !== undefined && (line.to < known.to || isOther(line, known))
      if (!isLess) copies.set(line.id, line)
      // It has come back.
      accepted.delete(line.id)
    }
  }
  return { copies, accepted, damaged }
}

const isOther = (line: Listed, known: Listed): boolean =>
  line.to === known.to && line.hash !== known.hash && known.hash !== ""

/** The time of a file that somebody has found damaged. */
const DOUBTED = -1

export interface ToList {
  /** Path below `vault/`. */
  readonly copy: string
  readonly session: string
}

/** What the list would say of a copy now; undefined if there is none, or it holds nothing. */
function listingOf(dataHome: string, { copy, session }: ToList): Listed | undefined {
  const file = vaultFile(dataHome, copy)
  // Taken before the rest: whoever appends meanwhile makes it look as if it had changed since.
  const stats = statSync(file, { throwIfNoEntry: false })
  const tail = stats?.isFile() === true ? tailOf(file) : undefined
  if (stats === undefined || tail?.last === undefined) return undefined
  const { header, last } = tail
  return {
    id: header.id,
    copy,
    path: header.path,
    session,
    created: header.created,
    to: last.to,
    hash: last.tailHash.toString(16),
    size: stats.size,
    time: stats.mtimeMs,
  }
}

/**
 * Whether a copy's header is no longer what it was, although the copy is the same: a header has no checksum of its own.
 * A copy that was begun anew has another id, and another time.
 */
export const isHeaderChanged = (
  now: Pick<Listed, "id" | "path" | "created">,
  { id, path, created }: Pick<Listed, "id" | "path" | "created">,
): boolean =>
  now.id === id ? now.path !== path || now.created !== created : now.path === path && now.created === created

/** Whether nobody has written the file since it was noted. */
export function isUntouched(dataHome: string, { copy, size, time }: Listed): boolean {
  const stats = tryTo(() => statSync(vaultFile(dataHome, copy), { throwIfNoEntry: false }))
  return stats !== undefined && stats.size === size && stats.mtimeMs === time
}

/**
 * Notes copies as they are now. If the list cannot be written, the next one who looks notes them.
 *
 * @param gone ids that are to be taken out
 */
export function noteCopies(dataHome: string, copies: Iterable<ToList>, gone: readonly string[] = []): void {
  const lines: Line[] = gone.map((id) => ({ gone: id }))
  for (const one of copies) {
    const line = tryTo(() => listingOf(dataHome, one))
    if (line !== undefined) lines.push(line)
  }
  if (lines.length > 0) tryTo(() => append(dataHome, lines.map(encoded).join("")))
}

/** Remembers that these copies are damaged, by their paths below `vault/`. */
export function doubtCopies(dataHome: string, damaged: ReadonlySet<string>): void {
  const known = [...readList(dataHome).copies.values()]
  const ids = known.filter(({ copy, time }) => damaged.has(copy) && time !== DOUBTED).map(({ id }) => id)
  if (ids.length > 0) tryTo(() => append(dataHome, ids.map((doubt) => encoded({ doubt })).join("")))
}

/** Nobody reports these copies as lost any more, by their ids. What is left of them stays. */
export function acceptLosses(dataHome: string, ids: readonly string[]): void {
  mkdirSync(join(dataHome, "vault"), { recursive: true, mode: 0o700 })
  append(dataHome, ids.map((accepted) => encoded({ accepted })).join(""))
}

/**
 * Takes out copies that are to be known no longer.
 *
 * @returns false if somebody else held the list throughout
 */
export function dropFromList(dataHome: string, isGone: (listed: Listed) => boolean): boolean {
  if (!existsSync(listFile(dataHome))) return true
  return alone(dataHome, (fd) => {
    const text = textOf(fd)
    const { copies, accepted } = parsed(text)
    const kept = [...copies.values()].filter((one) => !isGone(one))
    // Also when all stay: earlier lines about them, and halves of lines, may say more.
    if (kept.length < copies.size || text.split("\n").length > kept.length + 2)
      writeAnew(dataHome, kept, accepted)
  })
}

function append(dataHome: string, text: string): void {
  // Whoever has removed the vault does not want it made again.
  if (!existsSync(join(dataHome, "vault"))) return
  alone(dataHome, (fd) => {
    const { size } = fstatSync(fd)
    const last = new Uint8Array(1)
    // Half a line of a writer that was killed.
    const isHalf = size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
    writeFully(fd, Buffer.from(isHalf ? `\n${text}` : text), size)
    if (size > Math.max(SMALL, 2 * liveIn(fd))) writeLive(dataHome, parsed(textOf(fd)))
  })
}

const textOf = (fd: number): string => Buffer.from(readExactly(fd, 0, fstatSync(fd).size)).toString("utf8")

/** Bytes of the list when it was last written anew: the first line says so. */
function liveIn(fd: number): number {
  const start = new Uint8Array(64)
  const n = readSync(fd, start, 0, start.length, 0)
  const line = decoded(Buffer.from(start.subarray(0, n)).toString("latin1").split("\n", 1)[0]!)
  return line !== undefined && "live" in line ? line.live : 0
}

const writeLive = (dataHome: string, { copies, accepted }: Omit<CopyList, "exists">): void =>
  writeAnew(dataHome, [...copies.values()], accepted)

function writeAnew(dataHome: string, copies: readonly Listed[], given: ReadonlySet<string>): void {
  const text = [...copies, ...[...given].map((accepted) => ({ accepted }))].map(encoded).join("")
  writeWhole(listFile(dataHome), encoded({ live: text.length }) + text)
}

/**
 * Calls `work` with the list open and locked.
 *
 * @returns false if somebody else held it throughout, and it was not called
 */
function alone(dataHome: string, work: (fd: number) => void): boolean {
  const file = listFile(dataHome)
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const fd = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
    try {
      if (!lock(fd, deadline)) return false
      // Written anew while we waited: this is the lock of the old one.
      if (fstatSync(fd).ino !== inodeOf(file)) continue
      work(fd)
      return true
    } finally {
      closeSync(fd)
    }
  }
}
