/** Finds the folder in which the host was started for a session. The transcript's folder is named after it. */
import { basename, dirname } from "node:path"
import { projectSlug } from "../agents/claude-code/host-places.ts"
import { CopyReader } from "../vault/reader.ts"

const CWD = /"cwd":("(?:[^"\\]|\\.)*")/g

/**
 * @param copy absolute path of the copy, which must be sound
 * @param path where the transcript is or was
 * @returns the folder after which the transcript's folder is named, or else the first folder mentioned; undefined if
 * there is none
 */
export function folderOfSession(copy: string, path: string): string | undefined {
  const wanted = basename(dirname(path))
  let first: string | undefined
  const reader = new CopyReader(copy)
  try {
    for (const piece of reader.pieces()) {
      for (const [, quoted] of Buffer.from(piece).toString("utf8").matchAll(CWD)) {
        const folder = unquoted(quoted!)
        if (folder === undefined) continue
        if (projectSlug(folder) === wanted) return folder
        first ??= folder
      }
    }
    return first
  } finally {
    reader.close()
  }
}

function unquoted(text: string): string | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
