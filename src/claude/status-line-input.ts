/** What Claude Code tells the status line about the context. A field of the wrong type counts as missing. Pure. */

import { isPlainId } from "../base/session-id.ts"
import { isObject, objectOf, stringOf } from "../record/json.ts"
import { contextTokens, tokenCount, tokensIn } from "../record/token-counts.ts"
import { transcriptPath } from "./hooks.ts"

interface StatusLineInput {
  readonly session: string | undefined
  readonly transcript: string | undefined
  /** The session's folder. */
  readonly cwd: string | undefined
  readonly model: string | undefined
  /** Claude Code's version. */
  readonly version: string | undefined
  /** Size of the window in tokens; undefined for versions of Claude Code that do not report it. */
  readonly window: number | undefined
  /** Tokens after the last answer; undefined before the first and right after a compaction. */
  readonly tokens: number | undefined
  readonly share: number | undefined
  /** Whether Claude Code counts, and counts nothing: newer versions say so right after a compaction. */
  readonly isEmptied: boolean
}

export function readStatusLineInput(document: unknown): StatusLineInput {
  const fields = objectOf(document)
  const id = stringOf(fields["session_id"])
  const context = objectOf(fields["context_window"])
  const window = tokenCount(context["context_window_size"]) || undefined
  const counted = contextTokens(tokensIn(objectOf(context["current_usage"])))
  const tokens = counted || undefined
  return {
    session: id !== undefined && isPlainId(id) ? id : undefined,
    transcript: transcriptPath(fields["transcript_path"]),
    cwd: stringOf(fields["cwd"])?.match(/^\/.*/s)?.[0],
    model: stringOf(objectOf(fields["model"])["id"]),
    version: stringOf(fields["version"]),
    window,
    tokens,
    share: tokens !== undefined && window !== undefined ? tokens / window : toldShare(context),
    isEmptied: counted === 0 && isObject(context["current_usage"]),
  }
}

/** Claude Code's own percentage, used when it gives no counts to compute it from. Versions from 2.1 on report it. */
function toldShare(context: Readonly<Record<string, unknown>>): number | undefined {
  const { used_percentage: used, remaining_percentage: remaining } = context
  if (isPercentage(used)) return used / 100
  return isPercentage(remaining) ? 1 - remaining / 100 : undefined
}

const isPercentage = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= 100
