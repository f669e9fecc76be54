/**
 * Compares what the vault has held, by its list and by the views, with what it holds: a copy that was emptied, cut,
 * replaced by an older one or removed, and whose transcript Claude Code no longer has, is lost.
 */
import { tryTo } from "../base/files.ts"
import { isHeaderChanged, isUntouched, type Listed, readList } from "./copy-list.ts"
import { TAIL_WINDOW, xxh64 } from "./frame.ts"
import { isFetchedCopy, isImportedCopy, isSummaryCopy, vaultFile } from "./layout.ts"
import { CopyReader, tailOf } from "./reader.ts"
import { tailHash, withSource } from "./source-file.ts"
import type { Forgotten } from "./tombstones.ts"
import { vaultFiles } from "./vault-files.ts"

/** What is known of a copy that the vault should hold. */
export type KnownCopy = Pick<Listed, "id" | "copy" | "path" | "session" | "to">

export interface LostCopy extends KnownCopy {
  /** Where it is now, if some of it is left, and how far that reaches. */
  readonly left: { readonly copy: string; readonly to: number } | undefined
  /** The copy reaches as far, but ends otherwise. */
  readonly isOther: boolean
}

interface LostOptions {
  readonly dataHome: string
  /** The views' rows, for copies that are not in the list. */
  readonly known?: readonly KnownCopy[]
  readonly forgotten?: (path: string) => Forgotten | undefined
}

interface Held {
  readonly id: string
  readonly created: number
  readonly copy: string
  readonly path: string
  readonly to: number
  readonly hash: string
}

interface Losses {
  readonly lost: readonly LostCopy[]
  /** Copies that Claude Code's transcript can make whole: they are not lost. */
  readonly restorable: readonly KnownCopy[]
  /** Copies of which another copy of the same transcript holds everything: there is no need to know of them. */
  readonly replaced: readonly KnownCopy[]
  /** Copies whose header says something else than it did. */
  readonly changed: readonly KnownCopy[]
  /** Lines of the list that cannot be read. */
  readonly damagedLines: number
}

/** Looks only at the files' sizes and times where these are as they were noted. */
export function findLosses({ dataHome, known = [], forgotten = () => undefined }: LostOptions): Losses {
  const list = readList(dataHome)
  const wanted = new Map<string, KnownCopy & { readonly hash: string }>(list.copies)
  const isNew = ({ id, to }: KnownCopy): boolean => to > 0 && !wanted.has(id) && !list.accepted.has(id)
  for (const one of known.filter(isNew)) wanted.set(one.id, { ...one, hash: "" })
  let index: HeldCopies | undefined
  const found = {
    lost: [] as LostCopy[],
    restorable: [] as KnownCopy[],
    replaced: [] as KnownCopy[],
    changed: [] as KnownCopy[],
  }
  for (const one of wanted.values()) {
    const listed = list.copies.get(one.id)
    if (listed !== undefined && isUntouched(dataHome, listed)) continue
    const there = heldIn(dataHome, one.copy)
    if (there !== undefined && listed !== undefined && isHeaderChanged(there, listed)) {
      found.changed.push(one)
      continue
    }
    if (there?.id === one.id && isWhole(there, one)) continue
    if (forgotten(one.path)?.whole === true) continue
    // Set aside, perhaps: then it has another name.
    index ??= new HeldCopies(dataHome)
    const best = index.withId(one.id)
    if (best !== undefined && isWhole(best, one)) continue
    const others = index.ofPath(one.path).filter(({ id, to }) => id !== one.id && to >= one.to)
    const isThere = isClaudes(one.copy) && tryTo(() => transcriptHolds(one.path, one)) === true
    if (
      others.some((other) => (isThere ? transcriptHolds(one.path, other) : holdsSame(dataHome, other, one)))
    )
      found.replaced.push(one)
    else if (isThere) found.restorable.push(one)
    else
      found.lost.push({
        ...one,
        left: best && { copy: best.copy, to: best.to },
        isOther: best !== undefined && best.to === one.to,
      })
  }
  return { ...found, damagedLines: list.damaged }
}

const isWhole = ({ to, hash }: End, wanted: End): boolean =>
  to > wanted.to || (to === wanted.to && (wanted.hash === "" || wanted.hash === hash))

function heldIn(dataHome: string, copy: string): Held | undefined {
  // What may not be read holds nothing for us.
  const tail = tryTo(() => tailOf(vaultFile(dataHome, copy)))
  if (tail === undefined) return undefined
  const { id, path, created } = tail.header
  return { id, copy, path, created, to: tail.last?.to ?? 0, hash: tail.last?.tailHash.toString(16) ?? "" }
}

/** How far something reaches, and the hash of the transcript's last bytes there. */
type End = Pick<Held, "to" | "hash">

/**
 * Whether its lines are Claude Code's: others were made, or came from another machine, and their paths are no
 * transcripts.
 */
const isClaudes = (copy: string): boolean =>
  !isImportedCopy(copy) && !isSummaryCopy(copy) && !isFetchedCopy(copy)

/** Whether Claude Code still has what ends so. */
const transcriptHolds = (path: string, { to, hash }: End): boolean =>
  withSource(path, (fd, size) => size >= to && (hash === "" || tailHash(fd, to).toString(16) === hash)) ??
  false

/** What a secret was filled in is not recognised: better to say too much than too little. */
function holdsSame(dataHome: string, other: Held, { copy, to, hash }: End & Pick<Held, "copy">): boolean {
  // Of what only the views know, there is no hash: then its place has to do.
  if (hash === "") return other.copy === copy
  if (other.to === to && other.hash === hash) return true
  return (
    tryTo(() => {
      const reader = new CopyReader(vaultFile(dataHome, other.copy))
      try {
        return xxh64(reader.read(Math.max(0, to - TAIL_WINDOW), to)).toString(16) === hash
      } finally {
        reader.close()
      }
    }) ?? false
  )
}

/** All copies by their headers; read only when something is not where it was. */
class HeldCopies {
  readonly #byId = new Map<string, Held>()
  readonly #byPath = new Map<string, Held[]>()

  constructor(dataHome: string) {
    for (const { copy } of vaultFiles(dataHome)) {
      const held = heldIn(dataHome, copy)
      if (held === undefined) continue
      const known = this.#byId.get(held.id)
      if (known === undefined || known.to < held.to) this.#byId.set(held.id, held)
      this.#byPath.set(held.path, [...(this.#byPath.get(held.path) ?? []), held])
    }
  }

  withId(id: string): Held | undefined {
    return this.#byId.get(id)
  }

  ofPath(path: string): readonly Held[] {
    return this.#byPath.get(path) ?? []
  }
}
