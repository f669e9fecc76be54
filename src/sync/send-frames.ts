/**
 * Sends what a target lacks of the vault's copies, in pieces of about the size of a merged frame. What is there already
 * is asked of the target, so whoever is killed goes on where he was.
 */

import { closeSync, fstatSync } from "node:fs"
import { codeOf } from "../base/errors.ts"
import { filterLines, type SecretSettings } from "../secrets/filter.ts"
import { RULES_NUMBER } from "../secrets/rules.ts"
import { readTail, type Segment, segmentsFrom, type Tail } from "../vault/copy-file.ts"
import { dataFrame, sha256 } from "../vault/frame.ts"
import {
  isBesideCopy,
  isHistoryCopy,
  isOthersCopy,
  isSummaryCopy,
  originalPlace,
  vaultFile,
  withoutVersion,
} from "../vault/layout.ts"
import { mirrorIds, mirrorOf } from "../vault/mirror-copy.ts"
import { CopyReader, openCopy } from "../vault/reader.ts"
import { damaged, provenContent } from "../vault/rewrite.ts"
import { forgottenOf, ownerOf } from "../vault/tombstones.ts"
import type { Database } from "../views/database.ts"
import { isExcludedSession } from "../views/excluded-session.ts"
import { aboutSession } from "../views/queries/sessions.ts"
import { sources } from "../views/view-sources.ts"
import type { FrameState } from "./sync-ledger.ts"
import type { SyncWorld } from "./sync-steps.ts"
import { contiguous, fillerFor, fillsOf, inBatches, isProven, ownerships } from "./sync-steps.ts"
import type { CopyName, LineFills, PieceAbout, VaultPiece } from "./targets/pieces.ts"
import type { FrameStore } from "./targets/target.ts"

/** Bytes of transcript in a piece, give or take a frame. */
const CHUNK = 256 << 10
/** Compressed bytes of a batch. */
const MOST_BYTES = 4 << 20
/** zstd level, as for merged frames. */
const LEVEL = 9

const nothingSent = () => ({
  /** Copies of which something was sent. */
  copies: 0,
  pieces: 0,
  /** Of transcripts. */
  bytes: 0,
  refused: 0,
  /** Copies left out: of folders in `capture.exclude`, and those that cannot be read. */
  excluded: 0,
  unreadable: 0,
  /** Copies that were sent anew, because they hold something else than before. */
  changed: 0,
  /** Copies of which something had been lost or damaged there, and was sent again. */
  lost: 0,
})

export type SentFrames = Readonly<ReturnType<typeof nothingSent>>
export const NOTHING_SENT: SentFrames = nothingSent()

/** A copy that may go. */
interface Sendable {
  /** Below `vault/`. */
  readonly copy: string
  readonly session: string
  readonly path: string
  readonly folder: string | null
  /** Whose copy it mirrors; undefined: it is this machine's own. */
  readonly of: CopyName | undefined
}

/**
 * @param writer this archive's name there
 * @param all reads back what was sent before, for a target that has lost something
 */
export async function sendFrames(
  store: FrameStore,
  state: FrameState,
  world: SyncWorld,
  writer: string,
  all: boolean,
): Promise<SentFrames> {
  const counts = nothingSent()
  const { place } = world
  // Whatever the user has switched off: what leaves the machine is filtered.
  const secrets = { ...place.secrets, enabled: true }
  const rules = `${RULES_NUMBER}:${hashOf(secrets.patterns)}`
  await store.put([])
  const fills = await store.fills()
  const there = Map.groupBy(await store.list(writer), ({ copy }) => copy)
  const { sendable, excluded } = world.look((db) => sendableCopies(db, world, state, there, store.isOwn))
  counts.excluded = excluded
  const passing = sendable.flatMap(({ of }) => of ?? [])
  // Everything there is listed only if there is something to pass on.
  const listed = passing.length > 0 ? await store.list() : []
  const whose = ownerships([...listed, ...passing])
  const others = lengthsOf(listed, writer, whose)
  const passedOn = new Set<string>()
  const stamps = store.stamps?.() ?? {}
  const isTouched = (piece: PieceAbout): boolean => {
    const file = store.fileOf?.(piece)
    return file !== undefined && stamps[file] !== state.stamps[file]
  }
  try {
    for (const [n, one] of sendable.entries()) {
      try {
        const of = one.of && whose(one.of)
        using sending = new Sending({ ...one, of }, writer, secrets, fills, world)
        const group = there.get(sending.id) ?? []
        if (of !== undefined) {
          const isElsewhere = isOthers(others, of, sending.length, group.length > 0, writer)
          if (isElsewhere || passedOn.has(nameOf(of))) {
            if (group.length > 0) await store.drop([sending.id])
            continue
          }
          passedOn.add(nameOf(of))
        }
        let had = contiguous(group)
        const stamp = `${sending.stamp}:${rules}:${hashOf(fillsOf(fills, one.session))}`
        const isKnown = !all && state.compared.get(sending.id) === stamp
        const mustProve = all || had.some(isTouched)
        const isWhole = had.length === group.length && (!mustProve || (await areProven(store, had)))
        const isSame = had.length === 0 || isKnown || sending.isAsSent(had)
        const isShorter = lengthOf(had) < (state.sent.get(sending.id) ?? 0)
        if (!isWhole || !isSame || !sending.isToldAs(had)) {
          await store.drop([sending.id])
          had = []
        }
        const before = counts.pieces
        let refused = 0
        for (const batch of sending.batches(had.at(-1))) {
          world.goOn?.()
          if (forgottenOf(place.dataHome, one.session, one.path)?.whole === true) break
          const put = await store.put(batch)
          refused += put.refused
          counts.pieces += put.stored
          if (put.stored > 0) counts.bytes += batch.reduce((sum, { from, to }) => sum + to - from, 0)
        }
        counts.refused += refused
        if (counts.pieces > before) {
          counts.copies++
          if (!isWhole || isShorter) counts.lost++
          else if (!isSame) counts.changed++
        }
        state.sent.set(sending.id, refused > 0 ? 0 : sending.length)
        state.compared.set(sending.id, stamp)
      } catch (error) {
        if (!codeOf(error).startsWith("vault-")) throw error
        // `verify` reports it.
        counts.unreadable++
      }
      world.onProgress?.("sending frames", n + 1, sendable.length)
    }
    if (store.stamps !== undefined) state.stamps = store.stamps()
  } finally {
    state.save()
  }
  return counts
}

async function areProven(store: FrameStore, pieces: readonly PieceAbout[]): Promise<boolean> {
  for (const wanted of inBatches(pieces)) {
    const found = await store.get(wanted)
    if (found.length < wanted.length || !found.every(isProven)) return false
  }
  return true
}

/** How far others have something, by whose copy it is. */
type Lengths = ReadonlyMap<string, readonly { readonly writer: string; readonly to: number }[]>

const nameOf = ({ writer, copy }: CopyName): string => `${writer} ${copy}`

const lengthOf = (pieces: readonly PieceAbout[]): number => pieces.at(-1)?.to ?? 0

function lengthsOf(pieces: readonly PieceAbout[], own: string, whose: (name: CopyName) => CopyName): Lengths {
  const found = new Map<string, { writer: string; to: number }[]>()
  for (const group of Map.groupBy(pieces, nameOf).values()) {
    const had = contiguous(group)
    const first = had[0]
    if (first === undefined) continue
    const name = nameOf(whose(first.of ?? first))
    // What we have passed on is not somebody else's.
    if (first.writer === own && name !== nameOf(first)) continue
    found.set(name, [...(found.get(name) ?? []), { writer: first.writer, to: lengthOf(had) }])
  }
  return found
}

/**
 * Whether somebody else keeps there what would be passed on: the machine that it comes from or, of several that pass it
 * on, one that has more, or the same under a name that comes first. So it is there once, whoever comes when.
 */
function isOthers(others: Lengths, of: CopyName, length: number, isOurs: boolean, own: string): boolean {
  const theirs = others.get(nameOf(of)) ?? []
  return theirs.some(({ writer, to }) => {
    if (writer === of.writer || !isOurs) return to >= length
    return to > length || (to === length && writer < own)
  })
}

function sendableCopies(
  db: Database,
  { place }: SyncWorld,
  state: FrameState,
  there: ReadonlyMap<string, unknown>,
  isOwn: boolean,
): { sendable: Sendable[]; excluded: number } {
  const sendable: Sendable[] = []
  let excluded = 0
  for (const { copy, session, path } of sources(place.dataHome)) {
    // Without a name of its session, it could not be forgotten there.
    if (session.startsWith("unknown")) continue
    // Their beginnings are in the transcripts.
    if (isBesideCopy(copy)) continue
    // A list of many sessions cannot be forgotten or excluded there session by session (docs/adr/0048).
    if (isHistoryCopy(copy)) continue
    const of = mirrorOf(copy)
    // Its own machine sends it there. What this one has sent of it before is looked at once more.
    const ids = of === undefined ? [] : Object.values(mirrorIds(of.writer, of.copy))
    if (state.isTheirs(copy) && !ids.some((id) => there.has(id))) continue
    // What others may have written must not become the user's own words on its way.
    if (isOwn && isOthersCopy(copy)) continue
    if (forgottenOf(place.dataHome, session, path)?.whole === true) continue
    // What was written about a session is where that is.
    const where = isSummaryCopy(copy) ? ownerOf(session, path) : session
    if (isExcludedSession(db, place, where)) excluded++
    else sendable.push({ copy, session, path, folder: aboutSession(db, where)?.cwd ?? null, of })
  }
  return { sendable, excluded }
}

/** One copy on its way. */
class Sending {
  readonly id: string
  /** Another one when the file was rewritten, and not when it has grown. */
  readonly stamp: string
  readonly #file: string
  readonly #fd: number
  readonly #tail: Tail
  readonly #about: Pick<
    PieceAbout,
    "writer" | "copy" | "of" | "place" | "path" | "created" | "session" | "folder"
  >
  readonly #secrets: SecretSettings
  readonly #fill: (content: Uint8Array) => Uint8Array

  constructor(
    one: Sendable,
    writer: string,
    secrets: SecretSettings,
    fills: readonly LineFills[],
    { place }: SyncWorld,
  ) {
    this.#file = vaultFile(place.dataHome, one.copy)
    const fd = openCopy(this.#file)
    const tail = fd === undefined ? undefined : readTail(fd)
    if (fd === undefined || tail === undefined) {
      if (fd !== undefined) closeSync(fd)
      throw Object.assign(new Error("no copy"), { code: "vault-missing" })
    }
    const { ino, birthtimeMs } = fstatSync(fd)
    this.id = tail.header.id
    this.stamp = `${ino}:${birthtimeMs}`
    this.#fd = fd
    this.#tail = tail
    this.#secrets = secrets
    this.#fill = fillerFor(fills, one.session)
    this.#about = {
      writer,
      copy: this.id,
      ...(one.of && { of: one.of }),
      place: withoutVersion(originalPlace(one.copy)),
      path: one.path,
      created: tail.header.created,
      session: one.session,
      folder: one.folder,
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }

  /** Bytes of the transcript. */
  get length(): number {
    return this.#tail.last?.to ?? 0
  }

  /** Whether what was sent says whose copy it is, as would be said today. */
  isToldAs(had: readonly PieceAbout[]): boolean {
    return had.every(({ of }) => Bun.deepEquals(of, this.#about.of))
  }

  /** Whether what was sent of the copy is what would be sent today. */
  isAsSent(had: readonly PieceAbout[]): boolean {
    if (lengthOf(had) > this.length) return false
    const reader = new CopyReader(this.#file)
    let hidden = 0
    try {
      return had.every((piece) => {
        const content = this.#filtered(reader.read(piece.from, piece.to), hidden)
        hidden = piece.hidden
        return hexOf(sha256(content)) === piece.sha256
      })
    } finally {
      reader.close()
    }
  }

  /** What comes after the last piece that is there. */
  batches(last: PieceAbout | undefined): Iterable<VaultPiece[]> {
    return inBatches(this.#pieces(last?.to ?? 0, last?.hidden ?? 0), MOST_BYTES, ({ frame }) => frame.length)
  }

  *#pieces(start: number, hiddenBefore: number): Generator<VaultPiece> {
    let [from, hidden] = [start, hiddenBefore]
    let group: Segment[] = []
    const segments = segmentsFrom(this.#fd, this.#tail, start)
    for (const [n, segment] of segments.entries()) {
      if (segment.from > (group.at(-1)?.to ?? from)) throw damaged(segment, "what comes before is not there")
      group.push(segment)
      const next = segments[n + 1]
      if (next !== undefined && next.to - from <= CHUNK) continue
      yield this.#piece(group, from, hidden)
      from = segment.to
      hidden = segment.hidden
      group = []
    }
  }

  #piece(group: readonly Segment[], from: number, hiddenBefore: number): VaultPiece {
    const whole = Buffer.concat(group.map((segment) => provenContent(this.#fd, segment)))
    const content = this.#filtered(whole.subarray(from - group[0]!.from), hiddenBefore)
    const { to, tailHash, time, hidden } = group.at(-1)!
    return {
      ...this.#about,
      ...{ from, to, time, hidden, rules: RULES_NUMBER },
      sha256: hexOf(sha256(content)),
      tailHash: tailHash.toString(16),
      frame: dataFrame(content, LEVEL),
    }
  }

  #filtered(content: Uint8Array, hidden: number): Uint8Array {
    return this.#fill(filterLines(content, hidden, this.#secrets).content)
  }
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const hashOf = (value: unknown): string => Bun.hash.xxHash64(JSON.stringify(value)).toString(36)
