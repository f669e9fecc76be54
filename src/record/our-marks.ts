/** How our own texts in the conversation are known again. Pure. */
import type { Part } from "./types.ts"

/** Beginning of every text that is given back. In a transcript's line, its quotation marks are escaped. */
export const MARK = "<ctxbridge-restore source="
/** Beginning of what is given at a prompt besides: it says nothing of whether a restore has arrived. */
export const RECALL = `${MARK}"recall"`

/** Beginning of a summary that a session of another agent is begun with (cli/commands/handoff.ts). */
const HANDOFF = `${MARK}"handoff"`

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
  const [mark, close] = end.endsWith(escaped(CLOSE)) ? [escaped(MARK), escaped(CLOSE)] : [MARK, CLOSE]
  const from = end.endsWith(close) ? end.lastIndexOf(mark) : -1
  return from < 0
    ? { own: text, given: [] }
    : { own: text.slice(0, from).trimEnd(), given: [withMarks(end.slice(from))] }
}

/** As agents write tags that are no tags to them. */
const escaped = (tag: string): string => tag.replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** What was given, as it was given, if an agent has escaped its tags. */
export const withMarks = (text: string): string =>
  text.includes(escaped(MARK)) ? text.replaceAll("&lt;", "<").replaceAll("&gt;", ">") : text

/** A prompt with a summary of ours that the user sends: what stands around it, and the summary. */
function splitHandoff(text: string): { readonly own: string; readonly given: string } | undefined {
  const from = text.indexOf(HANDOFF)
  if (from < 0) return undefined
  const end = text.indexOf(CLOSE, from)
  const to = end < 0 ? text.length : end + CLOSE.length
  return { own: (text.slice(0, from) + text.slice(to)).trim(), given: text.slice(from, to) }
}

/** A prompt as it is without such a summary. */
export const withoutHandoff = (prompt: string): string => splitHandoff(prompt)?.own ?? prompt

/** Parts in which such a summary is none of the user's words, whichever agent wrote them down. */
export function withHandoffApart(parts: readonly Part[]): readonly Part[] {
  const isMixed = (part: Part): boolean => part.kind === "prompt" && part.text.includes(HANDOFF)
  if (!parts.some(isMixed)) return parts
  return parts.flatMap((part): Part[] => {
    const split = part.kind === "prompt" ? splitHandoff(part.text) : undefined
    if (split === undefined) return [part]
    return [{ ...part, text: split.own } as Part, { kind: "context", source: "handoff", text: split.given }]
  })
}

/** Prefix of a handle wherever people or models see it. */
export const HANDLE_PREFIX = "ctx:"
