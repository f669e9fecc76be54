/** Picks the words that tell what a prompt is about, few enough to look each of them up. Pure. */
import { namesIn } from "../util/words.ts"
import { isEveryday } from "./everyday-words.ts"

export interface Clue {
  /** As it is in the index. */
  readonly word: string
  /** As it was typed. */
  readonly typed: string
  /** How much sharing this word says about a turn; a plain word counts 1. */
  readonly weight: number
}

/** Only this many UTF-16 units of a prompt are read: the rest of a pasted log is more of the same. */
const READ = 400
/** How many clues are looked up; the most telling ones are kept. */
const MOST = 8
/** A name of several parts, as in code, is seldom used for two things. */
const NAME = 2
const PLAIN = 1
/** Pairs of characters overlap, so two of them make about one word. */
const PAIR = 0.5
/** Shorter plain words are too common; acronyms may be shorter. */
const SHORTEST = 4
const SHORTEST_ACRONYM = 3

const ASCII = /^[\x00-\x7f]*$/
const LOOKS_LIKE_CODE = /[_.\d]|[a-z][A-Z]/
const ACRONYM = /^(?:[A-Z\d]+|[a-z]*\d[a-z\d]*)$/

export function cluesOf(prompt: string): Clue[] {
  const found = new Map<string, Clue>()
  for (const run of new Set(prompt.slice(0, READ).match(/\S+/g))) {
    // Most words end here, without being taken apart.
    if (isEveryday(run.toLowerCase().replace(/[.,:;?!]+$/, ""))) continue
    const clues = namesIn(run).flatMap(({ words, at, length }) => {
      const typed = run.slice(at, at + length)
      return ASCII.test(typed) ? asciiClue(typed, words) : otherClues(typed, words)
    })
    // Only the last name of a path or URL: its folders are shared by many other files.
    for (const clue of run.includes("/") ? clues.slice(-1) : clues) {
      if (!found.has(clue.word)) found.set(clue.word, clue)
    }
  }
  return [...found.values()]
    .map((clue, place) => ({ clue, place }))
    .sort(
      (a, b) =>
        b.clue.weight - a.clue.weight || b.clue.typed.length - a.clue.typed.length || a.place - b.place,
    )
    .slice(0, MOST)
    .map(({ clue }) => clue)
}

/** A name counts only as a whole: its parts are words that fit any subject. */
function asciiClue(typed: string, words: readonly string[]): Clue[] {
  const word = words.at(-1)!
  const shortest = ACRONYM.test(typed) ? SHORTEST_ACRONYM : SHORTEST
  if (word.length < shortest || /^\d+$/.test(word)) return []
  const plain = typed.toLowerCase().replace(/[^a-z\d]/g, "")
  if (isEveryday(plain) || isEveryday(word)) return []
  const parts = words.slice(0, -1)
  if (parts.length > 0 && parts.every((part) => part.length < SHORTEST_ACRONYM || isEveryday(part))) {
    return LOOKS_LIKE_CODE.test(typed) ? [{ word, typed, weight: PLAIN }] : []
  }
  return [{ word, typed, weight: parts.length > 0 && LOOKS_LIKE_CODE.test(typed) ? NAME : PLAIN }]
}

/** Words in other alphabets, or pairs of characters in scripts without spaces. */
function otherClues(typed: string, words: readonly string[]): Clue[] {
  if (isEveryday(typed.toLowerCase())) return []
  return words.flatMap((word) => {
    if (isEveryday(word)) return []
    const isPair = [...word].length === 2
    if (!isPair && word.length < SHORTEST) return []
    return [{ word, typed: isPair ? word : typed, weight: isPair ? PAIR : PLAIN }]
  })
}
