/** What the new context contains without us: the host's summary, what the host keeps, and what it adds again. Pure. */
import { oneLine } from "../util/text.ts"
import { containsWhole } from "./whole-words.ts"

/** Whether a text is already there verbatim, in whole words, apart from white space and case. */
export type Held = (text: string) => boolean

/**
 * @param summary as the host made it
 * @param others other texts in the context
 */
export function heldIn(summary: string, others: readonly string[]): Held {
  // What the model thought before the summary does not reach the new context (from 2.1 on).
  const kept = /<summary>([\s\S]*)<\/summary>/.exec(summary)?.[1] ?? summary
  const texts = [kept, ...others].map((text) => oneLine(text).toLowerCase()).join("\n")
  if (texts.trim() === "") return () => false
  // Searched some hundred times, and searching bytes takes less than half the time.
  const known = Buffer.from(texts)
  return (text) => containsWhole(known, oneLine(text).toLowerCase())
}
