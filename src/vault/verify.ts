/**
 * Proves that every byte of every transcript is in the vault, and that the vault is sound. Reads files only: it
 * works without a database.
 */
import { closeSync } from "node:fs"
import { messageOf } from "../util/errors.ts"
import { type CopyCheck, checkCopy, type Remainder, remainderOf } from "./check.ts"
import { isImportedCopy, isSuperseded, vaultFile, vaultPath } from "./layout.ts"
import { openSource } from "./original.ts"
import { archivedIn, tailOf } from "./reader.ts"
import type { Forgotten } from "./tombstones.ts"
import { vaultFiles } from "./walk.ts"

/**
 * `complete`: all of it is in the vault · `waiting`: all but a half last line, which the host is still writing ·
 * `missing`: there are bytes to archive · `unreadable`: nobody can say what is in it · `mismatch`: the host has rewritten what was archived · `damaged`: the
 * copy is not sound · `deleted`: the host has deleted the transcript, the vault holds it · `superseded`: what the
 * transcript was before the host rewrote it · `imported`: made from another tool's archive · `forgotten`: the user
 * does not want it archived · `excluded`: nor any session of its folder, what was archived before is sound.
 */
export type VerifyState =
  | "complete"
  | "waiting"
  | "missing"
  | "unreadable"
  | "mismatch"
  | "damaged"
  | "deleted"
  | "superseded"
  | "imported"
  | "forgotten"
  | "excluded"

export interface Verified {
  /** Where the host keeps the transcript, or kept it; `""` when not even that can be read. */
  readonly path: string
  /** Path of the copy below `vault/`. */
  readonly copy: string | undefined
  readonly state: VerifyState
  /** Bytes on disk; 0 when the host has deleted it. */
  readonly size: number
  /** Bytes in the vault. */
  readonly archived: number
  readonly missing: number
  readonly waiting: number
  readonly frames: number
  /** Frames in which nobody has looked for secrets, and those filtered by older rules than ours. */
  readonly unfiltered: number
  readonly olderRules: number
  readonly problems: readonly string[]
}

export interface VerifyReport {
  /** Nothing is missing, different or damaged. */
  readonly ok: boolean
  readonly transcripts: readonly Verified[]
  readonly totals: Readonly<Record<VerifyState, number>> & {
    readonly transcripts: number
    readonly copies: number
    readonly frames: number
    readonly unfiltered: number
    readonly olderRules: number
    /** Of the transcripts on disk. */
    readonly bytes: number
    readonly archivedBytes: number
    readonly missingBytes: number
    readonly waitingBytes: number
  }
}

export interface VerifyOptions {
  readonly dataHome: string
  readonly home: string
  /** Absolute paths of transcripts that should be in the vault. */
  readonly transcripts: readonly string[]
  /** What of a transcript is not to be in the vault. */
  readonly forgotten?: (path: string) => Forgotten | undefined
  /** Whether it is one of a folder whose sessions are not archived. */
  readonly excluded?: (path: string) => boolean
  readonly onProgress?: (done: number, total: number) => void
}

export function verify(options: VerifyOptions): VerifyReport {
  const files = vaultFiles(options.dataHome)
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const onFrame = (bytes: number): void => {
    done += bytes
    options.onProgress?.(Math.min(done, total), total)
  }
  const results: Verified[] = []
  const seen = new Set<string>()
  for (const path of options.transcripts) {
    const copy = vaultPath(path, options.home)
    seen.add(copy)
    results.push(checkTranscript(options, path, copy, onFrame))
  }
  for (const { copy } of files) {
    if (seen.has(copy)) continue
    const result = checkRest(options, copy, onFrame)
    if (result !== undefined) results.push(result)
  }
  return { ok: results.every(isFine), transcripts: results, totals: totalsOf(results) }
}

/** Whether nothing needs to be done about it. */
export const isFine = ({ state }: Verified): boolean =>
  !["missing", "unreadable", "mismatch", "damaged"].includes(state)

/** Another process may archive while we look: then look again. */
const ATTEMPTS = 3

function checkTranscript(
  options: VerifyOptions,
  path: string,
  copy: string,
  onFrame: (bytes: number) => void,
): Verified {
  let source: ReturnType<typeof openSource>
  try {
    source = openSource(path)
  } catch (error) {
    // Of the copy it can still be said whether it is sound.
    const check = checkCopy(vaultFile(options.dataHome, copy), undefined, onFrame)
    const found = judge(path, copy, check, undefined)
    const state = found.state === "damaged" ? "damaged" : "unreadable"
    return { ...found, state, problems: [...found.problems, messageOf(error)] }
  }
  try {
    return compare(options, path, copy, source?.fd, onFrame)
  } finally {
    if (source !== undefined) closeSync(source.fd)
  }
}

function compare(
  { dataHome, forgotten = () => undefined, excluded = () => false }: VerifyOptions,
  path: string,
  copy: string,
  source: number | undefined,
  onFrame: (bytes: number) => void,
): Verified {
  const file = vaultFile(dataHome, copy)
  const isCopied = tailOf(file) !== undefined
  if (!isCopied && forgotten(path)?.whole === true) return left(path, source, "forgotten")
  const isExcluded = excluded(path)
  if (isExcluded && !isCopied) return left(path, source, "excluded")
  for (let attempt = 1; ; attempt++) {
    const check = checkCopy(file, source, onFrame)
    const rest = source === undefined ? undefined : remainderOf(source, check?.archived ?? 0)
    const grown = rest !== undefined && rest.missing > 0 && archivedIn(file) > (check?.archived ?? 0)
    if (grown && attempt < ATTEMPTS) continue
    const found = judge(path, copy, check, rest)
    // What was archived before stays, and is checked; what came since is not wanted.
    return isExcluded && found.state === "missing" ? { ...found, state: "excluded", missing: 0 } : found
  }
}

/** Not wanted, and not in the vault. */
function left(path: string, source: number | undefined, state: "forgotten" | "excluded"): Verified {
  const size = source === undefined ? 0 : remainderOf(source, 0).size
  const none = { archived: 0, missing: 0, waiting: 0, frames: 0, unfiltered: 0, olderRules: 0, problems: [] }
  return { path, copy: undefined, state, size, ...none }
}

/** A copy of which no transcript was asked for: it may be elsewhere, deleted, or rewritten since. */
function checkRest(
  options: VerifyOptions,
  copy: string,
  onFrame: (bytes: number) => void,
): Verified | undefined {
  const file = vaultFile(options.dataHome, copy)
  const path = tailOf(file)?.header.path
  if (path !== undefined && !isSuperseded(copy)) return checkTranscript(options, path, copy, onFrame)
  const check = checkCopy(file, undefined, onFrame)
  return check && judge(path ?? "", copy, check, undefined)
}

function judge(
  path: string,
  copy: string,
  check: CopyCheck | undefined,
  rest: Remainder | undefined,
): Verified {
  const differs = check?.differsAt
  const problems = [...(check?.damage ?? [])]
  if (rest === undefined && (check?.halfFrame ?? 0) > 0) {
    problems.push(`its last ${check?.halfFrame} bytes are not a whole frame, and the transcript is gone`)
  }
  const damaged = problems.length > 0
  if (differs !== undefined) problems.push(`the transcript differs from byte ${differs} on`)
  const size = rest?.size ?? 0
  const missing = rest === undefined ? 0 : differs === undefined ? rest.missing : size - differs
  const waiting = differs === undefined ? (rest?.waiting ?? 0) : 0
  let state: VerifyState = "complete"
  if (damaged) state = "damaged"
  else if (rest === undefined) state = check === undefined ? "missing" : withoutTranscript(copy)
  else if (differs !== undefined) state = "mismatch"
  else if (missing > 0) state = "missing"
  else if (waiting > 0) state = "waiting"
  return {
    path,
    copy: check === undefined ? undefined : copy,
    state,
    size,
    archived: check?.archived ?? 0,
    missing,
    waiting,
    frames: check?.frames ?? 0,
    unfiltered: check?.unfiltered ?? 0,
    olderRules: check?.olderRules ?? 0,
    problems,
  }
}

/** A sound copy whose transcript is not on disk. */
function withoutTranscript(copy: string): VerifyState {
  if (isImportedCopy(copy)) return "imported"
  return isSuperseded(copy) ? "superseded" : "deleted"
}

function totalsOf(results: readonly Verified[]): VerifyReport["totals"] {
  const sum = (
    field: "size" | "archived" | "missing" | "waiting" | "frames" | "unfiltered" | "olderRules",
  ): number => results.reduce((total, result) => total + result[field], 0)
  const states = {
    complete: 0,
    waiting: 0,
    missing: 0,
    unreadable: 0,
    mismatch: 0,
    damaged: 0,
    deleted: 0,
    superseded: 0,
    imported: 0,
    forgotten: 0,
    excluded: 0,
  }
  for (const { state } of results) states[state]++
  return {
    ...states,
    transcripts: results.filter(({ state }) => state !== "superseded").length,
    copies: results.filter(({ copy }) => copy !== undefined).length,
    frames: sum("frames"),
    unfiltered: sum("unfiltered"),
    olderRules: sum("olderRules"),
    bytes: sum("size"),
    archivedBytes: sum("archived"),
    missingBytes: sum("missing"),
    waitingBytes: sum("waiting"),
  }
}
