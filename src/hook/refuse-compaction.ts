/**
 * `compaction.block`: whether a compaction that the user asked for is refused because not all of the session is in the
 * vault yet. Once a session, so that nobody is ever stuck; automatic compactions never are, as without one a full
 * window lets the user say nothing more (docs/adr/0025).
 */

import type { Taken } from "../archive/capture-transcript.ts"
import { atLeast, HEEDS_REFUSAL } from "../claude/versions.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { objectOf, stringOf } from "../transcript/json.ts"
import { parseJson } from "../util/json-files.ts"
import { bytes } from "../util/text.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"

/** Bytes at the end of a transcript in which a line with a version is looked for. Most lines have one. */
const TAIL = 1 << 16

/**
 * What Claude Code is to answer to `/compact`; undefined: let it compact. In doubt it is let.
 *
 * @param own what this call took of the session's transcript; undefined: it could be written nowhere
 * @param isSpooled it had to be put elsewhere than in the vault
 */
export function refusal(
  { name, trigger, transcript }: HookEvent,
  own: Taken | undefined,
  isSpooled: boolean,
): string | undefined {
  if (name !== "pre-compact" || trigger !== "manual" || transcript === undefined) return undefined
  const reason = whyBehind(own, isSpooled)
  if (reason === undefined || !atLeast(versionOf(transcript), HEEDS_REFUSAL)) return undefined
  return JSON.stringify({ decision: "block", reason: `${reason} ${AGAIN}` })
}

const AGAIN = "Nothing was compacted. Run /compact again to compact anyway (compaction.block)."

function whyBehind(own: Taken | undefined, isSpooled: boolean): string | undefined {
  if (own === undefined || isSpooled)
    return "ctxbridge could not write this session to its archive; `ctxbridge doctor` says why."
  const { state, size, archived } = own.captured
  if (state === "busy") return "ctxbridge is still archiving this session."
  if (state !== "behind") return undefined
  return `ctxbridge is still archiving this session: ${bytes(size - archived)} left.`
}

/** Of the program that wrote the transcript's last lines. */
function versionOf(transcript: string): string | undefined {
  const end = withSource(transcript, (fd, size) => {
    const from = Math.max(0, size - TAIL)
    return Buffer.from(readExactly(fd, from, size - from)).toString("utf8")
  })
  for (const line of (end ?? "").split("\n").toReversed()) {
    const version = stringOf(objectOf(parseJson(line))["version"])
    if (version !== undefined) return version
  }
  return undefined
}
