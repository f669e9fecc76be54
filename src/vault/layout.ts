/** Where a transcript's copy is kept in the vault. Pure functions of paths, so finding it needs no database. */

import { copyPlace, isTopOfCopies, placeBeside } from "../agents/layouts.ts"
import type { Foreign } from "../agents/origin.ts"
import { basename, dirname, join } from "../base/path.ts"
import { sessionIdOf } from "../base/session-id.ts"
import { isPromptHistory } from "../claude/places.ts"

const label = (root: string): string =>
  `root-${Bun.hash.xxHash64(root, 0n).toString(16).padStart(16, "0").slice(0, 8)}`

const folderName = (root: string, usual: string): string => (root === usual ? "home" : label(root))

const PROJECTS = "/projects/"

/**
 * The copy's path below `vault/`: the transcript's own path below Claude Code's `projects` folder, with the session's
 * id in place of a name that is none.
 *
 * @param transcript absolute path, `…/projects/<slug>/<session>.jsonl` or deeper; any other goes under a label of its
 * folder, and another agent's where its layout says
 * @param home the user's home folder: its transcripts go under `home/`, those of another configuration folder under a
 * label of it, so that the files of two configuration folders never share a copy
 */
export function vaultPath(transcript: string, home: string): string {
  if (isPromptHistory(transcript)) return historyPath(dirname(transcript), home)
  const place = copyPlace(transcript)
  if (place !== undefined) {
    const { top, root, usual, below = basename(transcript) } = place
    return join(top, folderName(root, join(home, usual)), `${below}.zst`)
  }
  const at = `${transcript}/`.lastIndexOf(PROJECTS)
  const rest = at < 0 ? "" : transcript.slice(at + PROJECTS.length)
  const nested = rest.includes("/")
  const root = nested ? transcript.slice(0, at + PROJECTS.length - 1) : dirname(transcript)
  const below = nested ? rest : basename(transcript)
  const top = folderName(root, join(home, ".claude", "projects"))
  return join(top, `${withSessionId(below)}.zst`)
}

/** @param below a transcript's path below `projects`, or its name */
export function withSessionId(below: string): string {
  const parts = below.split("/")
  const last = parts.length - 1
  for (const n of new Set([Math.min(1, last), last])) {
    const part = parts[n]!
    const stem = part.replace(/\.jsonl$/, "")
    if (n < last || stem !== part) parts[n] = sessionIdOf(stem) + part.slice(stem.length)
  }
  return parts.join("/")
}

const HISTORIES = "history/"

function historyPath(folder: string, home: string): string {
  const name = folderName(folder, join(home, ".claude"))
  return join(HISTORIES, `${name}.jsonl.zst`)
}

/** Whether it holds prompts of many sessions (claude/claude-code.ts). */
export const isHistoryCopy = (copy: string): boolean => originalPlace(copy).startsWith(HISTORIES)

export const vaultFile = (dataHome: string, copy: string): string => join(dataHome, "vault", copy)

/** Says where the values of a session are that were recognised as secrets (known-values.ts). */
export const knownFile = (dataHome: string, owner: string): string =>
  join(dataHome, "known", `${Bun.hash.xxHash64(owner, 0n).toString(16)}.jsonl`)

const FETCHED = "fetched/"
/** Mirrors that anybody may have written who can write to where they came from. No machine's name begins so. */
const OTHERS = `${FETCHED}~`

/** Whether the copy mirrors one of another machine; nothing is captured into it. */
export const isFetchedCopy = (copy: string): boolean => copy.startsWith(FETCHED)

/** Whether the words in the copy count as somebody else's (docs/architecture/trust.md). */
export const isOthersCopy = (copy: string): boolean => copy.startsWith(OTHERS)

/** Pattern for GLOB. */
export const OTHERS_COPIES = `${OTHERS}*`

/** The machine that archived a mirror's original. */
export const machineOf = (copy: string): string => copy.split("/")[1]!.replace(/^~/, "")

/**
 * Where a mirror is kept: below the other machine's name, and the copy's id there, so that it collides with nothing.
 *
 * @param isOwn whether nobody but the user can have written it
 */
export const fetchedPath = (machine: string, id: string, place: string, isOwn: boolean): string =>
  join((isOwn ? FETCHED : OTHERS) + machine, id, place)

/** The copy's path on the machine that archived it. */
export const originalPlace = (copy: string): string =>
  isFetchedCopy(copy) ? copy.split("/").slice(3).join("/") : copy

/** Whether the copy was made from another tool's archive; these have a folder of their own. */
export const isImportedCopy = (copy: string): boolean => originalPlace(copy).startsWith("imported/")

/**
 * Whose a line is if it is no line of this user's Claude Code.
 *
 * @param imported what the line says of itself
 */
export const foreignIn = (copy: string, imported: boolean | undefined): Foreign | undefined =>
  isOthersCopy(copy) ? "other" : imported === true || isImportedCopy(copy) ? "import" : undefined

const SUMMARIES = "summaries/"

/** Whether a model wrote its lines, about a session (views/kept-summaries.ts). */
export const isSummaryCopy = (copy: string): boolean => originalPlace(copy).startsWith(SUMMARIES)

export const summaryPath = (session: string): string => `${SUMMARIES}${session}.jsonl.zst`

/**
 * Whether it is of a transcript of another agent than Claude Code, which have top folders of their own.
 *
 * @param name of the agent; undefined: any
 */
export function isAgentsCopy(copy: string, name?: string): boolean {
  const top = originalPlace(copy).split("/", 1)[0]!
  return name === undefined ? isTopOfCopies(top) : top === name && isTopOfCopies(top)
}

/** Whether it is of a file that Claude Code keeps beside a transcript (`placeBeside`). */
export function isBesideCopy(copy: string): boolean {
  const place = withoutVersion(originalPlace(copy))
  const isBelow = placeBeside(PROJECTS + place.slice(place.indexOf("/") + 1, -".zst".length)) !== undefined
  return isBelow && !isImportedCopy(place) && !isSummaryCopy(place)
}

/**
 * Whether the transcript was outside any folders of Claude Code's: a file that somebody named, where it does not look.
 */
export const isLooseCopy = (copy: string): boolean => originalPlace(copy).split("/").length === 2

/** Path of the `n`th superseded copy of a transcript that Claude Code has rewritten. */
export const supersededPath = (vaultFile: string, n: number): string =>
  vaultFile.replace(/(\.jsonl)?\.zst$/, `.~${n}$&`)

/** The copy's path before it was superseded, and before it was gone (`goneEnding` in views/transcript-rows.ts). */
export const withoutVersion = (vaultFile: string): string =>
  vaultFile.replace(/(\.~\d+)?((\.jsonl)?\.zst)[^.]*$/, "$2")

export const isSuperseded = (vaultFile: string): boolean => /\.~\d+(\.jsonl)?\.zst[^.]*$/.test(vaultFile)
