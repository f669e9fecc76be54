/**
 * What the user wants forgotten: one file per session, in `forgotten/`. Every capture checks it first, so that what was
 * taken out of the vault stays out although the host still has it. If nothing is forgotten, this costs a look for a
 * file that does not exist.
 *
 * For a text taken out of some lines, the tombstone stores its positions and keyed hashes of those lines. It holds
 * neither the text nor anything from which it could be guessed without the rest of its line.
 */
import { namesInPath } from "../agents/layouts.ts"
import { linesIn } from "../util/byte-lines.ts"
import { CtxError, codeOf, isMissing, messageOf } from "../util/errors.ts"
import { flush } from "../util/files.ts"
import { existsSync, readFileSync, rmSync } from "../util/fs.ts"
import { fileNamesIn, hashName, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"
import { isPlainId } from "../util/session-id.ts"
import type { Edit } from "./rewrite.ts"

/** First byte, and the one after the last. */
export type FilledSpan = readonly [from: number, to: number]

export interface Tombstone {
  /** The session's id, without a subagent's. */
  readonly session: string
  /** Whether all of it is forgotten, including its subagents. */
  readonly whole: boolean
  /** Its subagents that are forgotten on their own. */
  readonly agents: readonly string[]
  /** Paths of the host's transcripts, and files beside them, that are forgotten whole. */
  readonly transcripts: readonly string[]
  /** Hashes of lines, and the spans to fill in them. */
  readonly lines: Readonly<Record<string, readonly FilledSpan[]>>
  /** Random key of the hashes. */
  readonly key: string
  /** When it was last written, in ms since the epoch. */
  readonly time: number
}

/** What a tombstone means for one transcript. */
export interface Forgotten {
  readonly whole: boolean
  /** For what is archived nevertheless. */
  readonly edit: Edit
}

/** Replaces a removed text; valid in JSON wherever text is. */
const FILLER = 0x2a

const folder = (dataHome: string): string => join(dataHome, "forgotten")

const fileOf = (dataHome: string, session: string): string =>
  join(folder(dataHome), `${hashName(session)}.json`)

/**
 * The session that a tombstone is about, without the subagent.
 *
 * @param path of the transcript; stands for the session if nobody knows a subagent's parent
 */
export const ownerOf = (session: string, path: string): string =>
  session.startsWith("unknown/") ? path : session.split("/", 1)[0]!

/**
 * What must not be archived of a transcript; undefined if nothing of its session is forgotten.
 *
 * @param session as named in the views, `<session>/<agent>` for a subagent
 * @throws CtxError `tombstone-damaged`: better to archive nothing than what should be forgotten
 */
export function forgottenOf(dataHome: string, session: string, path: string): Forgotten | undefined {
  const owner = ownerOf(session, path)
  // Earlier versions called a session by its transcript's name, whatever that was.
  const { session: name } = namesInPath(path)
  const older = name === undefined || isPlainId(name) ? "" : name
  const tombstone =
    readTombstone(dataHome, owner) ?? (older === "" ? undefined : readTombstone(dataHome, older))
  if (tombstone === undefined) return undefined
  const [, agent = ""] = /\/(.*)/s.exec(session) ?? []
  const whole = tombstone.whole || tombstone.agents.includes(agent) || tombstone.transcripts.includes(path)
  return { whole, edit: (content) => fillLines(content, tombstone) }
}

export function readTombstone(dataHome: string, session: string): Tombstone | undefined {
  return parsed(fileOf(dataHome, session))
}

function parsed(file: string): Tombstone | undefined {
  // Checked first, because an error costs six times as much.
  if (!existsSync(file)) return undefined
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    // Where we may not even look, nothing can be archived either. What is kept elsewhere meanwhile is checked later.
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

/** All tombstones, latest last. */
export function listTombstones(dataHome: string): Tombstone[] {
  return names(dataHome)
    .map((name) => parsed(join(folder(dataHome), name)))
    .filter((one) => one !== undefined)
    .sort((a, b) => a.time - b.time || (a.session < b.session ? -1 : 1))
}

/** Number of sessions of which something is forgotten. */
export const tombstoneCount = (dataHome: string): number => names(dataHome).length

const names = (dataHome: string): string[] =>
  fileNamesIn(folder(dataHome), (error) => isMissing(error) || codeOf(error) === "EACCES").filter((name) =>
    /^[0-9a-f]+\.json$/.test(name),
  )

/** Flushes to disk before returning: what is deleted next must not come back after a power cut. */
export function writeTombstone(dataHome: string, tombstone: Tombstone): void {
  const file = fileOf(dataHome, tombstone.session)
  writeJson(file, tombstone)
  flush(file)
  flush(folder(dataHome))
}

export function removeTombstone(dataHome: string, session: string): void {
  rmSync(fileOf(dataHome, session), { force: true })
}

/** A new tombstone that forgets nothing yet. */
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

/** A line may have been filled several times; each stored state has a hash of its own. */
const MOST_TIMES = 100

/** Returns the same array if no line is known. */
export function fillLines(content: Uint8Array, { key, lines }: Pick<Tombstone, "key" | "lines">): Uint8Array {
  if (Object.keys(lines).length === 0) return content
  let out = content
  for (const [start, end] of linesIn(content)) {
    for (let times = 0; times < MOST_TIMES; times++) {
      const spans = lines[lineHash(key, out.subarray(start, end))]
      if (spans === undefined) break
      // Copied, which `slice` of a Buffer would not do.
      if (out === content) out = new Uint8Array(content)
      fillSpans(out.subarray(start, end), spans)
    }
  }
  return out
}

export function fillSpans(line: Uint8Array, spans: readonly FilledSpan[]): void {
  for (const [from, to] of spans) line.fill(FILLER, from, to)
}
