/** Which of the files that somebody names hold what an agent wrote. */
import { transcriptFolders } from "../agents/agents.ts"
import { holdsRecord } from "../agents/decode.ts"
import { isNamedAsTranscript } from "../agents/layouts.ts"
import type { Paths } from "../config/load.ts"
import { endOfLines, linesIn } from "../util/byte-lines.ts"
import { existsSync } from "../util/fs.ts"
import { LONGEST_UNCUT } from "../vault/capture.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import { copyOf } from "./import-file.ts"

/** Bytes read at a time: at first, since nearly always the first line tells, and then. */
const FIRST = 64 << 10
const MORE = 1 << 20

type Place = Pick<Paths, "dataHome" | "home" | "claudeDir">

/**
 * Whether a `.jsonl` file is to be archived: it lies where an agent keeps transcripts, has been archived before, holds a
 * record of an agent's, or nothing at all. What cannot be read is, too: whoever opens it says why.
 */
export function isUnderstood(place: Place, path: string): boolean {
  if (transcriptFolders(place).some((folder) => path.startsWith(`${folder}/`))) return true
  if (isNamedAsTranscript(path)) return true
  if (existsSync(copyOf(place, path))) return true
  try {
    return withSource(path, holdsOne) ?? true
  } catch {
    return true
  }
}

/** Whether some line is a record of an agent's, or no line says anything. */
function holdsOne(fd: number, size: number): boolean {
  let saysNothing = true
  let rest: Uint8Array = Buffer.alloc(0)
  for (let at = 0; at < size; ) {
    // A line longer than that is read in few pieces.
    const length = Math.min(at === 0 ? FIRST : Math.max(MORE, rest.length), size - at)
    const bytes = Buffer.concat([rest, readExactly(fd, at, length)])
    at += length
    const end = at < size ? endOfLines(bytes) : bytes.length
    for (const [from, to] of linesIn(bytes.subarray(0, end))) {
      const line = bytes.subarray(from, to)
      if (isEmpty(line)) continue
      saysNothing = false
      if (holdsRecord(line)) return true
    }
    rest = bytes.subarray(end)
    // No other program's lines are known to be as long.
    if (rest.length > LONGEST_UNCUT) return true
  }
  return saysNothing
}

/** White space, or the NUL that file systems leave after a crash. */
const isEmpty = (line: Uint8Array): boolean => line.every((byte) => byte <= 0x20)
