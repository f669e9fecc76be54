/**
 * Fetches from a target what other machines have sent of their vaults. Each of their copies becomes a mirror in this
 * vault; each piece is proven before it is kept, and kept before the next is asked for. Pieces that are there already
 * are not fetched again, so whoever is killed goes on where he was.
 */

import { codeOf } from "../base/errors.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { filterLines } from "../secrets/filter.ts"
import { fetchedPath, isFetchedCopy, isHistoryCopy, vaultFile } from "../vault/layout.ts"
import { withReplacingLock } from "../vault/merge-frames.ts"
import { appendMirrored, fillMirror, mirrorIds, mirrorOf, provenFrame } from "../vault/mirror-copy.ts"
import { markPending } from "../vault/pending.ts"
import { archivedIn, CopyReader, tailOf } from "../vault/reader.ts"
import { forgottenOf, ownerOf, readTombstone } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { isExcludedFolder } from "../views/excluded.ts"
import { followRemoval } from "../views/removal.ts"
import { sources } from "../views/view-sources.ts"
import type { FrameState } from "./sync-ledger.ts"
import { contiguous, fillerFor, frameOf, inBatches, ownerships } from "./sync-steps.ts"
import { isOfSession } from "./targets/entry.ts"
import {
  type CopyName,
  isPlainlyNamed,
  type PieceAbout,
  pieceKey,
  type VaultPiece,
} from "./targets/pieces.ts"
import type { DamagedFile, FrameStore } from "./targets/target.ts"

export interface FetchedFrames {
  /** Nobody has sent any, not even this machine. */
  readonly isEmpty: boolean
  /** Copies of other machines that are there. */
  readonly available: number
  /** Of these, copies of which something was fetched. */
  readonly copies: number
  readonly pieces: number
  /** Of transcripts. */
  readonly bytes: number
  /** Copies left out: of sessions forgotten here, and of folders in `capture.exclude`. */
  readonly refused: number
  readonly excluded: number
  /** Mirrors in which something was filled, because it was filled on the other machine. */
  readonly changed: number
  /** Copies left out, because what they or their sessions are called is no name of ours. */
  readonly misnamed: number
  /** Copies that are damaged there, or other than what was fetched before. */
  readonly damaged: number
  /** Files that they are in, and files with lines that cannot be read. */
  readonly damagedIn: readonly DamagedFile[]
  /** Sessions that are here, and were forgotten on another machine. */
  readonly forgottenElsewhere: readonly string[]
}

interface FetchWorld {
  readonly place: PathsAndPolicy
  /** Called before each copy; what it throws ends the work. */
  readonly goOn?: () => void
  readonly onProgress?: (label: string, done: number, total: number) => void
}

/** A copy of another machine, as far as it is there without a gap. */
interface Theirs {
  /** Of the copy on the machine that archived it: `<machine>/<id>`. */
  readonly name: string
  readonly of: CopyName
  readonly about: PieceAbout
  readonly pieces: readonly PieceAbout[]
  readonly to: number
  /** Path of its mirror below `vault/`. */
  readonly copy: string
}

/** @param writer this archive's name there */
export async function fetchFrames(
  store: FrameStore,
  state: FrameState,
  { place, onProgress, goOn }: FetchWorld,
  writer: string,
): Promise<FetchedFrames> {
  const counts = { copies: 0, pieces: 0, bytes: 0, refused: 0, excluded: 0, changed: 0, damaged: 0 }
  const { dataHome } = place
  const own = ownCopies(dataHome)
  const all = await store.list()
  const unreadable = store.unreadable?.() ?? 0
  const list = all.filter(isPlainlyNamed)
  const fills = await store.fills()
  const ours = [...own.keys()].map((copy) => ({ writer, copy }))
  const known = [...ours, ...mirroredHere(dataHome)]
  const copies = theirs(list, known, store.isOwn).filter(
    ({ about, of, copy }) =>
      // Nobody sends lists of prompts: they could not be forgotten or excluded session by session.
      !isHistoryCopy(copy) && (of.writer !== writer || !own.has(of.copy) || about.writer !== writer),
  )
  // Whoever passes on what he has fetched himself may stop, so this machine may have to do it.
  state.expect([
    ...new Set(copies.filter(({ about, of }) => about.writer === of.writer).map(({ of }) => of.writer)),
  ])
  const damagedIn = new Map(store.damagedIn?.().map(({ file, lines }) => [file, lines]))
  const filled = new Set<string>()
  const total = copies.reduce((sum, { to }) => sum + to, 0)
  let done = 0
  try {
    for (const one of copies) {
      const { about } = one
      goOn?.()
      done += one.to
      if (forgottenOf(dataHome, about.session, about.path)?.whole === true) counts.refused++
      else if (about.folder !== null && isExcludedFolder(place, about.folder)) counts.excluded++
      // A copy of ours that came back by way of another machine.
      else if (one.of.writer !== writer || (own.get(one.of.copy) ?? 0) < one.to) {
        try {
          const fetched = await fetchOne(store, state, place, fillerFor(fills, about.session), one)
          counts.pieces += fetched.pieces
          counts.bytes += fetched.bytes
          if (fetched.pieces > 0) counts.copies++
          if (fetched.filled) {
            counts.changed++
            filled.add(about.session)
          }
        } catch (error) {
          if (codeOf(error) !== "frame-damaged") throw error
          counts.damaged++
          const file = store.fileOf?.(about)
          if (file !== undefined) damagedIn.set(file, (damagedIn.get(file) ?? 0) + 1)
        }
      }
      onProgress?.("fetching frames", done, total)
    }
  } finally {
    state.keepRefused(new Set(list.map(pieceKey)))
    state.save()
  }
  if (filled.size > 0) {
    const removed = (session: string) => (filled.has(session) ? ("text" as const) : undefined)
    followRemoval(dataHome, removed, { now: Date.now(), wait: PATIENCE })
  }
  return {
    isEmpty: all.length === 0,
    available: copies.length,
    ...counts,
    damaged: counts.damaged + unreadable,
    misnamed: theirs(
      all.filter((one) => !isPlainlyNamed(one)),
      known,
      store.isOwn,
    ).length,
    damagedIn: [...damagedIn].map(([file, lines]) => ({ file, lines })),
    forgottenElsewhere: await forgottenHere(dataHome, store),
  }
}

/** ms to wait for whoever has the views open. */
const PATIENCE = 5000

/** Bytes of this machine's own copies, by id. */
function ownCopies(dataHome: string): Map<string, number> {
  const found = new Map<string, number>()
  for (const { copy } of vaultFiles(dataHome)) {
    const tail = isFetchedCopy(copy) ? undefined : tailOf(vaultFile(dataHome, copy))
    if (tail !== undefined) found.set(tail.header.id, tail.last?.to ?? 0)
  }
  return found
}

/** Copies of which this vault has a mirror. */
const mirroredHere = (dataHome: string): CopyName[] =>
  [...vaultFiles(dataHome)].flatMap(({ copy }) => mirrorOf(copy) ?? [])

/** Of each copy that somebody has archived, what there is most of: several may pass it on. */
function theirs(list: readonly PieceAbout[], known: readonly CopyName[], isOwn: boolean): Theirs[] {
  const groups = [...Map.groupBy(list, ({ writer, copy }) => `${writer}/${copy}`).values()]
  const whose = ownerships([...known, ...groups.map(([piece]) => piece!)])
  const best = new Map<string, Theirs>()
  for (const group of groups) {
    const pieces = contiguous(group)
    const about = pieces[0]
    if (about === undefined) continue
    const of = whose(about.of ?? about)
    const name = `${of.writer}/${of.copy}`
    const to = pieces.at(-1)!.to
    const known = best.get(name)
    const isItsOwn = about.writer === of.writer
    if (known !== undefined && (known.to > to || (known.to === to && !isItsOwn))) continue
    best.set(name, { name, of, about, pieces, to, copy: fetchedPath(of.writer, of.copy, about.place, isOwn) })
  }
  // A session before the forks that copy its lines.
  return [...best.values()].sort((a, b) => a.about.created - b.about.created || (a.name < b.name ? -1 : 1))
}

async function fetchOne(
  store: FrameStore,
  state: FrameState,
  place: PathsAndPolicy,
  fill: (content: Uint8Array) => Uint8Array,
  one: Theirs,
): Promise<{ pieces: number; bytes: number; filled: boolean }> {
  const { dataHome, secrets } = place
  const { about, name, of, pieces, copy } = one
  const { session, path, created } = about
  const file = vaultFile(dataHome, copy)
  const held = archivedIn(file)
  const known = state.fetched.get(name)
  let filled = false
  const isSame =
    held === 0 || (known?.to === held && known.digest === digestOf(pieces.filter(({ to }) => to <= held)))
  if (!isSame && !isAsThere(file, pieces)) {
    const there = await contentUpTo(store, state, pieces, held)
    const done = withReplacingLock(dataHome, 0, () => ({ filled: fillMirror(file, there) }))
    // Somebody is merging frames: the next time.
    if (done === undefined) return { pieces: 0, bytes: 0, filled: false }
    if (done.filled === undefined) throw damaged()
    filled = done.filled
  }
  const counts = { pieces: 0, bytes: 0 }
  const onGrow = (): void => markPending(dataHome, { path, copy, session })
  const isUnwanted = (): boolean => forgottenOf(dataHome, session, path)?.whole === true
  const edit = (content: Uint8Array, hidden: number): Uint8Array => {
    const clean = fill(filterLines(content, hidden, secrets).content)
    return forgottenOf(dataHome, session, path)?.edit(clean, 0) ?? clean
  }
  try {
    for (const wanted of inBatches(pieces.filter(({ to }) => to > held))) {
      const there = await store.get(wanted)
      const bad = there.findIndex((piece) => state.isRefused(piece))
      const sound = bad < 0 ? there : there.slice(0, bad)
      const options = { path, ...headerOf({ ...of, created }, store.isOwn), edit, isUnwanted, onGrow }
      const added = appended(file, sound, options, state)
      counts.pieces += added > 0 ? sound.length : 0
      counts.bytes += added
      if (bad >= 0) throw damaged()
      // It was dropped or forgotten there since it was listed.
      if (there.length < wanted.length) break
    }
  } finally {
    const to = archivedIn(file)
    state.fetched.set(name, { to, digest: digestOf(pieces.filter((piece) => piece.to <= to)) })
  }
  return { ...counts, filled }
}

/**
 * What others say about a copy's age could make it older than the user's own, and then lines that both have would count
 * as theirs. A session of theirs that is written back later stays theirs.
 */
const headerOf = (
  { writer, copy, created }: CopyName & Pick<PieceAbout, "created">,
  isOwn: boolean,
): { created: number; id: string } =>
  isOwn
    ? { created, id: mirrorIds(writer, copy).own }
    : { created: Date.now(), id: mirrorIds(writer, copy).others }

/** Appends pieces, and remembers the one at which that ended. */
function appended(
  file: string,
  pieces: readonly VaultPiece[],
  options: Parameters<typeof appendMirrored>[2],
  state: FrameState,
): number {
  if (pieces.length === 0) return 0
  try {
    const added = appendMirrored(file, pieces.map(frameOf), options)
    for (const piece of pieces) state.judge(piece, true)
    return added
  } catch (error) {
    const to = archivedIn(file)
    const bad = pieces.find((piece) => piece.from <= to && piece.to > to)
    if (codeOf(error) === "frame-damaged" && bad !== undefined) state.judge(bad, false)
    throw error
  }
}

const damaged = (): Error =>
  Object.assign(new Error("another transcript than was fetched before"), { code: "frame-damaged" })

/** Whether a mirror holds the very bytes that are there now, as far as it goes. */
function isAsThere(file: string, pieces: readonly PieceAbout[]): boolean {
  const held = archivedIn(file)
  const reader = new CopyReader(file)
  try {
    return pieces.every(({ from, to, sha256 }) => {
      if (to > held) return from >= held
      return new Bun.CryptoHasher("sha256").update(reader.read(from, to)).digest("hex") === sha256
    })
  } finally {
    reader.close()
  }
}

/** What is there of the bytes that are held here. */
async function contentUpTo(
  store: FrameStore,
  state: FrameState,
  pieces: readonly PieceAbout[],
  held: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for (const wanted of inBatches(pieces.filter(({ from }) => from < held)))
    for (const piece of await store.get(wanted)) {
      if (state.isRefused(piece)) throw damaged()
      parts.push(proven(piece, state))
    }
  return Buffer.concat(parts).subarray(0, held)
}

function proven(piece: VaultPiece, state: FrameState): Uint8Array {
  try {
    return provenFrame(frameOf(piece))
  } catch (error) {
    if (codeOf(error) === "frame-damaged") state.judge(piece, false)
    throw error
  }
}

const digestOf = (pieces: readonly PieceAbout[]): string =>
  Bun.hash.xxHash64(pieces.map(({ from, sha256 }) => `${from} ${sha256}`).join("\n")).toString(36)

/** Sessions in this vault that others have forgotten, and this machine has not. */
async function forgottenHere(dataHome: string, store: FrameStore): Promise<string[]> {
  const here = new Set(sources(dataHome).map(({ session }) => session))
  const owners = [...here].flatMap((session) =>
    session.split("/").map((_, n, parts) => parts.slice(0, n + 1).join("/")),
  )
  return (await store.forgotten([...new Set(owners)])).filter(
    (owner) =>
      readTombstone(dataHome, ownerOf(owner, ""))?.whole !== true &&
      [...here].some((session) => isOfSession(session, owner)),
  )
}
