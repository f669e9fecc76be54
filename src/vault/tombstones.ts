/**
 * What the user wants forgotten: one file per session, in `forgotten/`. Every capture checks it first, so that what was
 * taken out of the vault stays out although Claude Code still has it. If nothing is forgotten, this costs a look for a
 * file that does not exist.
 */
import { namesInPath } from "../agents/layouts.ts"
import { codeOf, isMissing } from "../base/errors.ts"
import { flush } from "../base/files.ts"
import { existsSync, rmSync } from "../base/fs.ts"
import { fileNamesIn, hashName, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { isPlainId } from "../base/session-id.ts"
import type { Edit } from "./rewrite.ts"
import type { Tombstone } from "./tombstone.ts"

/** What a tombstone means for one transcript. */
export interface Forgotten {
  readonly whole: boolean
  /** For what is archived nevertheless. */
  readonly edit: Edit
}

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
  return { whole, edit: (content) => late().fillLines(content, tombstone) }
}

export function readTombstone(dataHome: string, session: string): Tombstone | undefined {
  return parsed(fileOf(dataHome, session))
}

/** Few sessions have one. */
const late = (): typeof import("./tombstone.ts") => require("./tombstone.ts")

// Checked first, because an error costs six times as much.
const parsed = (file: string): Tombstone | undefined =>
  existsSync(file) ? late().tombstoneIn(file) : undefined

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
