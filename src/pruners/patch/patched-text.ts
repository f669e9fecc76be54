/** A bundle with our function in it, and the call of it. Pure. */
import { findPlace, type PatchPlace } from "./find-place.ts"
import FUNCTION from "./inserted.js" with { type: "text" }

/** Around everything of ours. */
const BEGIN = "/*ctxbridge:prune*/"
const END = "/*ctxbridge:prune:end*/"
const NAME = "_aggressiveTextPrune"

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
  const { messages, context, session } = place
  const inserted = functionFor(binary).replace("ctxbridgeSession()", () => `${session.name}()`)
  const insertions = [
    { at: place.before, text: `${BEGIN}\n${inserted}${END}\n` },
    { at: place.call, text: `${BEGIN}${messages}=await ${NAME}(${messages},${context});${END}` },
  ]
  const patched = withInsertions(text, insertions)
  const again = findPlace(patched)
  const shift = insertions.reduce((sum, one) => sum + one.text.length, 0)
  const isSame =
    !("why" in again) &&
    again.call === place.call + shift &&
    again.messages === messages &&
    again.context === context
  return isSame
    ? { text: patched, place, insertions }
    : { why: "the place was not found again in the result" }
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
