/** Finds the transcripts named on a command line. */
import { statSync } from "node:fs"
import { isDocument } from "../agents/layouts.ts"
import { usageError } from "../base/errors.ts"
import { resolve } from "../base/path.ts"
import { count } from "../base/text.ts"
import { oneForEachCopy, type TranscriptFile, transcriptFilesBelow } from "../job/find-transcripts.ts"

/** " and 3 files beside them"; empty if there are none. */
export const besideWords = (n: number): string => (n === 0 ? "" : ` and ${count(n, "file")} beside them`)

/**
 * Absolute paths without duplicates; of those that share a copy, one. All words are checked before anything is done. An unreadable folder is included:
 * whoever opens it reports why, as for an unreadable transcript.
 *
 * @param otherwise the folder to search if there are no words; it need not exist
 * @param onLink called with each link in a folder; only links named by words are followed
 * @throws CtxError exit 64 for a path that does not exist or is not a transcript
 */
export function transcriptsNamed(
  words: readonly string[],
  env: { readonly cwd: string; readonly home: string },
  otherwise: readonly string[],
  onLink?: (path: string) => void,
): string[] {
  const found = new Map<string, TranscriptFile>()
  const unreadable = new Set<string>()
  const below = (folder: string): void => {
    const files = transcriptFilesBelow(folder, { onLink, onUnreadable: (path) => unreadable.add(path) })
    for (const file of files) found.set(file.path, file)
  }
  if (words.length === 0) for (const folder of otherwise) below(folder)
  // Probably an unset variable: taken for the current folder, it would make the command do more than intended.
  if (words.includes("")) throw usageError("one of the paths is empty")
  for (const word of words) {
    const path = resolve(env.cwd, word)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) throw usageError(`no such file or folder: ${word}`, "name transcripts by path")
    if (stats.isDirectory()) below(path)
    else if (stats.isFile() && (path.endsWith(".jsonl") || isDocument(path)))
      found.set(path, { path, bytes: stats.size, changed: stats.mtimeMs })
    else throw usageError(`not a transcript: ${word}`, "transcripts are .jsonl files")
  }
  return [...oneForEachCopy([...found.values()], env.home).map(({ path }) => path), ...unreadable]
}
