/**
 * Looks again for secrets in transcripts that are archived: when hooks may not have been able to note what they had
 * recognised, or older rules did not recognise it.
 */

import { endOfLines } from "../base/byte-lines.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { sessionOf } from "../vault/capture-transcript.ts"
import { readExactly } from "../vault/copy-file.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { withSource } from "../vault/source-file.ts"

const LEARNT_AT_ONCE = 1 << 20

/** Notes the values of a transcript as far as it is archived. */
export function learn(place: Pick<PathsAndPolicy, "dataHome" | "home" | "secrets">, path: string): void {
  const tail = tailOf(vaultFile(place.dataHome, vaultPath(path, place.home)))
  const to = tail?.last?.to
  if (tail === undefined || to === undefined) return
  const values = knownOf(place, sessionOf(path), path)
  withSource(path, (fd) => {
    for (let from = 0, size = LEARNT_AT_ONCE; from < to; ) {
      const read = readExactly(fd, from, Math.min(size, to - from))
      const end = from + read.length < to ? endOfLines(read) : read.length
      if (read.length === 0) return
      // Nothing but the beginning of a long line.
      if (end === 0) size *= 2
      else {
        const lines = { path, id: tail.header.id, from, original: read.subarray(0, end) }
        values.learn(lines, place.secrets)
        from += end
        size = LEARNT_AT_ONCE
      }
    }
  })
}
