/**
 * Brings sessions into the vault that an agent keeps as one document each, which it writes anew when something was said:
 * as a transcript with a line for each thing in it. A line is appended once, and once more if it has changed, so a copy
 * only grows, and what the agent has taken out stays. Needs no database.
 */
import { readFileSync } from "node:fs"
import { decodeLine, documentLines } from "../../agents/agents.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { dirname, join } from "../../base/path.ts"
import { jsonText } from "../../record/json.ts"
import { FILLER } from "../../secrets/fill.ts"
import { FILTERED } from "../../secrets/filter.ts"
import { appendMade } from "../../vault/append-made.ts"
import { sessionOf } from "../../vault/capture.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { markPending } from "../../vault/pending.ts"
import { archivedIn } from "../../vault/reader.ts"
import { forgottenOf } from "../../vault/tombstones.ts"
import { isExcludedFolder } from "../../views/excluded.ts"
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

/** In bytes. No agent's are known to be nearly as long; all of it has to fit into memory. */
const LARGEST = 512 << 20
/** In bytes, of what lies beside a document. */
const LARGEST_BESIDE = 64 << 10

/** @throws CtxError `busy`; any error of reading */
export function takeDocument(place: MadePlace, path: string, options: TakeMade): MadeTaken {
  const { now, deadline, dryRun = false, isWhole = false } = options
  const copy = vaultPath(path, place.home)
  const file = vaultFile(place.dataHome, copy)
  const stats = statsOf(path)
  const isThere = stats?.isFile() === true
  const session = isThere ? sessionOf(path) : ""
  const none = (state: MadeTaken["captured"]["state"], isExcluded = false): MadeTaken =>
    nothingTaken(place, { path, copy, session }, state, isExcluded)
  if (!isThere) return none("missing")
  const forgotten = forgottenOf(place.dataHome, session, path)
  if (forgotten?.whole === true) return none("forgotten")
  if (!isWhole && !hasNews(place, path, stats.mtimeMs))
    return none("current", isLeftOut(place, path, stats.mtimeMs))
  const lines = linesOf(path, stats.size)
  if (isOfExcluded(place, lines)) {
    if (!dryRun) noteLeftOut(place, path, stats.mtimeMs)
    return none("current", true)
  }
  const edit = forgotten?.edit ?? ((content: Uint8Array) => content)
  const { taken, isLate } = appendMade({
    copy: file,
    path,
    now,
    dryRun,
    deadline,
    secrets: place.secrets ?? FILTERED,
    edit: (content) => edit(content, 0),
    // What was recognised as a secret in one line is filled in the others.
    earlier: () => lines.map(({ line }) => line),
    // What is filled as a whole cannot be known again, and would be appended each time.
    choose: (held) => newLines(lines, held).filter((line) => edit(Buffer.from(line), 0)[0] !== FILLER),
    onBegin: () => markPending(place.dataHome, { path, copy, session }),
  })
  if (isLate) return none("behind")
  if (!dryRun) noteSeen(place, path, { updated: stats.mtimeMs, to: archivedIn(file) })
  const rest = none("current")
  return { ...rest, captured: { ...rest.captured, taken } }
}

interface MadeLine {
  /** With its newline. */
  readonly line: string
  readonly sha256: string
}

function linesOf(path: string, size: number): MadeLine[] {
  if (size > LARGEST) throw new Error(`longer than ${LARGEST} bytes`)
  const beside = (name: string): string | undefined => {
    const file = join(dirname(path), name)
    const length = statsOf(file)?.size ?? Number.POSITIVE_INFINITY
    return length > LARGEST_BESIDE ? undefined : tryTo(() => readFileSync(file, "utf8"))
  }
  return documentLines(path, readFileSync(path, "utf8"), beside).map((object) => {
    const body = jsonText(object)
    const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex")
    return {
      line: `${body.slice(0, -1)}${body === "{}" ? "" : ","}"ctxbridge":{"sha256":"${sha256}"}}\n`,
      sha256,
    }
  })
}

/** At a line's end: its own secrets may have been filled since it was read. */
const SHA256 = /"ctxbridge":\{"sha256":"([\da-f]{64})"\}\}$/

function newLines(lines: readonly MadeLine[], held: Iterable<Uint8Array>): string[] {
  const known = new Set<string>()
  for (const content of held) {
    const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString("utf8")
    for (const line of text.split("\n")) {
      const sha256 = SHA256.exec(line)?.[1]
      if (sha256 !== undefined) known.add(sha256)
    }
  }
  return lines.flatMap(({ line, sha256 }) => {
    if (known.has(sha256)) return []
    known.add(sha256)
    return [line]
  })
}

/** As for any other session: it belongs to the first folder that it names. */
function isOfExcluded(place: MadePlace, lines: readonly MadeLine[]): boolean {
  if (place.exclude === undefined || place.exclude.length === 0) return false
  for (const { line } of lines) {
    const { cwd } = decodeLine(line)
    if (cwd !== undefined) return isExcludedFolder(place, cwd)
  }
  return true
}
