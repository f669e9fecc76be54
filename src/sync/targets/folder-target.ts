/** Keeps entries and frames in a folder: a cloud drive, a network share, a git checkout, a stick. No server, no locks. */
import { statsOf } from "../../base/files.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { isPlainId } from "../../base/session-id.ts"
import { type Entry, isBehind, isEntry, isLater, isPlainSession, type Version, versionOf } from "./entry.ts"
import {
  bestEntries,
  isForgottenSession,
  isForgottenThere,
  isNamed,
  LatestVersions,
  missing,
  newlyForgotten,
  putReport,
  sentOf,
  sift,
  versionThere,
} from "./entry-rules.ts"
import {
  appendLines,
  currentFile,
  entriesFolder,
  forgottenFile,
  forgottenLines,
  framesFolder,
  isWriters,
  keepLines,
  LineCounts,
  type LineFolder,
  type LineSeal,
  lineFilesIn,
  ownFiles,
  type PlaceInFile,
  placedLines,
  readForgotten,
  readLine,
  removeHalfRewritten,
  shortName,
  wholeLines,
} from "./folder-files.ts"
import { type FolderWishes, openFolder, openFolderThere } from "./open-folder.ts"
import {
  byCopy,
  isLineFills,
  isPieceAbout,
  type LineFills,
  type PieceAbout,
  type PieceName,
  pieceKey,
  type VaultPiece,
} from "./pieces.ts"
import type { FrameStore, Target } from "./target.ts"

/**
 * @param root the folder
 * @param writer name of this machine's archive in file names; no two may share it
 * @param passphrase of an encrypted folder
 * @param isReader whether the folder must be there
 */
export function openFolderTarget(
  root: string,
  writer: string,
  passphrase?: string,
  isReader = false,
  wishes: FolderWishes = {},
): Target {
  const folder = (isReader ? openFolderThere : openFolder)(root, { ...wishes, passphrase })
  const { id, seal, made } = folder
  /** Latest version of each turn in our own files; read when it is first needed, because only we write them. */
  let own: LatestVersions | undefined
  /** Whether our files have a version of a turn that has a later one. It may hold what was filled since. */
  let isOutdated = false
  const mended = new LineCounts()
  const frames = new FolderFrames(folder, writer)

  const settled = (): LatestVersions => settleEntries(folder, writer, mended)
  const ownLatest = (): LatestVersions => {
    own ??= settled()
    return own
  }

  return {
    id,
    folder: { encrypted: seal !== undefined, made: made ?? null },
    frames,
    async put(entries) {
      const forgotten = readForgotten(folder)
      const latest = ownLatest()
      const { fresh, report } = sift(entries, (key) => latest.get(key), forgotten)
      isOutdated ||= fresh.some(({ key }) => latest.has(key))
      appendLines(
        join(entriesFolder(root), currentFile(entriesFolder(root), writer)),
        fresh.map((entry) => JSON.stringify(entry)),
        seal,
      )
      for (const entry of fresh) latest.offer(entry)
      return report
    },

    async find(query) {
      return bestEntries(latestEntries(folder).entries(), query)
    },

    async get(wanted) {
      for (const entry of latestEntries(folder).entries()) if (isNamed(entry.id, wanted)) return entry
      return undefined
    },

    async forget(what) {
      const before = latestEntries(folder).count
      const { ids, sessions } = newlyForgotten(what, readForgotten(folder))
      const { sessions: owners = [], fills = [] } = what
      const told = [
        ...ids.map((one) => JSON.stringify({ id: one })),
        ...sessions.map((session) => JSON.stringify({ session })),
        ...newFills(folder, fills).map((filled) => JSON.stringify({ filled })),
      ]
      appendLines(forgottenFile(root, writer), told, seal)
      own = settled()
      if (owners.length + fills.length > 0) frames.settle()
      return before - latestEntries(folder).count
    },

    async stats() {
      const { ids, sessions } = readForgotten(folder)
      const { count, damagedIn, misnamed, sessions: named } = latestEntries(folder)
      const damaged = damagedIn.reduce((sum, { lines }) => sum + lines, 0)
      const counts = { entries: count, sessions: named, forgotten: ids.size + sessions.size, damaged }
      return { ...counts, ...(damaged > 0 && { damagedIn }), ...(misnamed > 0 && { misnamed }) }
    },

    async lacking(sent) {
      const latest = ownLatest()
      const behind = missing(sent, (key) => latest.get(key), readForgotten(folder))
      if (behind.length === 0) return behind
      // Under another name of this computer, it may be there all the same.
      const all = latestEntries(folder).versions
      return behind.filter((one) => isBehind(all.get(one.key), one))
    },

    async ownThere(_machine, sessions) {
      const forgotten = readForgotten(folder)
      return sentOf(ownLatest(), sessions).filter((one) => !isForgottenThere(one, forgotten))
    },

    async forgottenThere() {
      const { ids, sessions } = readForgotten(folder)
      return ids.size + sessions.size
    },

    // What cannot be read is taken out of our own files whenever they are settled.
    mend: async () => 0,

    mendedIn: () => [...mended.files, ...frames.mended.files],

    async close() {
      if (isOutdated) settled()
    },
  }
}

/** Entries of a file; undefined for a line that is damaged. */
function* entriesIn(file: string, seal: LineSeal | undefined): Generator<Entry | undefined> {
  for (const line of wholeLines(file, seal)) {
    const value = parseJson(line)
    yield isEntry(value) ? value : undefined
  }
}

/**
 * Goes through our own files and takes out what anybody has forgotten, versions of turns that have a later one, and what
 * cannot be read, which is missing then and is sent again. That way what one machine forgets leaves the files of all
 * others, each at its next turn. Of a copy that a cloud drive has made of one of our files, only what the files lack stays.
 *
 * @returns the latest version of each turn
 */
function settleEntries(folder: LineFolder, writer: string, mended: LineCounts): LatestVersions {
  const { root, seal } = folder
  const forgotten = readForgotten(folder)
  removeHalfRewritten(entriesFolder(root), writer)
  const latest = new LatestVersions()
  const files = ownFiles(entriesFolder(root), writer).map((name) => {
    const file = join(entriesFolder(root), name)
    /** By line; undefined for what must go. */
    const versions: ((Version & Pick<Entry, "key">) | undefined)[] = []
    for (const entry of entriesIn(file, seal)) {
      if (entry === undefined) mended.add(file)
      const isKept = entry !== undefined && !isForgottenThere(versionThere(entry), forgotten)
      versions.push(isKept ? { ...versionOf(entry), key: entry.key } : undefined)
      if (isKept) latest.offer(entry)
    }
    return { file, versions }
  })
  const kept = new Set<string>()
  // Copies last: what is in a file of ours need not be in them, too.
  for (const { file, versions } of files.toReversed()) {
    const stays = versions.map((version) => {
      if (version === undefined || isLater(latest.get(version.key)!, version)) return false
      return isFirst(kept, version.key)
    })
    keepLines(file, stays, seal)
  }
  return latest
}

const isFirst = (kept: Set<string>, name: string): boolean => kept.size < kept.add(name).size

/** The latest version of each turn, whoever wrote it, without what anybody has forgotten. */
function latestEntries(folder: LineFolder) {
  const { root, seal } = folder
  const forgotten = readForgotten(folder)
  const latest = new LatestVersions()
  const files = lineFilesIn(entriesFolder(root)).map((name) => join(entriesFolder(root), name))
  const damaged = new LineCounts()
  for (const file of files) {
    for (const entry of entriesIn(file, seal)) {
      if (entry === undefined) damaged.add(file)
      else if (!isForgottenThere(versionThere(entry), forgotten)) latest.offer(entry)
    }
  }
  const named = [...latest.values()].map(({ session }) => session).filter(isPlainSession)
  return {
    damagedIn: damaged.files,
    versions: latest as ReadonlyMap<string, Version>,
    count: named.length,
    misnamed: latest.size - named.length,
    sessions: new Set(named).size,
    /** One at a time: a folder may hold more than fits into memory. */
    *entries(): Generator<Entry> {
      const given = new Set<string>()
      for (const file of files) {
        for (const entry of entriesIn(file, seal)) {
          const last = entry && latest.get(entry.key)
          if (entry === undefined || last === undefined || given.has(entry.key)) continue
          // Several machines may have the same version.
          if (isLater(last, versionOf(entry))) continue
          given.add(entry.key)
          yield entry
        }
      }
    },
  }
}

/** The frame is the last part of a line, so that a list need not read it. */
const FRAME = ',"frame":"'

/** Pieces beside the entries: each writer appends to its own files, one piece per line. */
class FolderFrames implements FrameStore {
  readonly isOwn: boolean
  /** Own lines that could not be read, and were taken out. */
  readonly mended = new LineCounts()
  readonly #all: LineFolder
  readonly #writer: string
  /** Where each piece was when it was last listed. */
  readonly #places = new Map<string, PlaceInFile & { readonly file: string }>()
  /** Lines that could not be read, by file. */
  readonly #damaged = new LineCounts()
  /** Names of our own pieces; read when they are first needed, because only we write them. */
  #own: Set<string> | undefined

  constructor(all: LineFolder, writer: string) {
    this.isOwn = all.seal !== undefined
    this.#all = all
    this.#writer = writer
  }

  get #folder(): string {
    return framesFolder(this.#all.root)
  }

  /** Takes out of our own files what anybody has forgotten, copies that are dropped, and what cannot be read. */
  settle(dropped: ReadonlySet<string> = new Set()): Set<string> {
    const { seal } = this.#all
    const { sessions } = readForgotten(this.#all)
    removeHalfRewritten(this.#folder, this.#writer)
    const kept = new Set<string>()
    // Copies that a cloud drive has made of our files come last: what is in a file need not be in them, too.
    for (const name of ownFiles(this.#folder, this.#writer).toReversed()) {
      const file = join(this.#folder, name)
      const stays: boolean[] = []
      for (const line of wholeLines(file, seal)) {
        const about = aboutIn(line)
        if (about === undefined) this.mended.add(file)
        const isGone =
          about === undefined || dropped.has(about.copy) || isForgottenSession(about.session, sessions)
        stays.push(!isGone && isFirst(kept, pieceKey(about)))
      }
      keepLines(file, stays, seal)
    }
    this.#own = kept
    return kept
  }

  async put(pieces: readonly VaultPiece[]) {
    const { seal } = this.#all
    const { sessions } = readForgotten(this.#all)
    const own = this.#own ?? this.settle()
    const alive = pieces.filter(({ session }) => !isForgottenSession(session, sessions))
    const fresh = new Map<string, VaultPiece>()
    for (const piece of alive) if (!own.has(pieceKey(piece))) fresh.set(pieceKey(piece), piece)
    appendLines(
      join(this.#folder, currentFile(this.#folder, this.#writer)),
      [...fresh.values()].map(lineOf),
      seal,
    )
    for (const key of fresh.keys()) own.add(key)
    return putReport(pieces.length, fresh.size, pieces.length - alive.length)
  }

  async list(writer?: string): Promise<PieceAbout[]> {
    return this.#list(writer)
  }

  #list(writer?: string): PieceAbout[] {
    const { sessions } = readForgotten(this.#all)
    const folder = this.#folder
    const isAll = writer === undefined
    const found = new Map<string, PieceAbout>()
    if (isAll) this.#damaged.clear()
    for (const name of isAll ? lineFilesIn(folder) : ownFiles(folder, writer).toReversed()) {
      const file = join(folder, name)
      for (const { line, ...place } of placedLines(file, this.#all.seal)) {
        const about = aboutIn(line)
        // Nobody writes in another's name.
        const isSound = about !== undefined && (isWriters(name, about.writer) || !isPlainId(about.writer))
        if (!isSound && isAll) this.#damaged.add(file)
        if (!isSound || isForgottenSession(about.session, sessions) || found.has(pieceKey(about))) continue
        found.set(pieceKey(about), about)
        this.#places.set(pieceKey(about), { file, ...place })
      }
    }
    return [...found.values()].sort(byCopy)
  }

  async get(wanted: readonly PieceName[]): Promise<VaultPiece[]> {
    // Its writer may have replaced a file since it was listed.
    const first = this.#read(wanted)
    if (first.length === wanted.length) return first
    this.#list()
    return this.#read(wanted)
  }

  #read(wanted: readonly PieceName[]): VaultPiece[] {
    return wanted.flatMap((name) => {
      const place = this.#places.get(pieceKey(name))
      const piece = place && pieceIn(readLine(place.file, place, this.#all.seal) ?? "")
      return piece !== undefined && pieceKey(piece) === pieceKey(name) ? [piece] : []
    })
  }

  async drop(copies: readonly string[]): Promise<void> {
    this.settle(new Set(copies))
  }

  async fills(): Promise<LineFills[]> {
    return knownFills(this.#all)
  }

  async forgotten(): Promise<string[]> {
    return [...readForgotten(this.#all).sessions]
  }

  fileOf(piece: PieceName): string | undefined {
    const place = this.#places.get(pieceKey(piece))
    return place && shortName(place.file)
  }

  stamps(): Record<string, string> {
    return Object.fromEntries(
      ownFiles(this.#folder, this.#writer).map((name) => {
        const file = join(this.#folder, name)
        const { size, mtimeMs } = statsOf(file) ?? { size: 0, mtimeMs: 0 }
        return [shortName(file), `${size}:${mtimeMs}`]
      }),
    )
  }

  damagedIn() {
    return this.#damaged.files
  }
}

function knownFills(folder: LineFolder): LineFills[] {
  const found = new Map<string, LineFills>()
  for (const line of forgottenLines(folder)) {
    const { filled } = line as { filled?: unknown }
    if (!isLineFills(filled)) continue
    const name = `${filled.session} ${filled.key}`
    found.set(name, { ...filled, lines: { ...found.get(name)?.lines, ...filled.lines } })
  }
  return [...found.values()]
}

/** What of this nobody has told there yet. */
function newFills(folder: LineFolder, fills: readonly LineFills[]): LineFills[] {
  if (fills.length === 0) return []
  const known = new Map(knownFills(folder).map((one) => [`${one.session} ${one.key}`, one.lines]))
  return fills
    .filter(({ session, key, lines }) => {
      const there = known.get(`${session} ${key}`) ?? {}
      return Object.entries(lines).some(([line, spans]) => !Bun.deepEquals(there[line], spans))
    })
    .map(({ session, key, lines }) => ({ session, key, lines }))
}

const lineOf = ({ frame, ...about }: VaultPiece): string =>
  `${JSON.stringify(about).slice(0, -1)}${FRAME}${Buffer.from(frame).toString("base64")}"}`

function aboutIn(line: string): PieceAbout | undefined {
  const end = line.indexOf(FRAME)
  const about = end < 0 ? undefined : parseJson(`${line.slice(0, end)}}`)
  return isPieceAbout(about) ? about : undefined
}

function pieceIn(line: string): VaultPiece | undefined {
  const about = aboutIn(line)
  const { frame } = (parseJson(line) ?? {}) as { frame?: unknown }
  if (about === undefined || typeof frame !== "string") return undefined
  // What is longer than anything that is compressed is not unpacked, and many are read at once.
  const isAbsurd = frame.length > longestFrame(about.to - about.from)
  return { ...about, frame: new Uint8Array(Buffer.from(isAbsurd ? "" : frame, "base64")) }
}

/** Characters of base64 for a frame of content that does not get smaller, with room to spare. */
const longestFrame = (size: number): number => Math.ceil(((size + (size >> 7) + 1024) * 4) / 3)
