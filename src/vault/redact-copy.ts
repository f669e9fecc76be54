/** Applies the filter for secrets to what was archived before the filter existed, or by other rules. */
import { FILLER } from "../secrets/fill.ts"
import { filterLines, type SecretSettings } from "../secrets/filter.ts"
import { RULES_NUMBER } from "../secrets/rules.ts"
import { readTail, segmentsBackwards, segmentsFrom } from "./copy-file.ts"
import { withCopy } from "./reader.ts"
import { provenContent, rewriteCopy } from "./rewrite.ts"

interface RedactCopyOptions {
  readonly secrets: SecretSettings
  /** Also filters again what our own rules have filtered, as the user may have new patterns. */
  readonly rescan: boolean
  readonly dryRun: boolean
}

/**
 * Only one process may call this at a time (`withReplacingLock`).
 *
 * @param file absolute path of the copy
 * @returns bytes overwritten, or that would be; undefined if the copy needs no look or is gone
 * @throws CtxError like `rewriteCopy`
 */
export function redactCopy(file: string, { secrets, rescan, dryRun }: RedactCopyOptions): number | undefined {
  if (!rescan && !needsRedaction(file)) return undefined
  const filter = new FrameFilter(secrets)
  if (dryRun) return wouldFill(file, filter)
  let filled = 0
  const done = rewriteCopy(
    file,
    (content, from) => {
      const now = filter.apply(content, from)
      // If anything is to be written, each frame comes twice.
      if (from === 0) filled = 0
      filled += bytesFilled(content, now)
      return now
    },
    (to) => ({ rules: RULES_NUMBER, hidden: filter.hiddenBehind(to) }),
  )
  return done && filled
}

/** Whether a frame was archived without the filter or by older rules. */
export const needsRedaction = (file: string): boolean =>
  withCopy(file, (fd) => {
    const tail = readTail(fd)
    return tail && segmentsBackwards(fd, tail).some(({ rules }) => rules < RULES_NUMBER)
  }) ?? false

const wouldFill = (file: string, filter: FrameFilter): number | undefined =>
  withCopy(file, (fd) => {
    const tail = readTail(fd)
    if (tail === undefined) return undefined
    let filled = 0
    for (const segment of segmentsFrom(fd, tail)) {
      const content = provenContent(fd, segment)
      filled += bytesFilled(content, filter.apply(content, segment.from))
    }
    return filled
  })

/** Bytes that only the second has as filler. */
export function bytesFilled(before: Uint8Array, after: Uint8Array): number {
  if (before === after) return 0
  let n = 0
  for (let at = 0; at < after.length; at++) if (after[at] === FILLER && before[at] !== FILLER) n++
  return n
}

/** Remembers what a `<private>` in an earlier frame hides, however often a frame is filtered. */
class FrameFilter {
  readonly #secrets: SecretSettings
  readonly #hidden = new Map<number, number>()

  constructor(secrets: SecretSettings) {
    this.#secrets = secrets
  }

  apply(content: Uint8Array, from: number): Uint8Array {
    const filtered = filterLines(content, this.hiddenBehind(from), this.#secrets)
    this.#hidden.set(from + content.length, filtered.hidden)
    return filtered.content
  }

  hiddenBehind(to: number): number {
    return this.#hidden.get(to) ?? 0
  }
}
