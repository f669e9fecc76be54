/** Finds transcripts in agents' folders. */
import { readdirSync, statSync } from "node:fs"
import { isDocument, isTranscriptFile } from "../agents/layouts.ts"
import { opencodeTranscript } from "../agents/opencode/opencode-places.ts"
import { isMissing } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { join } from "../base/path.ts"
import { vaultPath } from "../vault/layout.ts"
import { isOpencodeFolder, opencodeSessions } from "./import/opencode-store.ts"

/** Maximum depth; Claude Code nests projects, sessions and subagents. */
const DEEPEST = 6

/** What else to report about a folder. */
interface AlsoFound {
  /** Called with each link to a folder and each link named like a transcript. None is followed. */
  readonly onLink?: ((path: string) => void) | undefined
  /** Called with each folder that cannot be read, and each of opencode's databases. */
  readonly onUnreadable?: ((path: string) => void) | undefined
}

/**
 * All transcripts below a folder, including subagents', oldest file first, so that a session precedes the forks that
 * copy its lines.
 */
export const transcriptsBelow = (folder: string, also: AlsoFound = {}): string[] =>
  transcriptFilesBelow(folder, also).map(({ path }) => path)

export interface TranscriptFile {
  readonly path: string
  /** 0 for a session that is no file. */
  readonly bytes: number
  /** Time of the last change, in ms since the epoch. */
  readonly changed: number
}

/** In the same order. */
export function transcriptFilesBelow(
  folder: string,
  { onLink, onUnreadable }: AlsoFound = {},
): TranscriptFile[] {
  if (isOpencodeFolder(folder)) return storedIn(folder, onUnreadable)
  const found: (TranscriptFile & { readonly born: number })[] = []
  const visit = (dir: string, depth: number): void => {
    let entries: ReturnType<typeof list>
    try {
      entries = list(dir)
    } catch (error) {
      if (!isMissing(error)) onUnreadable?.(dir)
      return
    }
    const names = new Set(entries.map(({ name }) => name))
    // A transcript may be there twice while its agent compresses it.
    const isTwice = (name: string): boolean =>
      name.endsWith(".zst") && names.has(name.slice(0, -".zst".length))
    for (const entry of entries) {
      const path = join(dir, entry.name)
      if (entry.isDirectory() && depth < DEEPEST) visit(path, depth + 1)
      else if (entry.isFile() && isTranscriptFile(path) && !isTwice(entry.name))
        found.push({ path, ...looked(path) })
      else if (entry.isSymbolicLink() && (entry.name.endsWith(".jsonl") || statsOf(path)?.isDirectory()))
        onLink?.(path)
    }
  }
  visit(folder, 0)
  return found.sort((a, b) => a.born - b.born || (a.path < b.path ? -1 : 1))
}

/**
 * Of files that share a copy, only one counts, or each import would set aside what another one has brought in: a session
 * that was moved while a part of it stayed, or is kept as an older version did, too. It is the longest, as nothing of a
 * transcript goes away; of equally long ones, that which was changed last. What is compressed does not tell how long it is.
 */
export function oneForEachCopy(files: readonly TranscriptFile[], home: string): TranscriptFile[] {
  const kept = new Map<string, TranscriptFile>()
  for (const file of files) {
    const copy = vaultPath(file.path, home)
    const other = kept.get(copy)
    if (other === undefined || isRather(file, other)) kept.set(copy, file)
  }
  const all = new Set(kept.values())
  return files.filter((file) => all.has(file))
}

function isRather(one: TranscriptFile, other: TranscriptFile): boolean {
  const isPlain = !isDocument(one.path)
  if (isPlain === isDocument(other.path)) return isPlain
  return one.bytes === other.bytes ? one.changed > other.changed : one.bytes > other.bytes
}

/** Transcripts that are made of opencode's sessions. A session has its own beginning before those that it starts. */
function storedIn(folder: string, onUnreadable: AlsoFound["onUnreadable"]): TranscriptFile[] {
  return opencodeSessions(folder, onUnreadable)
    .sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1))
    .map(({ id, updated }) => ({ path: opencodeTranscript(folder, id), bytes: 0, changed: updated }))
}

const list = (dir: string) => readdirSync(dir, { withFileTypes: true })

/** `born`: in ms since the epoch; the last modification if the file system does not record creation times. */
function looked(path: string): { bytes: number; changed: number; born: number } {
  try {
    const { birthtimeMs, mtimeMs, size } = statSync(path)
    return { bytes: size, changed: mtimeMs, born: birthtimeMs || mtimeMs }
  } catch {
    // Deleted in the meantime, or in a folder that may be listed but not entered.
    return { bytes: 0, changed: 0, born: 0 }
  }
}

/** A file untouched for this long (ms) is not being written, so its last line is taken as it is. */
const QUIET = 60_000

export function isQuiet(path: string): boolean {
  const modified = statsOf(path)?.mtimeMs ?? 0
  return Date.now() - modified > QUIET
}
