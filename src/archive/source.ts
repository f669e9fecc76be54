/** What there is to make views of: every copy in the vault, in the order in which they came. */
import { transcriptName, vaultFile } from "../vault/layout.ts"
import { stretchesFrom, tailOf } from "../vault/reader.ts"
import { vaultFiles } from "../vault/walk.ts"
import type { Pending } from "./pending.ts"
import { sessionNamedIn, sessionOf } from "./take.ts"

export interface Source extends Pending {
  /** Bytes of the copy on disk. */
  readonly bytes: number
}

/**
 * Oldest copy first: a session before the forks that copy its lines, a rewritten transcript before what it became.
 * Files that are none of ours are left out.
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
  // Who begins a copy anew may have looked at the clock before the one whose copy it sets aside.
  for (let n = 1; n < found.length; n++) {
    const [former, one] = [found[n - 1]!, found[n]!]
    if (versionOf(former.copy).name === versionOf(one.copy).name)
      one.created = Math.max(one.created, former.created)
  }
  return found.sort((a, b) => a.created - b.created || byName(a.copy, b.copy))
}

/** `x.~1.jsonl.zst` stands before `x.~2.jsonl.zst`, and before `x.jsonl.zst`. */
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

/** As `sessionOf`, from the copy alone: the transcript may be gone. */
export function sessionOfCopy(dataHome: string, copy: string, path: string): string {
  return transcriptName(path).session === undefined
    ? sessionOf(path, parentNamedIn(vaultFile(dataHome, copy)))
    : sessionOf(path)
}

function parentNamedIn(file: string): string | undefined {
  try {
    for (const { content } of stretchesFrom(file, 0)) return sessionNamedIn(content)
  } catch {
    // A damaged frame: then the transcript, if it is still there.
  }
  return undefined
}
