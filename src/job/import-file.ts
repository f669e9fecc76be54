/** Imports one transcript into the vault, slice by slice. Needs no database: the views are the caller's. */
import { isMade, placeBeside } from "../agents/layouts.ts"
import { codeOf, messageOf } from "../base/errors.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { isPromptHistory } from "../claude/places.ts"
import type { Paths, Policy } from "../config/load.ts"
import type { HistoryPrompt } from "../record/agent.ts"
import { endOfLines, NEWLINE } from "../record/lines-with.ts"
import { wholeRecordsIn } from "../record/whole-records.ts"
import {
  captureTranscript,
  forgottenTranscript,
  type Taken,
  type TakeOptions,
  UNHURRIED,
} from "../vault/capture.ts"
import { remainderOf, withTranscript } from "../vault/check-copy.ts"
import { readExactly, type Tail } from "../vault/copy-file.ts"
import { forgottenPrompts, withoutPrompts } from "../vault/forgotten-prompts.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { follows } from "../vault/source-file.ts"
import type { Forgotten } from "../vault/tombstones.ts"
import { isExcluded, isExcludedFolder } from "../views/excluded.ts"
import { isQuiet } from "./find-transcripts.ts"
import type { TakenForeignArchive } from "./import/import-archive.ts"
import { takeMade } from "./import/made.ts"
import type { MadeTaken } from "./import/taken-made.ts"

/**
 * Does what another process keeps from being done, once that is free.
 *
 * @param onWait called after each attempt; without it, there is only one
 */
export function patiently<T>(onWait: (() => void) | undefined, work: () => T): T {
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (onWait === undefined || !/^(busy$|SQLITE_BUSY)/.test(codeOf(error))) throw error
      onWait()
    }
  }
}

/** Without Claude Code's places, no pointer is prepared: a session's start renders its own. */
export type ImportPlace = Pick<Paths, "dataHome" | "home" | "stateHome"> &
  Partial<Pick<Paths, "claudeDir" | "claudeConfig">> &
  Policy

export interface ImportedFile {
  readonly path: string
  readonly size: number
  /** Bytes in the vault before and after; a dry run gives what they would be. */
  readonly before: number
  readonly archived: number
  /** Bytes committed: more than `archived - before` if Claude Code has rewritten the file. */
  readonly taken: number
  /** Bytes of an unfinished last line that Claude Code is still writing. */
  readonly waiting: number
  /** The user has had this session forgotten. */
  readonly forgotten: boolean
  /** The session's folder is excluded. */
  readonly excluded: boolean
  /**
   * What another tool's archive held. `size` is then the archive's; the other byte counts are of lines made from it.
   */
  readonly archive?: Pick<TakenForeignArchive, "tool" | "sessions" | "lines">
  readonly error: string | undefined
}

interface FileOptions {
  /** Maximum ms of work between two calls of `onTaken`. */
  readonly slice: number
  /** How its copy ended before this import. */
  readonly old: Tail | undefined
  /** Called after each slice. What it throws ends the work on this transcript. */
  readonly onTaken: (taken: Taken) => void
  /** Called again and again while another process holds the copy; without it, that is waited for only briefly. */
  readonly onWait?: (() => void) | undefined
}

/** 0 if the file is missing or may not be looked at; opening it will report why. */
export const sizeOf = (path: string): number => statsOf(path)?.size ?? 0

export const copyOf = ({ dataHome, home }: Pick<Paths, "dataHome" | "home">, path: string): string =>
  vaultFile(dataHome, vaultPath(path, home))

export function importFile(place: ImportPlace, path: string, options: FileOptions): ImportedFile {
  if (isMade(path)) return importMade(place, path, options)
  const { old } = options
  const file = copyOf(place, path)
  const before = old?.last?.to ?? 0
  let error: string | undefined
  try {
    const forgotten = unwantedIn(place, path)
    if (forgotten?.whole) return leftOut(path)
    if (isExcluded(place, path)) return excluded(path)
    takeAll(place, path, options)
  } catch (cause) {
    // One unreadable file, or a full disk, must not hide what was done with the others.
    error = messageOf(cause)
  }
  const now = tryTo(() => tailOf(file))
  const archived = now?.last?.to ?? 0
  const taken = now?.header.id === old?.header.id ? archived - before : archived
  const done = { path, before, archived, taken, ...WANTED }
  try {
    const rest = withTranscript(path, (source) => source !== undefined && remainderOf(source, archived))
    if (rest === false) error ??= "it is gone, or not a file"
    else if (rest.missing > 0)
      error ??= `${rest.missing} bytes were not taken: another process holds the copy`
    const { size, waiting } = rest === false ? { size: 0, waiting: 0 } : rest
    return { ...done, size, waiting, error }
  } catch (cause) {
    return { ...done, size: sizeOf(path), waiting: 0, error: error ?? messageOf(cause) }
  }
}

/** The same for a session that is no transcript: what is there is read at once, as far as nobody is writing it. */
function importMade(
  place: ImportPlace,
  path: string,
  { onTaken, onWait }: Pick<FileOptions, "onTaken" | "onWait">,
): ImportedFile {
  try {
    const taken = patiently(onWait, () => takeMade(place, path, { now: Date.now() }))
    onTaken(taken)
    return asImported(path, taken)
  } catch (cause) {
    const before = tryTo(() => tailOf(copyOf(place, path)))?.last?.to ?? 0
    return { ...leftOut(path), ...WANTED, before, archived: before, error: messageOf(cause) }
  }
}

function asImported(path: string, { captured, isExcluded }: MadeTaken): ImportedFile {
  const { state, taken, archived } = captured
  return {
    path,
    size: archived,
    before: archived - taken,
    archived,
    taken,
    waiting: 0,
    forgotten: state === "forgotten",
    excluded: isExcluded,
    error: state === "missing" ? "its agent no longer has it" : undefined,
  }
}

/** How often to try a copy that another process holds. */
const MOST_TRIES = 2

function takeAll(place: ImportPlace, path: string, { slice, onTaken, onWait }: FileOptions): void {
  const isWhole = placeBeside(path) !== undefined || isQuiet(path) || endsWithRecord(path)
  const lastLine = isWhole ? "any" : "whole"
  for (let tries = 1; ; ) {
    const taken = takeSlice(place, path, lastLine, slice)
    onTaken(taken)
    const { state } = taken.captured
    if (state === "busy") {
      if (onWait === undefined && tries++ >= MOST_TRIES) return
      onWait?.()
    } else if (state !== "behind") return
  }
}

/** Bytes at the end of a transcript in which its last line is looked for. */
const LAST = 1 << 20

/** Whether nothing ends the last line but a whole record, as after a crash: then nobody is writing it any more. */
const endsWithRecord = (path: string): boolean =>
  withTranscript(path, (source) => {
    if (source === undefined) return false
    const size = sizeOf(path)
    // Nearly all end so.
    if (size === 0 || readExactly(source, size - 1, 1)[0] === NEWLINE) return false
    const from = Math.max(0, size - LAST)
    const bytes = readExactly(source, from, size - from)
    const line = bytes.subarray(endOfLines(bytes))
    if (line.length === bytes.length && from > 0) return false
    return wholeRecordsIn(line).at(-1)?.to === line.length
  })

const WANTED = { forgotten: false, excluded: false } as const

const leftOut = (path: string): ImportedFile => ({
  path,
  size: sizeOf(path),
  before: 0,
  archived: 0,
  taken: 0,
  waiting: 0,
  forgotten: true,
  excluded: false,
  error: undefined,
})

const excluded = (path: string): ImportedFile => ({ ...leftOut(path), forgotten: false, excluded: true })

/** What `importFile` would do. Writes nothing. */
export function wouldTake(place: ImportPlace, path: string): ImportedFile {
  try {
    if (isMade(path)) {
      const { captured, ...would } = takeMade(place, path, { now: Date.now(), dryRun: true })
      const archived = captured.archived + captured.taken
      return asImported(path, { ...would, captured: { ...captured, archived } })
    }
    if (unwantedIn(place, path)?.whole) return leftOut(path)
    if (isExcluded(place, path)) return excluded(path)
    return withTranscript(path, (source) => {
      if (source === undefined) throw new Error("it is gone, or not a file")
      const tail = tailOf(copyOf(place, path))
      const before = tail?.last?.to ?? 0
      const from = tail !== undefined && !follows(source, { size: sizeOf(path) }, tail) ? 0 : before
      const { size, missing, waiting } = remainderOf(source, from)
      const half = placeBeside(path) !== undefined || isQuiet(path) ? waiting : 0
      const taken = missing + half
      const after = { archived: from + taken, taken, waiting: waiting - half }
      return { path, size, before, ...after, ...WANTED, error: undefined }
    })
  } catch (cause) {
    const error = messageOf(cause)
    return { ...leftOut(path), ...WANTED, error }
  }
}

/* Takes a transcript into the vault for work that nobody waits for. */

/** @param slice ms after which to stop; what is left is taken by the next call */
export const takeSlice = (
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
  lastLine: TakeOptions["lastLine"],
  slice: number,
): Taken =>
  isMade(path)
    ? takeMade(paths, path, { now: Date.now() })
    : captureTranscript(paths, path, {
        now: Date.now(),
        deadline: performance.now() + slice,
        lastLine,
        level: UNHURRIED,
        known: knownOf,
        forgotten: isPromptHistory(path) ? () => unwantedPrompts(paths) : undefined,
      })

/** What must not be archived of a transcript, or of the list of all prompts; undefined: all of it is wanted. */
export const unwantedIn = (
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
): Forgotten | undefined =>
  isPromptHistory(path) ? unwantedPrompts(paths) : forgottenTranscript(paths.dataHome, path)

/** Of the prompts of all projects, also those of excluded folders. */
function unwantedPrompts(paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>): Forgotten | undefined {
  const forgotten = forgottenPrompts(paths.dataHome)
  if (paths.exclude === undefined || paths.exclude.length === 0) return forgotten
  const isExcluded = ({ project }: HistoryPrompt): boolean =>
    project === undefined || isExcludedFolder(paths, project)
  return {
    whole: forgotten?.whole === true,
    edit: (content, from) => withoutPrompts(forgotten?.edit(content, from) ?? content, isExcluded),
  }
}
