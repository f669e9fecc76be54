/** Keeps pieces of vaults in a folder, beside the entries: each writer appends to its own files, one piece per line. */

import { parseJson } from "../util/parse-json.ts"
import { join } from "../util/path.ts"
import { isPlainId } from "../util/session-id.ts"
import { isOfSession } from "./backend.ts"
import {
  currentFile,
  forgottenFile,
  forgottenLines,
  framesFolder,
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
  type PlaceInFile,
  placedLines,
  readLine,
  rewriteLines,
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
  /** Names of our own pieces; read when they are first needed, because only we write them. */
  let own: Set<string> | undefined

  const goneSessions = (): ((session: string) => boolean) => {
    const owners = [...readForgotten(all).sessions]
    return (session) => owners.some((owner) => isOfSession(session, owner))
  }

  const settle = (isGone: (about: PieceAbout) => boolean): Set<string> => {
    removeHalfRewritten(folder, writer)
    const kept = new Set<string>()
    for (const name of ownFiles(folder, writer)) {
      const stays = (line: string): boolean => {
        const about = aboutIn(line)
        return about !== undefined && !isGone(about)
      }
      const file = join(folder, name)
      let outdated = false
      for (const line of wholeLines(file, seal)) {
        const about = aboutIn(line)
        if (about === undefined) continue
        if (isGone(about)) outdated = true
        else kept.add(pieceKey(about))
      }
      if (outdated) rewriteLines(file, [...wholeLines(file, seal)].filter(stays), seal)
    }
    return kept
  }

  const list = (wanted?: string): PieceAbout[] => {
    const isGone = goneSessions()
    const found = new Map<string, PieceAbout>()
    for (const name of wanted === undefined ? lineFilesIn(folder) : ownFiles(folder, wanted)) {
      const file = join(folder, name)
      for (const { line, ...place } of placedLines(file, seal)) {
        const about = aboutIn(line)
        // Nobody writes in another's name.
        if (about === undefined || !isOf(name, about.writer) || isGone(about.session)) continue
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

/** Whether a file is the writer's. What can be nobody's name is listed, too, and counted by whoever fetches. */
const isOf = (file: string, writer: string): boolean => file.startsWith(`${writer}.`) || !isPlainId(writer)

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
