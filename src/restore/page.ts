/** Fits lines into a budget. Pure. */
import { lengthOf } from "../base/text.ts"
import { containsWhole } from "./whole-words.ts"

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
