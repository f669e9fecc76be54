/** A bundle with our function in it, and the call of it. Pure. */
import { findPlace, type PatchPlace } from "./find-place.ts"
import FUNCTION from "./inserted.js" with { type: "text" }

/** Around everything of ours. */
const BEGIN = "/*ctxbridge:prune*/"
const END = "/*ctxbridge:prune:end*/"
const NAME = "_aggressiveTextPrune"
/** Prunes what is to be summarised, without asking. */
export const SUMMARISED = "_ctxbridgeSummarised"

export interface Insertion {
  /** Offset in the text before it. */
  readonly at: number
  readonly text: string
}

export interface PatchedText {
  readonly text: string
  readonly place: PatchPlace
  readonly insertions: readonly Insertion[]
}

/** Whose patch is in a text. Every tool that inserts at this place names its function so. */
export const patchIn = (text: string): "ours" | "another" | undefined =>
  text.includes(BEGIN) ? "ours" : text.includes(NAME) ? "another" : undefined

/** What a patch with a binary inserts, but for the names of a bundle: the same as long as nothing is to be renewed. */
export const functionFor = (binary: string): string =>
  FUNCTION.replace('"ctxbridge:binary"', () => JSON.stringify(binary))

/**
 * @param binary absolute path of the program that is asked
 * @returns why it cannot be patched, if anything is not as expected
 */
export function patchedText(text: string, binary: string): PatchedText | { readonly why: string } {
  if (text.includes(NAME)) return { why: "it is patched already" }
  const place = findPlace(text)
  if ("why" in place) return place
  const { messages, context, session, summarised } = place
  const inserted = functionFor(binary).replaceAll("ctxbridgeSession()", () => `${session.name}()`)
  const insertions = [
    { at: place.before, text: `${BEGIN}\n${inserted}${END}\n` },
    { at: place.call, text: `${BEGIN}${messages}=await ${NAME}(${messages},${context});${END}` },
    { at: summarised.start, text: `${BEGIN}${SUMMARISED}(` },
    { at: summarised.end, text: `)${END}` },
  ].sort((a, b) => a.at - b.at)
  const patched = withInsertions(text, insertions)
  const again = findPlace(patched)
  if ("why" in again) return { why: "the places were not found again in the result" }
  const moved = (offset: number): number =>
    insertions.reduce((sum, one) => (one.at <= offset ? sum + one.text.length : sum), offset)
  const wrapped = patched.slice(again.summarised.start, again.summarised.end)
  const isSame =
    again.before === moved(place.before) &&
    again.call === moved(place.call) &&
    again.messages === messages &&
    again.context === context &&
    wrapped === `${SUMMARISED}(${text.slice(summarised.start, summarised.end)})`
  return isSame ? { text: patched, place, insertions } : { why: "other places were found in the result" }
}

export function withInsertions(text: string, insertions: readonly Insertion[]): string {
  let result = ""
  let done = 0
  for (const { at, text: inserted } of insertions) {
    result += text.slice(done, at) + inserted
    done = at
  }
  return result + text.slice(done)
}

/** UTF-16 units shown before and after an insertion: a bundle's lines are far too long. */
const AROUND = 60

/** What is inserted, with a little of what stands around it. */
export function insertionDiff(text: string, insertions: readonly Insertion[]): string[] {
  const line = (part: string): string => ` …${part.replaceAll(/\s+/g, " ")}…`
  return insertions.flatMap(({ at, text: inserted }) => [
    `@@ ${at} @@`,
    line(text.slice(Math.max(0, at - AROUND), at)),
    ...inserted
      .trimEnd()
      .split("\n")
      .map((one) => `+${one}`),
    line(text.slice(at, at + AROUND)),
  ])
}
