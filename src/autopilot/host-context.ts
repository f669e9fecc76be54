/** What the host tells the status line of the context. A field of the wrong type is a missing field. Pure. */
import { objectOf, stringOf } from "../transcript/json.ts"
import { contextTokens, tokenCount, tokensIn } from "../transcript/usage.ts"

export interface HostContext {
  readonly session: string | undefined
  /** Tokens in the window, all told; undefined for hosts that do not say. */
  readonly window: number | undefined
  /** After the last answer; undefined before the first, and just after a compaction. */
  readonly tokens: number | undefined
  /** Of the window. */
  readonly share: number | undefined
}

export function readHostContext(document: unknown): HostContext {
  const fields = objectOf(document)
  const id = stringOf(fields["session_id"])
  const context = objectOf(fields["context_window"])
  const window = tokenCount(context["context_window_size"]) || undefined
  const tokens = contextTokens(tokensIn(objectOf(context["current_usage"]))) || undefined
  return {
    session: id !== undefined && /^[\w.-]{1,200}$/.test(id) ? id : undefined,
    window,
    tokens,
    share: tokens !== undefined && window !== undefined ? tokens / window : toldShare(context),
  }
}

/** The host's own percentage, where it does not say of what; hosts from 2.1 on. */
function toldShare(context: Readonly<Record<string, unknown>>): number | undefined {
  const { used_percentage: used, remaining_percentage: remaining } = context
  if (isPercentage(used)) return used / 100
  return isPercentage(remaining) ? 1 - remaining / 100 : undefined
}

const isPercentage = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= 100
