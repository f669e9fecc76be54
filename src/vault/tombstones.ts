/**
 * What the user wants forgotten: one file a session, in `forgotten/`. Whoever archives asks here first, so that what was
 * taken out of the vault stays out although the host still has it. Where there is nothing to forget, a file that cannot
 * be opened is all that it costs.
 *
 * Of a text that was taken out of some lines, a tombstone knows where it stood, and keyed hashes of those lines: neither
 * the text nor anything it could be guessed from without the rest of its line.
 */

import { CtxError, codeOf, isMissing, messageOf } from "../util/errors.ts"
import { writeWhole } from "../util/files.ts"
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import type { Edit } from "./rewrite.ts"

/** First byte, and the first one behind the last. */
export type Span = readonly [from: number, to: number]

export interface Tombstone {
  /** The session, without a subagent. */
  readonly session: string
  /** All of it, its subagents included. */
  readonly whole: boolean
  /** Subagents of it that are forgotten alone. */
  readonly agents: readonly string[]
  /** Where the host kept what was forgotten whole. */
  readonly transcripts: readonly string[]
  /** Hashes of lines, and what to fill in them. */
  readonly lines: Readonly<Record<string, readonly Span[]>>
  /** Of the hashes; random. */
  readonly key: string
  /** When it was written last, in ms since the epoch. */
  readonly time: number
}

/** What a tombstone means for one transcript. */
export interface Forgotten {
  readonly whole: boolean
  /** For what is archived all the same. */
  readonly edit: Edit
}

/** What stands where a text was taken out: valid in JSON wherever text is. */
const FILLER = 0x2a
const NEWLINE = 0x0a

const folder = (dataHome: string): string => join(dataHome, "forgotten")

const fileOf = (dataHome: string, session: string): string =>
  join(folder(dataHome), `${Bun.hash.xxHash64(session, 0n).toString(16)}.json`)

/**
 * The session that a tombstone is about: without the subagent.
 *
 * @param path of the transcript, which stands for the session of a subagent whose parent nobody knows
 */
export const ownerOf = (session: string, path: string): string =>
  session.startsWith("unknown/") ? path : session.split("/", 1)[0]!

/**
 * What is not to be archived of a transcript; undefined: nothing is forgotten of its session.
 *
 * @param session as the views name it, `<session>/<agent>` for a subagent
 * @throws CtxError `tombstone-damaged`: better not to archive than to archive what should be forgotten
 */
export function forgottenOf(dataHome: string, session: string, path: string): Forgotten | undefined {
  const owner = ownerOf(session, path)
  const tombstone = readTombstone(dataHome, owner)
  if (tombstone === undefined) return undefined
  const agent = session.includes("/") ? session.slice(session.indexOf("/") + 1) : undefined
  const whole = tombstone.whole || (agent !== undefined && tombstone.agents.includes(agent))
  return { whole, edit: (content) => filled(content, tombstone) }
}

export function readTombstone(dataHome: string, session: string): Tombstone | undefined {
  return parsed(fileOf(dataHome, session))
}

function parsed(file: string): Tombstone | undefined {
  // An error costs six times as much as a look.
  if (!existsSync(file)) return undefined
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    // Where we may not even look, nothing is archived either; what is kept elsewhere meanwhile comes by here later.
    if (isMissing(error) || ["EACCES", "EPERM"].includes(codeOf(error))) return undefined
    throw error
  }
  try {
    return JSON.parse(text) as Tombstone
  } catch (cause) {
    throw new CtxError("tombstone-damaged", `cannot read ${file}: ${messageOf(cause)}`, {
      hint: "nothing of its session is archived while it is there",
      cause,
    })
  }
}

/** All of them, the latest last. */
export function listTombstones(dataHome: string): Tombstone[] {
  return names(dataHome)
    .map((name) => parsed(join(folder(dataHome), name)))
    .filter((one) => one !== undefined)
    .sort((a, b) => a.time - b.time || (a.session < b.session ? -1 : 1))
}

/** Of how many sessions something is forgotten. */
export const tombstoneCount = (dataHome: string): number => names(dataHome).length

function names(dataHome: string): string[] {
  try {
    return readdirSync(folder(dataHome)).filter((name) => /^[0-9a-f]+\.json$/.test(name))
  } catch (error) {
    if (isMissing(error) || codeOf(error) === "EACCES") return []
    throw error
  }
}

/** On the disk when it returns: what is deleted next must not come back after a power cut. */
export function writeTombstone(dataHome: string, tombstone: Tombstone): void {
  const file = fileOf(dataHome, tombstone.session)
  writeWhole(file, JSON.stringify(tombstone))
  for (const path of [file, folder(dataHome)]) {
    const fd = openSync(path, "r")
    fsyncSync(fd)
    closeSync(fd)
  }
}

export function removeTombstone(dataHome: string, session: string): void {
  rmSync(fileOf(dataHome, session), { force: true })
}

/** A new one, about nothing yet. */
export const emptyTombstone = (session: string, now: number): Tombstone => ({
  session,
  whole: false,
  agents: [],
  transcripts: [],
  lines: {},
  key: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex"),
  time: now,
})

export function lineHash(key: string, line: Uint8Array): string {
  return new Bun.CryptoHasher("sha256", key).update(line).digest("hex").slice(0, 32)
}

/** A line may have been filled more than once: each time what was stored then is known by its hash. */
const MOST_TIMES = 100

/** The same array where no line is known. */
function filled(content: Uint8Array, { key, lines }: Tombstone): Uint8Array {
  if (Object.keys(lines).length === 0) return content
  let out = content
  for (let start = 0; start < content.length; ) {
    const newline = content.indexOf(NEWLINE, start)
    const end = newline < 0 ? content.length : newline
    for (let times = 0; times < MOST_TIMES; times++) {
      const spans = lines[lineHash(key, out.subarray(start, end))]
      if (spans === undefined) break
      // A copy, which `slice` of a Buffer would not be.
      if (out === content) out = new Uint8Array(content)
      fill(out.subarray(start, end), spans)
    }
    start = end + 1
  }
  return out
}

/** Changes `line`. */
export function fill(line: Uint8Array, spans: readonly Span[]): void {
  for (const [from, to] of spans) line.fill(FILLER, from, to)
}
