/** What views are made from: every copy in the vault, in order of arrival. */
import { transcriptName } from "../agents/claude-code/transcript-name.ts"
import { vaultFile } from "../vault/layout.ts"
import { stretchesFrom, tailOf } from "../vault/reader.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { sessionNamedIn, sessionOf } from "./capture-transcript.ts"
import type { Pending } from "./pending.ts"

export interface Source extends Pending {
  /** Bytes of the copy on disk. */
  readonly bytes: number
}

/**
 * Oldest copy first: a session before the forks that copy its lines, a rewritten transcript's former content before the
 * current one. Leaves out files that are not ours.
 */
export function sources(dataHome: string): Source[] {
  const found: (Source & { created: number })[] = []
  for (const { copy, bytes } of vaultFiles(dataHome)) {
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
  return found.sort((a, b) => a.created - b.created || byName(a.copy, b.copy))
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
