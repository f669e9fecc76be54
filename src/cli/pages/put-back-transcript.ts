/** Writes a transcript back from its copy: completely or not at all, and never over bytes that the vault lacks. */
import { randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs"
import { CtxError, codeOf, messageOf } from "../../base/errors.ts"
import { renameSync } from "../../base/fs.ts"
import { basename, dirname, join } from "../../base/path.ts"
import { writeAll } from "../../base/write-output.ts"
import type { Paths } from "../../config/load.ts"
import type { AgentPlaces } from "../../record/agent.ts"
import { linesIn } from "../../record/lines-with.ts"
import { checkCopy, withTranscript } from "../../vault/check-copy.ts"
import { vaultFile } from "../../vault/layout.ts"
import { CopyReader } from "../../vault/reader.ts"

/**
 * - `written`: there was no file
 * - `completed`: there was only the beginning
 * - `present`: the file has the same bytes
 * - `longer`: the file has grown since it was archived
 * - `differs`: another file is there, and was left
 * - `replaced`: another file was there, and was set aside
 * - `failed`
 */
type PutState = "written" | "completed" | "present" | "longer" | "differs" | "replaced" | "failed"

interface PutBack {
  readonly state: PutState
  readonly bytes: number
  /** Where the former file was moved, for `replaced`; undefined in a dry run. */
  readonly aside: string | undefined
  readonly error: string | undefined
}

export interface PutOptions {
  readonly force: boolean
  readonly dryRun: boolean
}

/**
 * Writes the file with mode 0600. Its modification time is the present, because Claude Code's clean-up goes by it.
 *
 * @param copy absolute path of the copy
 * @param target absolute path of the transcript
 */
export function putBack(copy: string, target: string, { force, dryRun }: PutOptions): PutBack {
  let bytes = 0
  try {
    const found = look(copy, target)
    bytes = found.bytes
    const state = found.state === "differs" && force ? "replaced" : found.state
    const idle = !["written", "completed", "replaced"].includes(state)
    if (idle || dryRun) return { state, bytes, aside: undefined, error: undefined }
    const aside = write(copy, target, found, state === "replaced")
    return { state, bytes, aside, error: undefined }
  } catch (error) {
    return { state: "failed", bytes, aside: undefined, error: messageOf(error) }
  }
}

interface Look {
  readonly state: Exclude<PutState, "replaced" | "failed">
  readonly bytes: number
  /** Identifies the existing file and its version (see `outsideOf`); undefined when there is none. */
  readonly seen: string | undefined
}

function look(copy: string, target: string): Look {
  const seen = outsideOf(target)
  return withTranscript(target, (source) => {
    const check = checkCopy(copy, source)
    if (check === undefined) throw new CtxError("vault-missing", `the vault has no copy ${copy}`)
    if (check.damage.length > 0) {
      throw new CtxError("vault-damaged", `the copy is damaged: ${check.damage[0]}`)
    }
    const { archived: bytes, differsAt } = check
    if (source === undefined) return { state: seen === undefined ? "written" : "differs", bytes, seen }
    const { size } = fstatSync(source)
    if (differsAt === undefined) return { state: size > bytes ? "longer" : "present", bytes, seen }
    return { state: differsAt === size ? "completed" : "differs", bytes, seen }
  })
}

/** A string that changes when the file is written or replaced; undefined when there is none. */
function outsideOf(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs}`
}

function write(copy: string, target: string, { seen }: Look, replace: boolean): string | undefined {
  return filled(target, piecesOf(copy), (temporary) => {
    if (outsideOf(target) !== seen) throw changed(target)
    const aside = replace ? setAside(target) : undefined
    if (seen === undefined || aside !== undefined) placeNew(temporary, target)
    else renameSync(temporary, target)
    return aside
  })
}

/** Calls `place` with a file beside the target that has all of the pieces; whatever is left of it goes. */
function filled<T>(target: string, pieces: Iterable<Uint8Array>, place: (temporary: string) => T): T {
  const folder = dirname(target)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Must not end in .jsonl, or Claude Code would take it for a session.
  const temporary = join(folder, `.${basename(target)}.${randomUUID().slice(0, 8)}.tmp`)
  try {
    fill(temporary, pieces)
    return place(temporary)
  } finally {
    rmSync(temporary, { force: true })
  }
}

const changed = (target: string): CtxError =>
  new CtxError("changed", `another program wrote ${target} at the same moment; it was left unchanged`)

function fill(file: string, pieces: Iterable<Uint8Array>): void {
  const fd = openSync(file, "wx", 0o600)
  try {
    for (const piece of pieces) writeAll(fd, piece)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function* piecesOf(copy: string): Generator<Uint8Array> {
  const reader = new CopyReader(copy)
  try {
    yield* reader.pieces()
  } finally {
    reader.close()
  }
}

/** Links instead of renaming, because a link never replaces a file that has appeared in the meantime. */
function placeNew(temporary: string, target: string): void {
  try {
    linkSync(temporary, target)
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw changed(target)
    // The file system has no hard links.
    renameSync(temporary, target)
  }
}

/** Renames the file to the first free name that Claude Code does not take for a session. */
function setAside(target: string): string {
  for (let n = 1; ; n++) {
    const aside = `${target}.before-${n}`
    if (outsideOf(aside) !== undefined) continue
    renameSync(target, aside)
    return aside
  }
}

/* Copies of a session under an id of their own: Claude Code goes on with one, and the session stays. */

/** The lines of a session: of its own file, unless that is gone or has less than the vault. */
export function sessionLines({ path, copy, state }: PutFile, dataHome: string): string[] {
  const isOwn = state !== "written" && state !== "completed" && existsSync(path)
  const bytes = isOwn ? readFileSync(path) : Buffer.concat([...piecesOf(vaultFile(dataHome, copy))])
  return Array.from(linesIn(bytes), ([from, to]) => bytes.toString("utf8", from, to))
}

/**
 * Writes a session's lines under another id.
 *
 * @param session whose lines they are
 * @param target where the copy goes, named after its own id
 */
export function writeSessionCopy(session: string, lines: readonly string[], target: string): void {
  const own = new RegExp(`("sessionId"\\s*:\\s*")${RegExp.escape(session)}"`, "g")
  const id = basename(target).replace(/\.jsonl$/, "")
  const pieces = lines.values().map((line) => Buffer.from(`${line.replace(own, `$1${id}"`)}\n`))
  filled(target, pieces, (temporary) => placeNew(temporary, target))
}

/* What came of a session that was written back, whichever agent's it is. */

export interface PutFile extends PutBack {
  readonly path: string
  /** Path of its copy below `vault/`. */
  readonly copy: string
  /** The subagent's id; undefined for the session itself. */
  readonly agent: string | undefined
  /** Whether it is a file beside the transcripts. */
  readonly isBeside: boolean
}

/** What else the vault has of a transcript: from another folder, or from before it was rewritten. */
export interface OtherVersion {
  readonly path: string
  readonly copy: string
  /** Of the transcript. */
  readonly bytes: number
  readonly records: number
  /** Whether it has more records than what is in place now: what Claude Code has there was left. */
  readonly isFuller: boolean
}

export interface Resurrected {
  readonly session: string
  /** Name of the agent whose session it is. */
  readonly program: string
  readonly files: readonly PutFile[]
  /** Versions of the session's own transcript that were not written. */
  readonly others: readonly OtherVersion[]
  /** How to resume it; empty with `to`, or if no file could be put in place. */
  readonly resume: readonly Resume[]
  /** Why its agent cannot be started with it, although its file is there. */
  readonly unstartable: string | undefined
}

export interface Resume {
  /** Folder in which to start the agent; undefined if the transcript does not name one. */
  readonly folder: string | undefined
  readonly gone: boolean
  /** The agent's own folder, unless it looks there anyway. */
  readonly configDir: string | undefined
}

export interface ResurrectOptions extends PutOptions, AgentPlaces, Pick<Paths, "dataHome"> {
  /** Absolute path of the folder to write to instead of the agent's. */
  readonly to: string | undefined
  /** Include former versions of rewritten transcripts. */
  readonly all: boolean
  /** Write nothing of a session that its agent cannot be started with. */
  readonly toStart?: boolean
  /** The folder of a session's repository, for one whose worktree is gone; undefined: nobody knows. */
  readonly folderOf?: (session: string) => string | undefined
  readonly onProgress?: (done: number, total: number) => void
}
