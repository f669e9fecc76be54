/** What views are made from: every copy in the vault, in order of arrival. */
import { transcriptName } from "../agents/layouts.ts"
import { basename, dirname } from "../base/path.ts"
import { sessionNamedIn, sessionOf } from "../vault/capture.ts"
import { isBesideCopy, isHistoryCopy, originalPlace, vaultFile, withoutVersion } from "../vault/layout.ts"
import type { Pending } from "../vault/pending.ts"
import { stretchesFrom, tailOf } from "../vault/reader.ts"
import { copyNames, sizedCopies, type VaultFile, vaultFiles } from "../vault/vault-files.ts"

export interface Source extends Pending {
  /** Bytes of the copy on disk. */
  readonly bytes: number
}

/**
 * Oldest copy first: a session before the forks that copy its lines, a rewritten transcript's former content before the
 * current one. Files beside transcripts come last, since they belong to turns of these. Leaves out what is not ours.
 */
export const sources = (dataHome: string): Source[] => sourcesIn(dataHome, vaultFiles(dataHome))

/**
 * The copies of some sessions and their subagents. Others are told by their names, and not opened.
 *
 * @param isWanted told a session's id, without a subagent's
 */
export function sourcesOf(dataHome: string, isWanted: (session: string) => boolean): Source[] {
  const named: string[] = []
  const unnamed: string[] = []
  for (const copy of copyNames(dataHome)) {
    const session = sessionInName(copy)
    if (session === undefined) unnamed.push(copy)
    else if (isWanted(session)) named.push(copy)
  }
  // Subagents that lie beside their session, and sessions that are named only within.
  const folders = new Set(named.map(dirname))
  const isMaybe = (copy: string): boolean => folders.has(dirname(copy)) || !isLooseSubagents(copy)
  const beside = folders.size === 0 ? unnamed : unnamed.filter(isMaybe)
  const found = sourcesIn(dataHome, sizedCopies(dataHome, [...named, ...beside]))
  return found.filter(({ session }) => isWanted(session.split("/", 1)[0]!))
}

/** Ids of the sessions that have a copy of their own among these: from the copies' names, where these tell. */
export const sessionsInNames = (dataHome: string, isCounted: (copy: string) => boolean): Set<string> =>
  new Set(
    copyNames(dataHome).flatMap((copy) => {
      if (!isCounted(copy)) return []
      const within = (): string | undefined => parentNamedIn(vaultFile(dataHome, copy))
      return sessionInName(copy) ?? (isLooseSubagents(copy) ? undefined : within()) ?? []
    }),
  )

/** Whether it is a subagent's that lies beside its session, as old versions of Claude Code kept them. */
const isLooseSubagents = (copy: string): boolean => basename(copy).startsWith("agent-")

/** undefined for a subagent whose session only its lines name. */
function sessionInName(copy: string): string | undefined {
  const place = withoutVersion(originalPlace(copy)).replace(/\.zst$/, "")
  return transcriptName(`/projects/${place.slice(place.indexOf("/") + 1)}`).session
}

function sourcesIn(dataHome: string, files: readonly VaultFile[]): Source[] {
  const found: (Source & { created: number })[] = []
  for (const { copy, bytes } of files) {
    const header = tailOf(vaultFile(dataHome, copy))?.header
    if (header === undefined) continue
    const { path } = header
    const created = Number.isFinite(header.created) ? header.created : 0
    found.push({ path, copy, bytes, created, session: sessionOfCopy(dataHome, copy, path) })
  }
  found.sort((a, b) => byName(a.copy, b.copy))
  // Whoever begins a copy anew may have read the clock before the writer of the copy that it sets aside.
  for (let n = 1; n < found.length; n++) {
    const [former, one] = [found[n - 1]!, found[n]!]
    if (versionOf(former.copy).name === versionOf(one.copy).name)
      one.created = Math.max(one.created, former.created)
  }
  // Files beside transcripts belong to turns of these; what is known only from the list of all prompts shows last.
  const rank = ({ copy }: Source): number => (isHistoryCopy(copy) ? 2 : isBesideCopy(copy) ? 1 : 0)
  return found.sort((a, b) => rank(a) - rank(b) || a.created - b.created || byName(a.copy, b.copy))
}

/** `x.~1.jsonl.zst` comes before `x.~2.jsonl.zst`, and both before `x.jsonl.zst`. */
function byName(a: string, b: string): number {
  const [left, right] = [versionOf(a), versionOf(b)]
  if (left.name !== right.name) return left.name < right.name ? -1 : 1
  return left.version - right.version
}

function versionOf(copy: string): { name: string; version: number } {
  const match = /\.~(\d+)(?=(\.jsonl)?\.zst$)/.exec(copy)
  if (match === null) return { name: copy, version: Number.POSITIVE_INFINITY }
  return { name: copy.replace(match[0], ""), version: Number(match[1]) }
}

/** Like `sessionOf`, but uses the copy alone, as the transcript may be gone. */
export function sessionOfCopy(dataHome: string, copy: string, path: string): string {
  return transcriptName(path).session === undefined
    ? sessionOf(path, parentNamedIn(vaultFile(dataHome, copy)))
    : sessionOf(path)
}

function parentNamedIn(file: string): string | undefined {
  try {
    for (const { content } of stretchesFrom(file, 0)) return sessionNamedIn(content)
  } catch {
    // A damaged frame: fall back to the transcript, if it still exists.
  }
  return undefined
}
