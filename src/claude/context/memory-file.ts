/** What the host takes from a memory file: its text and the files it imports. Pure. */

export interface MemoryFile {
  /** Without front matter, and without comments on lines of their own. */
  readonly text: string
  /** As written after the `@`, without the part from `#` on. */
  readonly imports: readonly string[]
  /** Whether it only applies to certain files and so is not part of every context. */
  readonly conditional: boolean
}

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m
const FENCE = /^\s*(?:>\s*|[-*+]\s+|\d{1,9}[.)]\s+)*(`{3,}|~{3,})/
const LIST_ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/
const IMPORT = /(?:^|\s)@((?:[^\s\\]|\\ )+)/g

export function memoryFile(content: string): MemoryFile {
  const front = content.startsWith("---") ? FRONT_MATTER.exec(content) : null
  const body = front?.index === 0 ? content.slice(front[0].length) : content
  const lines = new Lines()
  for (const line of body.split(/\r?\n/)) lines.take(line)
  return {
    text: lines.text.join("\n"),
    imports: [...new Set(lines.imports)],
    conditional: front?.index === 0 && namesPaths(front[1]!),
  }
}

/** Whether there is a condition such as `paths: src/**` or a list. Only `**` is no condition. */
function namesPaths(front: string): boolean {
  const value = /^paths:[ \t]*(.*(?:\r?\n[ \t]*-.*)*)/m.exec(front)?.[1] ?? ""
  const patterns = value.replace(/["'[\]]/g, "").split(/[\s,]+/)
  return patterns.some((pattern) => !["", "-", "**", "**/**"].includes(pattern))
}

/** Follows Markdown as far as imports require: skips code and comments. */
class Lines {
  readonly text: string[] = []
  readonly imports: string[] = []
  #fence: string | undefined
  #comment = false
  #blank = true
  #list = false

  take(line: string): void {
    if (this.#fence !== undefined) {
      this.text.push(line)
      const end = line.trim()
      if (end.startsWith(this.#fence) && end === this.#fence[0]!.repeat(end.length)) this.#fence = undefined
      return
    }
    const told = this.#withoutComment(line)
    if (told === undefined) return
    this.text.push(told)
    const isCode = this.#isIndented(told)
    this.#blank = told.trim() === "" || isCode
    if (isCode) return
    this.#fence = FENCE.exec(told)?.[1]
    if (this.#fence === undefined && told.includes("@"))
      for (const part of withoutCode(told)) this.#noteImports(part)
  }

  /** The line without its comment; undefined when nothing is left. */
  #withoutComment(line: string): string | undefined {
    let rest = line
    if (!this.#comment) {
      if (!rest.trimStart().startsWith("<!--")) return line
      rest = rest.slice(rest.indexOf("<!--") + "<!--".length)
    }
    const end = rest.indexOf("-->")
    this.#comment = end < 0
    rest = end < 0 ? "" : rest.slice(end + "-->".length)
    return rest.trim() === "" ? undefined : rest
  }

  /** Four spaces after a blank line mean code, except in a list, which they continue. */
  #isIndented(line: string): boolean {
    const deep = /^(?: {4}|\t)/.test(line)
    if (LIST_ITEM.test(line)) this.#list = !deep || this.#list
    else if (!deep && line.trim() !== "" && this.#blank) this.#list = false
    return deep && this.#blank && !this.#list && line.trim() !== ""
  }

  #noteImports(prose: string): void {
    for (const [, written = ""] of prose.matchAll(IMPORT)) {
      const path = written.replace(/#.*/, "").replaceAll("\\ ", " ")
      if (/^(?:\.{0,2}\/|~\/|[A-Za-z0-9._-])/.test(path) && path !== "/") this.imports.push(path)
    }
  }
}

/** The text between code spans. A span reaches from a run of backticks to the next run of the same length. */
function withoutCode(line: string): string[] {
  const runs = [...line.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }))
  const next: number[] = []
  const later = new Map<number, number>()
  for (let n = runs.length - 1; n >= 0; n--) {
    next[n] = later.get(runs[n]!.length) ?? -1
    later.set(runs[n]!.length, n)
  }
  const told: string[] = []
  let at = 0
  for (let n = 0; n < runs.length; n++) {
    const end = next[n]!
    if (end < 0) continue
    told.push(line.slice(at, runs[n]!.index))
    at = runs[end]!.index + runs[end]!.length
    n = end
  }
  return [...told, line.slice(at)]
}
