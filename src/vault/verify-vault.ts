/** Proves that every byte of every transcript is in the vault, and that the vault is sound. Needs no database. */
import { closeSync } from "node:fs"
import { isDocument, placeBeside } from "../agents/layouts.ts"
import { codeOf, messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import type { Paths } from "../config/load.ts"
import { type CopyCheck, checkCopy, NOTHING_FOUND, type Remainder, remainderOf } from "./check-copy.ts"
import {
  isBesideCopy,
  isFetchedCopy,
  isHistoryCopy,
  isImportedCopy,
  isSummaryCopy,
  isSuperseded,
  vaultFile,
  vaultPath,
} from "./layout.ts"
import { findLosses, type KnownCopy, type LostCopy } from "./lost-copies.ts"
import { archivedIn, tailOf } from "./reader.ts"
import { openSource } from "./source-file.ts"
import type { Forgotten } from "./tombstones.ts"
import { noFiles, vaultFiles } from "./vault-files.ts"

/**
 * `complete`: all of it is in the vault · `waiting`: all except half a last line that Claude Code is still writing ·
 * `missing`: some bytes are not archived · `unreadable`: the transcript cannot be read · `mismatch`: Claude Code has
 * rewritten what was archived · `damaged`: the copy is not sound · `deleted`: Claude Code has deleted the transcript,
 * but the vault holds it · `superseded`: an earlier content of a transcript that Claude Code has rewritten ·
 * `imported`: made from another tool's archive · `fetched`: mirrors a copy of another machine · `twin`: a second copy
 * of a transcript, made under another home folder · `forgotten`: the user does not want it archived · `excluded`: the
 * user wants nothing of its folder archived; what was archived before is sound.
 */
type VerifyState = (typeof STATES)[number]

const STATES = [
  "complete",
  "waiting",
  "missing",
  "unreadable",
  "mismatch",
  "damaged",
  "deleted",
  "superseded",
  "imported",
  "summary",
  "fetched",
  "twin",
  "forgotten",
  "excluded",
  "lost",
] as const

export interface Verified extends Pick<CopyCheck, "archived" | "frames" | "unfiltered" | "olderRules"> {
  /** Where Claude Code keeps or kept the transcript; `""` if not even that can be read. */
  readonly path: string
  /** Path of the copy below `vault/`. */
  readonly copy: string | undefined
  readonly state: VerifyState
  /** Bytes on disk; 0 if Claude Code has deleted it. */
  readonly size: number
  readonly missing: number
  readonly waiting: number
  readonly problems: readonly string[]
  /** Of a lost copy. */
  readonly session?: string
}

export interface VerifyReport {
  /** Nothing is missing, different or damaged. */
  readonly ok: boolean
  readonly transcripts: readonly Verified[]
  readonly totals: Readonly<Record<VerifyState | "frames" | "unfiltered" | "olderRules", number>> & {
    readonly transcripts: number
    /** Kept by Claude Code beside its transcripts. */
    readonly filesBeside: number
    readonly copies: number
    /** Total of the transcripts on disk. */
    readonly bytes: number
    readonly archivedBytes: number
    readonly missingBytes: number
    readonly waitingBytes: number
    readonly lostBytes: number
  }
  /** Lines of the list of copies that cannot be read. */
  readonly listDamaged: number
}

interface VerifyOptions extends Pick<Paths, "dataHome" | "home"> {
  /** Absolute paths of transcripts that should be in the vault. */
  readonly transcripts: readonly string[]
  /** Says what of a transcript must not be in the vault. */
  readonly forgotten?: (path: string) => Forgotten | undefined
  /** Whether its folder is excluded from archiving. */
  readonly excluded?: (path: string) => boolean
  /** What a session has that is no transcript, and how much of it the vault lacks; undefined for a transcript. */
  readonly stored?: (path: string) => (Remainder & { readonly problems: readonly string[] }) | undefined
  /** What the views know of copies. */
  readonly known?: readonly KnownCopy[]
  readonly onProgress?: (done: number, total: number) => void
}

interface Checking extends VerifyOptions {
  /** Called with the compressed bytes read. */
  readonly onFrame: (bytes: number) => void
}

export function verify(options: VerifyOptions): VerifyReport {
  const files = vaultFiles(options.dataHome)
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const checking: Checking = {
    ...options,
    onFrame(bytes) {
      done += bytes
      options.onProgress?.(Math.min(done, total), total)
    },
  }
  const results: Verified[] = []
  const copies = new Set(files.map(({ copy }) => copy))
  const check = (path: string, named: readonly string[]): void => {
    for (const copy of named) copies.delete(copy)
    results.push(...checkTranscript(checking, path, named))
  }
  const known = copiesOf(options.dataHome, copies)
  for (const path of options.transcripts) {
    const own = vaultPath(path, options.home)
    check(path, [own, ...(known.get(path) ?? []).filter((copy) => copy !== own)])
  }
  // Those whose transcript was not asked for: it may be elsewhere, deleted, or rewritten since.
  for (const [path, named] of known) if (named.some((copy) => copies.has(copy))) check(path, named)
  for (const copy of copies) results.push(...checkRest(checking, copy))
  for (const copy of noFiles(options.dataHome))
    if (!results.some((one) => one.copy === copy)) results.push(...checkRest(checking, copy))
  // Last, as a copy may be begun or set aside meanwhile.
  const { lost, changed, damagedLines } = findLosses(options)
  for (const one of lost) addLost(results, one)
  for (const { copy } of changed) {
    const at = results.findIndex((one) => one.copy === copy)
    const problem = "its header is not what it was when it was noted"
    const there = results[at]
    if (there !== undefined)
      results[at] = { ...there, state: "damaged", problems: [...there.problems, problem] }
  }
  return {
    ok: results.every(isFine),
    transcripts: results,
    totals: totalsOf(results),
    listDamaged: damagedLines,
  }
}

/** Adds a loss to the result of what is left of the copy, unless that says already that it is damaged. */
function addLost(results: Verified[], { copy, path, session, to, left, isOther }: LostCopy): void {
  const at = results.findIndex((one) => one.copy === (left?.copy ?? copy))
  const there = results[at]
  // A copy that cannot be told by its header, in the place of the one that was noted.
  if (left === undefined && there?.state === "damaged") return
  const held = left?.to ?? 0
  const what =
    left === undefined
      ? `the copy is gone: ${to} bytes were archived`
      : isOther
        ? "the copy ends with other bytes than those that were archived"
        : `the copy ends at byte ${held}: ${to} bytes were archived`
  const problems = [`session ${session}: ${what}`]
  const missing = isOther ? to : to - held
  if (left === undefined || there === undefined) {
    const bytes = { size: 0, archived: held, missing, waiting: 0, frames: 0, unfiltered: 0, olderRules: 0 }
    results.push({ path, copy: undefined, state: "lost", ...bytes, problems, session })
  } else if (there.state === "damaged") results[at] = { ...there, problems: [...there.problems, ...problems] }
  else results[at] = { ...there, state: "lost", missing, problems: [...problems, ...there.problems], session }
}

/** The copies of each transcript, without those set aside when it was rewritten, and those that have none. */
function copiesOf(dataHome: string, copies: Iterable<string>): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const copy of copies) {
    if (isSuperseded(copy) || isImportedCopy(copy) || isSummaryCopy(copy) || isFetchedCopy(copy)) continue
    // One that may not be read is checked with those that nobody can tell.
    const path = tryTo(() => tailOf(vaultFile(dataHome, copy)))?.header.path
    if (path === undefined) continue
    found.set(path, [...(found.get(path) ?? []), copy])
  }
  return found
}

/** Whether nothing needs to be done about it. */
export const isFine = ({ state }: Verified): boolean =>
  !["missing", "unreadable", "mismatch", "damaged", "lost"].includes(state)

/** Another process may be archiving while we compare, so try again. */
const ATTEMPTS = 3

/**
 * Checks a transcript and its copies. There are several if it was archived under different home folders; one that has
 * all of it is enough.
 */
function checkTranscript(checking: Checking, path: string, copies: readonly string[]): Verified[] {
  const checked = copies.map((copy) => checkCopyOf(checking, path, copy))
  const best = checked.find(isFine) ?? checked[0]!
  return checked
    .filter((one) => one === best || one.copy !== undefined)
    .map((one) => (one === best || one.state === "damaged" ? one : twin(one)))
}

const twin = (one: Verified): Verified => {
  return { ...one, state: "twin", size: 0, missing: 0, waiting: 0, problems: [] }
}

function checkCopyOf(checking: Checking, path: string, copy: string): Verified {
  let source: ReturnType<typeof openSource>
  try {
    source = openSource(path)
  } catch (error) {
    // The copy can still be checked for damage.
    const check = checkCopy(vaultFile(checking.dataHome, copy), undefined, checking.onFrame)
    const found = judge(path, copy, check, undefined)
    const state = found.state === "damaged" ? "damaged" : "unreadable"
    return { ...found, state, problems: [...found.problems, messageOf(error)] }
  }
  try {
    return compare(checking, path, copy, isDocument(path) ? undefined : source?.fd)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { ...left(path, source?.fd, "damaged"), copy, problems: [messageOf(error)] }
  } finally {
    if (source !== undefined) closeSync(source.fd)
  }
}

function compare(
  { dataHome, forgotten = () => undefined, excluded = () => false, stored, onFrame }: Checking,
  path: string,
  copy: string,
  source: number | undefined,
): Verified {
  const file = vaultFile(dataHome, copy)
  const isCopied = tailOf(file) !== undefined
  if (!isCopied && forgotten(path)?.whole === true) return left(path, source, "forgotten")
  const isExcluded = excluded(path)
  if (isExcluded && !isCopied) return left(path, source, "excluded")
  for (let attempt = 1; ; attempt++) {
    const check = checkCopy(file, source, onFrame)
    const made = source === undefined ? stored?.(path) : undefined
    const rest = source === undefined ? made : remainderOf(source, check?.archived ?? 0)
    const grown = rest !== undefined && rest.missing > 0 && archivedIn(file) > (check?.archived ?? 0)
    if (grown && attempt < ATTEMPTS) continue
    const known = check && { ...check, damage: [...check.damage, ...(made?.problems ?? [])] }
    const found = judge(path, copy, known, rest)
    // The list of all prompts grows with each, and is not archived by hooks.
    if (isHistoryCopy(copy) && found.state === "missing" && isCopied)
      return { ...found, state: "waiting", missing: 0, waiting: found.missing + found.waiting }
    // What was archived before stays and is checked; what has come since is not wanted.
    return isExcluded && found.state === "missing" ? { ...found, state: "excluded", missing: 0 } : found
  }
}

/** A transcript that is not in the vault. */
function left(path: string, source: number | undefined, state: VerifyState): Verified {
  const size = source === undefined ? 0 : remainderOf(source, 0).size
  return { ...judge(path, "", undefined, undefined), state, size }
}

/** Checks a copy without a transcript: it was set aside or imported, or nobody can say whose it is. */
function checkRest({ dataHome, onFrame }: Checking, copy: string): Verified[] {
  const file = vaultFile(dataHome, copy)
  try {
    const check = checkCopy(file, undefined, onFrame)
    return check === undefined ? [] : [judge(check.path ?? "", copy, check, undefined)]
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return [{ ...left("", undefined, "damaged"), copy, problems: [messageOf(error)] }]
  }
}

/** It is no file, or may not be read, or the disk cannot give it back. */
const isUnreadable = (error: unknown): boolean =>
  ["not-a-copy", "EACCES", "EPERM", "EIO"].includes(codeOf(error))

function judge(
  path: string,
  copy: string,
  check: CopyCheck | undefined,
  rest: Remainder | undefined,
): Verified {
  const {
    archived,
    frames,
    unfiltered,
    olderRules,
    damage,
    halfFrame,
    differsAt: differs,
  } = check ?? NOTHING_FOUND
  const problems = [...damage]
  if (rest === undefined && halfFrame > 0) {
    problems.push(`its last ${halfFrame} bytes are not a complete frame, and the transcript is gone`)
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
  const found = check === undefined ? undefined : copy
  const bytes = { size, archived, missing, waiting }
  return { path, copy: found, state, ...bytes, frames, unfiltered, olderRules, problems }
}

/** State of a sound copy whose transcript is not on disk. */
function withoutTranscript(copy: string): VerifyState {
  if (isFetchedCopy(copy)) return "fetched"
  if (isImportedCopy(copy)) return "imported"
  if (isSummaryCopy(copy)) return "summary"
  return isSuperseded(copy) ? "superseded" : "deleted"
}

const isOfBeside = ({ path, copy }: Verified): boolean =>
  copy === undefined ? placeBeside(path) !== undefined : isBesideCopy(copy)

function totalsOf(results: readonly Verified[]): VerifyReport["totals"] {
  const sum = (
    field: "size" | "archived" | "missing" | "waiting" | "frames" | "unfiltered" | "olderRules",
  ): number => results.reduce((total, result) => total + result[field], 0)
  const lostBytes = results.reduce((total, one) => total + (one.state === "lost" ? one.missing : 0), 0)
  const states = Object.fromEntries(
    STATES.map((state) => [state, results.filter((one) => one.state === state).length]),
  ) as Record<VerifyState, number>
  const counted = results.filter(({ state }) => state !== "superseded" && state !== "twin")
  return {
    ...states,
    transcripts: counted.filter((one) => !isOfBeside(one)).length,
    filesBeside: counted.filter(isOfBeside).length,
    copies: results.filter(({ copy }) => copy !== undefined).length,
    frames: sum("frames"),
    unfiltered: sum("unfiltered"),
    olderRules: sum("olderRules"),
    bytes: sum("size"),
    archivedBytes: sum("archived"),
    missingBytes: sum("missing") - lostBytes,
    lostBytes,
    waitingBytes: sum("waiting"),
  }
}
