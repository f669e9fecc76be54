/**
 * Sessions of folders that the user has excluded (`capture.exclude`) are not archived. A session belongs to the first
 * folder that its transcript names. Until it names one, it could belong to any, so it is not archived yet.
 */
import { folderInLine, parentTranscript, placeBeside, transcriptName } from "../agents/layouts.ts"
import { realpathSync } from "../base/fs.ts"
import { isWithin, literalStart } from "../base/globs.ts"
import { dirname, fromSystem, isAbsolute, join, withSlashes } from "../base/path.ts"
import { isPromptHistory } from "../claude/places.ts"
import type { Paths, Policy } from "../config/load.ts"
import type { HookEvent } from "../record/hook-event.ts"
import { endOfLines } from "../record/lines-with.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"

/** A transcript names its folder within this many bytes, which are read STEP at a time. */
const NAMED_WITHIN = 8 << 20
const STEP = 64 << 10
const CWD = '"cwd"'

/**
 * What may be archived of an event.
 *
 * @returns undefined if the user wants nothing of it here, not even a line in the log
 */
export function wantedOf(event: HookEvent, paths: Pick<Paths, "home"> & Policy): HookEvent | undefined {
  const { transcript, agentTranscript, cwd } = event
  const isOut =
    transcript === undefined
      ? cwd === undefined || isExcludedFolder(paths, cwd)
      : isExcluded(paths, transcript, cwd)
  if (isOut) return undefined
  // A subagent may work in another folder than its session.
  return agentTranscript !== undefined && isExcluded(paths, agentTranscript)
    ? { ...event, agentTranscript: undefined }
    : event
}

/** @param told the session's folder according to Claude Code, for a transcript that does not name one yet */
export function isExcluded(
  paths: Pick<Paths, "home"> & Partial<Policy>,
  transcript: string,
  told?: string,
): boolean {
  if (paths.exclude === undefined || paths.exclude.length === 0) return false
  // It is of all projects, and what is not wanted is taken out of it (vault/capture.ts).
  if (isPromptHistory(transcript)) return false
  const beside = placeBeside(transcript)
  if (beside !== undefined)
    return isExcluded(paths, `${transcript.slice(0, -beside.name.length - 1)}.jsonl`, told)
  const named = namedIn(transcript)
  const parent = parentOf(transcript, named)
  const its = parent === undefined ? undefined : namedIn(parent)
  const folder = named?.folder ?? told ?? (isJournal(transcript) ? its?.folder : undefined)
  if (folder === undefined || isExcludedFolder(paths, folder)) return true
  // A subagent may work in another folder than its session.
  return its !== undefined && isExcludedFolder(paths, its.folder)
}

/** A workflow's journal, whose lines name no folder. */
const isJournal = (transcript: string): boolean => transcript.endsWith("/journal.jsonl")

export function isExcludedFolder(
  { home, exclude = [] }: Pick<Paths, "home"> & Partial<Policy>,
  folder: string,
): boolean {
  const folders = [folder, real(folder)]
  return exclude.some((pattern) => {
    const whole = absolutePattern(pattern, home)
    const start = literalStart(whole)
    const named = [whole, `${real(start)}/${whole.slice(start.length)}`]
    return named.some((one) => folders.some((path) => isWithin(one, path)))
  })
}

export const absolutePattern = (pattern: string, home: string): string =>
  pattern === "~" || /^~[\\/]/.test(pattern) ? fromSystem(`${home}${pattern.slice(1)}`) : fromSystem(pattern)

function real(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

/**
 * Transcript of the session that a subagent belongs to. Versions of Claude Code up to 2.0 keep both in the same folder.
 */
function parentOf(transcript: string, named: Named | undefined): string | undefined {
  const { session, agent } = transcriptName(transcript)
  if (agent === undefined) return undefined
  const own = parentTranscript(transcript)
  if (own !== undefined) return own
  if (session !== undefined) {
    return `${transcript.slice(0, transcript.indexOf("/subagents/", transcript.lastIndexOf("/projects/") + 1))}.jsonl`
  }
  return named?.session === undefined ? undefined : join(dirname(transcript), `${named.session}.jsonl`)
}

/** Content of the first line that names a folder. */
interface Named {
  readonly folder: string
  readonly session: string | undefined
}

const namedIn = (transcript: string): Named | undefined =>
  withSource(transcript, (fd) => firstNamed(fd, transcript))

function firstNamed(fd: number, transcript: string): Named | undefined {
  let rest = Buffer.alloc(0)
  for (let at = 0; at < NAMED_WITHIN; ) {
    const bytes = readExactly(fd, at, STEP)
    at += bytes.length
    rest = Buffer.concat([rest, bytes])
    const end = bytes.length < STEP ? rest.length : endOfLines(rest)
    for (const line of rest.toString("utf8", 0, end).split("\n")) {
      const named = line.includes(CWD) ? namedBy(line) : namedElsewhere(transcript, line)
      if (named !== undefined) return named
    }
    if (bytes.length < STEP) return undefined
    rest = rest.subarray(end)
  }
  return undefined
}

function namedElsewhere(transcript: string, line: string): Named | undefined {
  const folder = folderInLine(transcript, line)
  return folder === undefined ? undefined : { folder, session: undefined }
}

function namedBy(line: string): Named | undefined {
  try {
    const { payload, data, cwd = payload?.cwd ?? data?.context?.cwd, sessionId } = JSON.parse(line)
    if (typeof cwd !== "string" || !isAbsolute(cwd)) return undefined
    return { folder: withSlashes(cwd), session: typeof sessionId === "string" ? sessionId : undefined }
  } catch {
    return undefined
  }
}
