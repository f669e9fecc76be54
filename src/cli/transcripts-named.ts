/** Transcripts that the words of a command line mean. */
import { statSync } from "node:fs"
import { resolve } from "node:path"
import { transcriptsBelow } from "../job/transcripts.ts"
import { usageError } from "../util/errors.ts"

/**
 * Absolute paths, each once. All words are checked before anything is done.
 *
 * @param otherwise the folder to look through when there are no words; it need not exist
 * @param onLink called with each link in a folder: only those that words name are followed
 * @throws CtxError exit 64 for a path that does not exist or is no transcript
 */
export function transcriptsNamed(
  words: readonly string[],
  env: { cwd: string },
  otherwise: string,
  onLink?: (path: string) => void,
): string[] {
  if (words.length === 0) return transcriptsBelow(otherwise, onLink)
  const found = new Set<string>()
  for (const word of words) {
    const path = resolve(env.cwd, word)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) throw usageError(`no such file or folder: ${word}`)
    if (stats.isDirectory()) for (const transcript of transcriptsBelow(path, onLink)) found.add(transcript)
    else if (stats.isFile() && path.endsWith(".jsonl")) found.add(path)
    else throw usageError(`not a transcript: ${word}`, "transcripts are .jsonl files")
  }
  return [...found]
}
