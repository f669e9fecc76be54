/**
 * Sessions that are no transcripts: an agent keeps them as rows of a database, as one document each, or compressed. A
 * transcript is made of them, and grows in the vault as any other.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { decodeLine } from "../../agents/agents.ts"
import { isDocument } from "../../agents/layouts.ts"
import { statsOf } from "../../base/files.ts"
import { existsSync } from "../../base/fs.ts"
import { join } from "../../base/path.ts"
import { temporaryFolder } from "../../base/temporary.ts"
import { linesIn } from "../../record/lines-with.ts"
import { captureTranscript, sessionOf, UNHURRIED } from "../../vault/capture.ts"
import { frameContent } from "../../vault/frame.ts"
import { mostContent } from "../../vault/frame-size.ts"
import { knownOf } from "../../vault/known-values.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { archivedIn } from "../../vault/reader.ts"
import { isExcludedFolder } from "../../views/excluded.ts"
import { takeDocument } from "./take-document.ts"
import { takeOpencode } from "./take-opencode.ts"
import {
  hasNews,
  isLeftOut,
  type MadePlace,
  type MadeTaken,
  noteLeftOut,
  noteSeen,
  nothingTaken,
  type TakeMade,
} from "./taken-made.ts"

/** Takes what the vault lacks. @throws CtxError `busy`; whatever reading throws */
export const takeMade = (place: MadePlace, path: string, options: TakeMade): MadeTaken =>
  isPacked(path)
    ? takePacked(place, path, options)
    : isDocument(path)
      ? takeDocument(place, path, options)
      : takeOpencode(place, path, options)

/*
 * Transcripts that their agent has compressed: what is in such a file, byte for byte, as the transcript that it was.
 * While that is there, too, it alone counts. Needs no database.
 */

const PACKED = ".zst"
/** In bytes, of the file and of what is in it, which has to fit into memory. */
const LARGEST = 64 << 20
const LARGEST_CONTENT = 512 << 20

const isPacked = (path: string): boolean => path.endsWith(`.jsonl${PACKED}`)

/** @throws any error of reading, or of a file that is damaged or too long */
function takePacked(place: MadePlace, packed: string, options: TakeMade): MadeTaken {
  const { now, dryRun = false, isWhole = false } = options
  const path = packed.slice(0, -PACKED.length)
  const copy = vaultPath(path, place.home)
  const none = (state: MadeTaken["captured"]["state"], isExcluded = false): MadeTaken =>
    nothingTaken(place, { path, copy, session: sessionOf(path) }, state, isExcluded)
  const stats = statsOf(packed)
  if (stats?.isFile() !== true) return none("missing")
  if (existsSync(path) || !(isWhole || hasNews(place, packed, stats.mtimeMs)))
    return none("current", isLeftOut(place, packed, stats.mtimeMs))
  if (stats.size > LARGEST) throw new Error(`longer than ${LARGEST} bytes`)
  const content = unpacked(readFileSync(packed))
  if (isOfExcluded(place, content)) {
    if (!dryRun) noteLeftOut(place, packed, stats.mtimeMs)
    return none("current", true)
  }
  const rest = none("current")
  if (dryRun) {
    const taken = Math.max(0, content.length - rest.captured.archived)
    return { ...rest, captured: { ...rest.captured, taken } }
  }
  using folder = temporaryFolder("packed")
  const readFrom = join(folder.path, "transcript.jsonl")
  writeFileSync(readFrom, content, { mode: 0o600 })
  const taken = captureTranscript(place, path, {
    now,
    readFrom,
    deadline: Number.POSITIVE_INFINITY,
    lastLine: "any",
    level: UNHURRIED,
    known: knownOf,
  })
  if (taken.captured.state === "current")
    noteSeen(place, packed, { updated: stats.mtimeMs, to: archivedIn(vaultFile(place.dataHome, copy)) })
  return { ...taken, isExcluded: false, altered: 0 }
}

/** Whoever makes a small file can put gigabytes into it, which nobody could take. */
function unpacked(bytes: Uint8Array): Buffer {
  const most = mostContent(bytes)
  if (most === undefined) throw new Error("it is not what zstd writes, or damaged")
  if (most > LARGEST_CONTENT) throw new Error(`what is in it may be longer than ${LARGEST_CONTENT >> 20} MB`)
  const { buffer, byteOffset, length } = frameContent(bytes)
  return Buffer.from(buffer, byteOffset, length)
}

/** As for any other session: it belongs to the first folder that it names. */
function isOfExcluded(place: MadePlace, content: Buffer): boolean {
  if (place.exclude === undefined || place.exclude.length === 0) return false
  for (const [start, end] of linesIn(content)) {
    const { cwd } = decodeLine(content.toString("utf8", start, end))
    if (cwd !== undefined) return isExcludedFolder(place, cwd)
  }
  return true
}
