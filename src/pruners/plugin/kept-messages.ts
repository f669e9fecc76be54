/** Which messages of Claude Code stay as they are when a plugin answers its compaction. Pure. */
import { userTextParts } from "../../agents/claude-code/user-text.ts"
import { isObject } from "../../transcript/json.ts"

/** What the plugin tells of each message: who says it, the beginning of its text, its size, and whether tools are in it. */
export interface Outline {
  readonly role: string
  readonly text: string
  /** UTF-16 units of JSON. */
  readonly size: number
  readonly uses: boolean
  readonly results: boolean
}

export function outlineOf(value: unknown): Outline[] {
  if (!Array.isArray(value)) return []
  return value.filter(isObject).map(({ role, text, size, uses, results }) => ({
    role: String(role),
    text: typeof text === "string" ? text : "",
    size: typeof size === "number" ? size : 0,
    uses: uses === true,
    results: results === true,
  }))
}

/**
 * An automatic compaction comes before a prompt is answered, or in the middle of a turn: the prompt stays, and of the
 * turn as much of the end as there is room for. A call and its result stay or go together.
 *
 * @param most UTF-16 units of JSON
 * @returns indexes, in order
 */
export function keptMessages(outline: readonly Outline[], trigger: string, most: number): number[] {
  if (trigger !== "auto") return []
  const prompt = outline.findLastIndex(isPrompt)
  if (prompt < 0) return []
  let left = most - outline[prompt]!.size
  let from = outline.length
  for (let n = outline.length - 1; n > prompt; n--) {
    left -= outline[n]!.size
    if (left < 0) break
    // What a tool returned cannot be the first.
    if (!outline[n]!.results) from = n
  }
  return [prompt, ...outline.map((_, n) => n).slice(from)]
}

const isPrompt = ({ role, text, results }: Outline): boolean =>
  role === "user" &&
  !results &&
  userTextParts(text, "human").some((part) => part.kind === "prompt" && part.via === "typed")
