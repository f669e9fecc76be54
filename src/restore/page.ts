/** Fits lines into a budget. Pure. */
import { lengthOf, oneLine } from "../base/text.ts"

/** How many lines may be too long before a section ends. */
const MOST_REFUSED = 12

/** Characters that a section takes. */
export const roomOf = (title: string, lines: readonly string[]): number =>
  `\n## ${title}`.length + lengthOf(lines)

/** Sections are added with all their lines that fit; a section without lines is left out. */
export class Page {
  #text: string
  readonly #budget: number

  constructor(head: string, budget: number) {
    this.#text = head
    this.#budget = budget
  }

  get left(): number {
    return this.#budget - this.#text.length
  }

  text(): string {
    return this.#text
  }

  holds(text: string): boolean {
    return containsWhole(this.#text, text)
  }

  /**
   * Adds a section. A line that is too long for the remaining room does not keep out a shorter one.
   *
   * @param room characters that the section may take, including its title
   */
  section(title: string, lines: Iterable<string>, room = this.left): void {
    const most = Math.min(this.left, Math.floor(room))
    let text = `\n## ${title}`
    let kept = 0
    let refused = 0
    for (const line of lines) {
      if (text.length + 1 + line.length > most) {
        // Lines are generated on demand, so a long list is not run through for the last few characters.
        if (++refused > MOST_REFUSED) break
        continue
      }
      text += `\n${line}`
      kept++
    }
    if (kept > 0) this.#text += text
  }
}

/*
 * Whether a text is already there: on a page, or in what the new context contains without us. It must not merely be part
 * of a longer word: `src/app.ts` is not in `src/app.tsx`. Pure.
 */

/** Whether a text is already there verbatim, in whole words, apart from white space, and mostly from case. */
export type Held = (text: string) => boolean

/**
 * @param summary as Claude Code made it
 * @param others other texts in the context: what Claude Code keeps and what it adds again
 */
export const heldIn = (summary: string, others: readonly string[]): Held =>
  holder(summary, others, (text) => text.toLowerCase())

/** The same for names of code, which differ in case: `sessionId` is not `SessionId`. */
export const nameHeldIn = (summary: string, others: readonly string[]): Held =>
  holder(summary, others, (text) => text)

function holder(summary: string, others: readonly string[], folded: (text: string) => string): Held {
  // What the model thought before the summary does not reach the new context (from 2.1 on).
  const kept = /<summary>([\s\S]*)<\/summary>/.exec(summary)?.[1] ?? summary
  const texts = [kept, ...others].map((text) => folded(oneLine(text))).join("\n")
  if (texts.trim() === "") return () => false
  // Searched some hundred times, and searching bytes takes less than half the time.
  const known = Buffer.from(texts)
  return (text) => containsWhole(known, folded(oneLine(text)))
}

/** Whether `known` contains the text with no further letter, digit or underscore at its ends. */
export function containsWhole(known: string | Buffer, text: string): boolean {
  if (text === "") return false
  const codeAt = (n: number): number => (typeof known === "string" ? known.charCodeAt(n) : (known[n] ?? 0))
  const length = typeof known === "string" ? text.length : Buffer.byteLength(text)
  const begins = isWord(text.charCodeAt(0))
  const ends = isWord(text.charCodeAt(text.length - 1))
  for (let at = known.indexOf(text); at >= 0; at = known.indexOf(text, at + 1)) {
    if (!(begins && isWord(codeAt(at - 1))) && !(ends && isWord(codeAt(at + length)))) return true
  }
  return false
}

/** Only in ASCII, since some scripts have no blanks around a name. */
const isWord = (code: number): boolean => /\w/.test(String.fromCharCode(code))

/** A text without its mark of having been cut, and without the word that the cut may have parted. */
export const uncut = (text: string): string => text.replace(/\w*…$/, "")
