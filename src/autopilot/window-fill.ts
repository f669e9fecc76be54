/** What fills the window, by kind or tool and by file. Shares of what the host counts, which add up to 100 %. Pure. */
import { toolFiles } from "../agents/tool-input.ts"
import type { Part } from "../transcript/types.ts"
import { tokensOfText } from "./token-figures.ts"

export interface Filling {
  readonly name: string
  readonly tokens: number
  /** Percent of the context, with one decimal. */
  readonly percent: number
}

export interface Fill {
  /** Largest first. */
  readonly kinds: readonly Filling[]
  /** By the file that a tool call names. Everything without a file is one entry. */
  readonly files: readonly Filling[]
}

/** What no transcript shows: the system prompt, tool descriptions, memory files. */
export const UNSEEN = "system, tools and memory"
const NO_FILE = "(no file)"

const TOOL = "tool"

/** Kinds that are not listed are not sent to the model. */
const KINDS: Partial<Record<Part["kind"], string>> = {
  prompt: "prompts",
  brief: "prompts",
  text: "answers",
  thinking: "thinking",
  summary: "summary",
  context: "hooks and notices",
  notice: "hooks and notices",
  output: "hooks and notices",
}

export class FillCounter {
  readonly #kinds = new Map<string, number>()
  readonly #files = new Map<string, number>()
  readonly #calls = new Map<string, { readonly name: string; readonly file: string | undefined }>()

  add(parts: readonly Part[]): void {
    for (const part of parts) this.#part(part)
  }

  #part(part: Part): void {
    if (part.kind === "toolUse") {
      const file = toolFiles(part.name, part.input)[0]?.path
      this.#calls.set(part.id, { name: part.name, file })
      this.#count(part.name || TOOL, file, JSON.stringify(part.input ?? "").length)
    } else if (part.kind === "toolResult") {
      // The call may be before the compaction.
      const { name = "", file } = this.#calls.get(part.id) ?? {}
      this.#count(name || TOOL, file, part.text.length)
    } else if ("text" in part) {
      const kind = KINDS[part.kind]
      if (kind !== undefined) this.#count(kind, undefined, part.text.length)
    }
  }

  #count(kind: string, file: string | undefined, chars: number): void {
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + chars)
    const path = file ?? NO_FILE
    this.#files.set(path, (this.#files.get(path) ?? 0) + chars)
  }

  /** @param tokens in the context, as the host counts them */
  fill(tokens: number): Fill {
    return { kinds: shares(this.#kinds, tokens, UNSEEN), files: shares(this.#files, tokens, NO_FILE) }
  }
}

/** Estimates the tokens of the text seen. What the host counts beyond that goes to `rest`. */
function shares(chars: ReadonlyMap<string, number>, total: number, rest: string): Filling[] {
  const sizes = new Map([...chars].map(([name, length]) => [name, tokensOfText(length)]))
  const seen = [...sizes.values()].reduce((sum, n) => sum + n, 0)
  if (seen < total) sizes.set(rest, (sizes.get(rest) ?? 0) + total - seen)
  const whole = Math.max(seen, total)
  if (whole === 0) return []
  const scale = total / whole
  const exact = [...sizes].map(([name, size]) => ({
    name,
    size: size * scale,
    permille: (size * 1000) / whole,
  }))
  // Round up the largest remainders so that the sum is 1000.
  const missing = 1000 - exact.reduce((sum, { permille }) => sum + Math.floor(permille), 0)
  const byRemainder = exact.toSorted((a, b) => (b.permille % 1) - (a.permille % 1))
  const up = new Set(byRemainder.slice(0, missing).map(({ name }) => name))
  return exact
    .map(({ name, size, permille }) => ({
      name,
      tokens: Math.round(size),
      percent: (Math.floor(permille) + (up.has(name) ? 1 : 0)) / 10,
    }))
    .filter(({ tokens, percent }) => tokens > 0 || percent > 0)
    .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1))
}
