/**
 * Sentences worth keeping, found by how they are worded. Pure.
 *
 * A constraint is what a human told the model to do or not to do for good; a decision is what the model settled
 * and why; a refuted approach is what it tried in vain. All are kept verbatim. English, German, Spanish and Chinese
 * are known; test/unit/transcript/extract-languages.test.ts says how well.
 */
import { told } from "./wording.ts"
import { constraints } from "./wording-constraints.ts"
import { decisions } from "./wording-decisions.ts"
import { refuted } from "./wording-refuted.ts"

const LONGEST = 300
const MOST = 8

/** Sentences of prose: code blocks, quoted lines and host tags hold none. */
function* sentences(text: string): Generator<string> {
  const prose = text.slice(0, 20_000).replace(/```[\s\S]*?(```|$)/g, "\n")
  for (const line of prose.split("\n")) {
    const clean = line.replace(/^[\s>*\-•\d.)#]+/, "").trim()
    if (clean.length < shortest(clean) || /^</.test(clean) || /^[|{}[\]]/.test(clean)) continue
    for (const sentence of clean.split(/(?<=[.!?])\s+|(?<=[。！？；])/)) {
      const trimmed = sentence.trim()
      if (trimmed.length >= shortest(trimmed) && trimmed.length <= LONGEST) yield trimmed
    }
  }
}

/** Chinese says in five characters what takes others eight. */
const shortest = (text: string): number => (/\p{Script=Han}/u.test(text) ? 5 : 8)

export const constraintsIn = (prompt: string): string[] =>
  pick(prompt, (sentence) => told(sentence, constraints()))

export const decisionsIn = (answer: string): string[] =>
  pick(answer, (sentence) => told(sentence, decisions()))

/** Ways that were tried in vain. */
export const refutedIn = (answer: string): string[] => pick(answer, (sentence) => told(sentence, refuted()))

function pick(text: string, wanted: (sentence: string) => boolean): string[] {
  const found = new Set<string>()
  for (const sentence of sentences(text)) {
    if (wanted(sentence)) found.add(sentence)
    if (found.size >= MOST) break
  }
  return [...found]
}
