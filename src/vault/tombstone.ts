/**
 * What one tombstone says, and what it makes of lines. Hooks load it late, since few sessions have one.
 *
 * For a text taken out of some lines, the tombstone stores its positions and keyed hashes of those lines. It holds
 * neither the text nor anything from which it could be guessed without the rest of its line.
 */

import { CtxError, codeOf, isMissing, messageOf } from "../base/errors.ts"
import { readFileSync } from "../base/fs.ts"
import { linesIn } from "../record/lines-with.ts"

/** First byte, and the one after the last. */
export type FilledSpan = readonly [from: number, to: number]

export interface Tombstone {
  /** The session's id, without a subagent's. */
  readonly session: string
  /** Whether all of it is forgotten, including its subagents. */
  readonly whole: boolean
  /** Its subagents that are forgotten on their own. */
  readonly agents: readonly string[]
  /** Paths of Claude Code's transcripts, and files beside them, that are forgotten whole. */
  readonly transcripts: readonly string[]
  /** Hashes of lines, and the spans to fill in them. */
  readonly lines: Readonly<Record<string, readonly FilledSpan[]>>
  /** Random key of the hashes. */
  readonly key: string
  /** When it was last written, in ms since the epoch. */
  readonly time: number
}

/** Replaces a removed text; valid in JSON wherever text is. */
const FILLER = 0x2a

/**
 * @returns undefined if it is gone, or not ours to read
 * @throws CtxError `tombstone-damaged`
 */
export function tombstoneIn(file: string): Tombstone | undefined {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    // Where we may not even look, nothing can be archived either. What is kept elsewhere meanwhile is checked later.
    if (isMissing(error) || ["EACCES", "EPERM"].includes(codeOf(error))) return undefined
    throw error
  }
  try {
    return JSON.parse(text) as Tombstone
  } catch (cause) {
    throw new CtxError("tombstone-damaged", `cannot read ${file}: ${messageOf(cause)}`, {
      hint: "nothing of its session is archived while it is there",
      cause,
    })
  }
}

export function lineHash(key: string, line: Uint8Array): string {
  return new Bun.CryptoHasher("sha256", key).update(line).digest("hex").slice(0, 32)
}

/** A line may have been filled several times; each stored state has a hash of its own. */
const MOST_TIMES = 100

/** Returns the same array if no line is known. */
export function fillLines(content: Uint8Array, { key, lines }: Pick<Tombstone, "key" | "lines">): Uint8Array {
  if (Object.keys(lines).length === 0) return content
  let out = content
  for (const [start, end] of linesIn(content)) {
    for (let times = 0; times < MOST_TIMES; times++) {
      const spans = lines[lineHash(key, out.subarray(start, end))]
      if (spans === undefined) break
      // Copied, which `slice` of a Buffer would not do.
      if (out === content) out = new Uint8Array(content)
      fillSpans(out.subarray(start, end), spans)
    }
  }
  return out
}

export function fillSpans(line: Uint8Array, spans: readonly FilledSpan[]): void {
  for (const [from, to] of spans) line.fill(FILLER, from, to)
}
