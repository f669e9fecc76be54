/** Follows a session's context by the transcript itself: when another process archived the new part, or nobody yet. */

import type { ContextState } from "../autopilot/context-state.ts"
import { follow } from "../autopilot/track-context.ts"
import { glance } from "../claude/glance.ts"
import { NEWLINE } from "../util/byte-lines.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"

/** Bytes to read at the end of the transcript. */
const TAIL = 1 << 20

/** @param at offset up to which `context` has followed */
export function followFile(context: ContextState, path: string, at: number): ContextState {
  const { content, whole } = endOf(path, at)
  const seen = glance(content, context.base === undefined)
  // The end of the transcript gives everything except what an estimate needs.
  return whole
    ? follow(context, seen)
    : follow({ ...context, base: context.base ?? 0 }, { ...seen, chars: 0 })
}

/** Whole lines at the end of the transcript, from `from` on unless that is too much. */
function endOf(path: string, from: number): { content: Uint8Array; whole: boolean } {
  const found = withSource(path, (fd, size) => {
    const begin = Math.max(size - TAIL, from > size ? 0 : from)
    const bytes = readExactly(fd, begin, size - begin)
    const whole = begin === from
    return { content: whole ? bytes : bytes.subarray(bytes.indexOf(NEWLINE) + 1), whole }
  })
  return found ?? { content: new Uint8Array(), whole: false }
}
