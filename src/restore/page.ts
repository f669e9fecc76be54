/** Lines within a budget. Pure. */

/** Lines that may be too long before a section ends. */
const MOST_REFUSED = 12

/** A section is all its lines that fit, or nothing. */
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

  /** Whether a text stands here already. */
  holds(text: string): boolean {
    return this.#text.includes(text)
  }

  /**
   * A line too long for what is left does not keep a shorter one out.
   *
   * @param room characters that the section may take, its title included
   */
  section(title: string, lines: Iterable<string>, room = this.left): void {
    const most = Math.min(this.left, Math.floor(room))
    let text = `\n## ${title}`
    let kept = 0
    let refused = 0
    for (const line of lines) {
      if (text.length + 1 + line.length > most) {
        // Lines are made as they are asked for: a long list is not gone through for a few characters.
        if (++refused > MOST_REFUSED) break
        continue
      }
      text += `\n${line}`
      kept++
    }
    if (kept > 0) this.#text += text
  }
}
