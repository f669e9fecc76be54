/** Keeps pieces of vaults in a folder, beside the entries: each writer appends to its own files, one piece per line. */

import { statsOf } from "../util/files.ts"
import { parseJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"
import { isPlainId } from "../util/session-id.ts"
import { isOfSession } from "./backend.ts"
import {
  currentFile,
  forgottenFile,
  forgottenLines,
  framesFolder,
  isWriters,
  type LineFolder,
  lineFilesIn,
  ownFiles,
  readForgotten,
  removeHalfRewritten,
} from "./entry-files.ts"
import {
  byCopy,
  type FrameStore,
  isLineFills,
  isPieceAbout,
  type LineFills,
  type PieceAbout,
  type PieceName,
  pieceKey,
  type VaultPiece,
} from "./frame-store.ts"
import {
  appendLines,
  LineCounts,
  type PlaceInFile,
  placedLines,
  readLine,
  rewriteLines,
  shortName,
  wholeLines,
} from "./line-files.ts"
import { type FolderWishes, openFolder, openFolderThere } from "./open-folder.ts"

/** The frame is the last part of a line, so that a list need not read it. */
const FRAME = ',"frame":"'

/** @param isReader whether the folder must be there */
export function openFolderFrames(
  root: string,
  writer: string,
  passphrase?: string,
  isReader = false,
  wishes: FolderWishes = {},
): FrameStore {
  const all = (isReader ? openFolderThere : openFolder)(root, { ...wishes, passphrase })
  const { seal } = all
  const folder = framesFolder(root)
  /** Where each piece was when it was last listed. */
  const places = new Map<string, PlaceInFile & { readonly file: string }>()
  /** Lines that could not be read, by file. */
  const damaged = new LineCounts()
  const mended = new LineCounts()
  /** Names of our own pieces; read when they are first needed, because only we write them. */
  let own: Set<string> | undefined

  const goneSessions = (): ((session: string) => boolean) => {
    const owners = [...readForgotten(all).sessions]
    return (session) => owners.some((owner) => isOfSession(session, owner))
  }

  const settle = (isGone: (about: PieceAbout) => boolean): Set<string> => {
    removeHalfRewritten(folder, writer)
    const kept = new Set<string>()
    // Copies that a cloud drive has made of our files come last: what is in a file need not be in them, too.
    for (const name of ownFiles(folder, writer).toReversed()) {
      const file = join(folder, name)
      const stays: boolean[] = []
      for (const line of wholeLines(file, seal)) {
        const about = aboutIn(line)
        if (about === undefined) mended.add(file)
        const isWanted = about !== undefined && !isGone(about) && !kept.has(pieceKey(about))
        if (isWanted) kept.add(pieceKey(about))
        stays.push(isWanted)
      }
      if (!stays.every(Boolean))
        rewriteLines(
          file,
          [...wholeLines(file, seal)].filter((_, n) => stays[n]),
          seal,
        )
    }
    return kept
  }

  const list = (wanted?: string): PieceAbout[] => {
    const isGone = goneSessions()
    const found = new Map<string, PieceAbout>()
    if (wanted === undefined) damaged.clear()
    for (const name of wanted === undefined ? lineFilesIn(folder) : ownFiles(folder, wanted).toReversed()) {
      const file = join(folder, name)
      for (const { line, ...place } of placedLines(file, seal)) {
        const about = aboutIn(line)
        // Nobody writes in another's name.
        const isSound = about !== undefined && (isWriters(name, about.writer) || !isPlainId(about.writer))
        if (!isSound && wanted === undefined) damaged.add(file)
        if (!isSound || isGone(about.session) || found.has(pieceKey(about))) continue
        found.set(pieceKey(about), about)
        places.set(pieceKey(about), { file, ...place })
      }
    }
    return [...found.values()].sort(byCopy)
  }

  const read = (wanted: readonly PieceName[]): VaultPiece[] => {
    const found: VaultPiece[] = []
    for (const name of wanted) {
      const place = places.get(pieceKey(name))
      const piece = place && pieceIn(readLine(place.file, place, seal) ?? "")
      if (piece !== undefined && pieceKey(piece) === pieceKey(name)) found.push(piece)
    }
    return found
  }

  return {
    isOwn: seal !== undefined,
    async put(pieces) {
      const isGone = goneSessions()
      own ??= settle(({ session }) => isGone(session))
      const alive = pieces.filter(({ session }) => !isGone(session))
      const fresh = new Map<string, VaultPiece>()
      for (const piece of alive) if (!own.has(pieceKey(piece))) fresh.set(pieceKey(piece), piece)
      const lines = [...fresh.values()].map(lineOf)
      appendLines(join(folder, currentFile(folder, writer)), lines, seal)
      for (const key of fresh.keys()) own.add(key)
      const refused = pieces.length - alive.length
      return { stored: fresh.size, known: alive.length - fresh.size, refused }
    },

    list: async (wanted) => list(wanted),

    async get(wanted) {
      // Its writer may have replaced a file since it was listed.
      const first = read(wanted)
      if (first.length === wanted.length) return first
      list()
      return read(wanted)
    },

    async drop(copies) {
      const gone = new Set(copies)
      const isGone = goneSessions()
      own = settle(({ copy, session }) => gone.has(copy) || isGone(session))
    },

    async forget(sessions, fills = []) {
      const known = readForgotten(all).sessions
      const fresh = sessions.filter((one) => !known.has(one))
      const before = new Map(knownFills(all).map((one) => [`${one.session} ${one.key}`, one.lines]))
      const news = fills.filter(({ session, key, lines }) => {
        const there = before.get(`${session} ${key}`) ?? {}
        return Object.entries(lines).some(([line, spans]) => !Bun.deepEquals(there[line], spans))
      })
      const told = [
        ...fresh.map((session) => JSON.stringify({ session })),
        ...news.map(({ session, key, lines }) => JSON.stringify({ filled: { session, key, lines } })),
      ]
      appendLines(forgottenFile(root, writer), told, seal)
      const isGone = goneSessions()
      own = settle(({ session }) => isGone(session))
    },

    fills: async () => knownFills(all),

    async forgotten() {
      return [...readForgotten(all).sessions]
    },

    fileOf(piece) {
      const place = places.get(pieceKey(piece))
      return place && shortName(place.file)
    },

    stamps: () =>
      Object.fromEntries(
        ownFiles(folder, writer).map((name) => {
          const file = join(folder, name)
          const { size, mtimeMs } = statsOf(file) ?? { size: 0, mtimeMs: 0 }
          return [shortName(file), `${size}:${mtimeMs}`]
        }),
      ),

    damagedIn: () => damaged.files,
    mendedIn: () => mended.files,

    async close() {},
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
