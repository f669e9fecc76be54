/** How our own texts in the conversation are known again. Pure. */
import type { Part } from "./types.ts"

/** Beginning of every text that is given back. In a transcript's line, its quotation marks are escaped. */
export const MARK = "<ctxbridge-restore source="
/** Beginning of what is given at a prompt besides: it says nothing of whether a restore has arrived. */
export const RECALL = `${MARK}"recall"`

/**
 * Whether it is our own restore or pointer, whose quotations are in the archive already, as with `isOwnTool`
 * (views/tool-rows.ts).
 */
export const isGivenBack = (part: Part): boolean => part.kind === "context" && part.text.includes(MARK)

/** End of every text that is given back. */
export const CLOSE = "</ctxbridge-restore>"

/** A tool's result as an agent keeps it that puts what hooks say behind it: the tool's own words, and ours. */
export function splitGiven(text: string): { readonly own: string; readonly given: string[] } {
  const end = text.trimEnd()
  const from = end.endsWith(CLOSE) ? end.lastIndexOf(MARK) : -1
  return from < 0
    ? { own: text, given: [] }
    : { own: text.slice(0, from).trimEnd(), given: [end.slice(from)] }
}
