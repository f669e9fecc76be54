/** Lines within a budget. Pure. */

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
    for (const line of lines) {
      if (text.length + 1 + line.length > most) {
        // Nothing worth saying is shorter than this.
        if (text.length + SHORTEST > most) break
        continue
      }
      text += `\n${line}`
      kept++
    }
    if (kept > 0) this.#text += text
  }
}

const SHORTEST = 8
