/**
 * What a question about earlier work asks for, and what is noted of the session that answers it: decisions, commands
 * and error lines, which say more than any passage with the same words.
 */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { factsIn } from "../archive/queries/fact-uses.ts"
import { notesIn } from "../archive/queries/sessions.ts"
import { commandIn, quoteInert, quoteSpoken } from "../restore/quote.ts"
import { scopeOf } from "../restore/restore-scope.ts"
import type { Held } from "../restore/whole-words.ts"
import { type Clue, cluesOf } from "../search/related-turns.ts"
import { isAsking, topicWords } from "../search/topic-words.ts"
import { wordSet } from "../util/words.ts"
import type { AskedKind } from "./asks-for-earlier.ts"

/** How many notes and facts of the session are looked at, the latest, and how many are told. */
const LOOKED_AT = 300
const MOST = 3
/** The share of the weight of a question's telling words that an answer must have. */
const LEAST_SHARE = 0.5

/** What a passage must say besides, if the question has only everyday words. */
const SPEAKS_OF: Record<AskedKind, RegExp> = {
  decision:
    /\b(?:decid|decision|cho[os]|settle|agree|instead|rather|reject|prefer|because|statt|weil|entsch(?:ie|ei)d)/i,
  command: /^\W*(?:\.{0,2}\/|\w+ )[^.!?]*$/,
  error: /\b(?:error|exception|fail|fehler)/i,
}

export class Question {
  readonly kind: AskedKind | undefined
  readonly clues: readonly Clue[]
  /** Whether none of its words tells much by itself. */
  readonly isEveryday: boolean

  constructor(prompt: string, kind: AskedKind | undefined) {
    const clues = cluesOf(prompt).filter(({ typed }) => !isAsking(typed.toLowerCase()))
    this.kind = kind
    this.isEveryday = clues.length === 0
    this.clues = this.isEveryday ? topicWords(prompt) : clues
  }

  /** Everyday words fit only all together, telling ones by half of their weight. */
  fits(text: string): boolean {
    if (this.clues.length === 0) return false
    if (this.isEveryday) {
      const words = wordSet(text)
      return this.clues.every(({ word }) => words.has(word))
    }
    const lower = text.toLowerCase()
    const weigh = (some: readonly Clue[]): number => some.reduce((sum, { weight }) => sum + weight, 0)
    const shared = this.clues.filter(
      ({ word, typed }) => lower.includes(typed.toLowerCase()) || lower.includes(word),
    )
    return shared.length > 0 && weigh(shared) >= LEAST_SHARE * weigh(this.clues)
  }

  isAbout(passage: string): boolean {
    return !this.isEveryday || this.kind === undefined || SPEAKS_OF[this.kind].test(passage)
  }
}

/** Lines with what was decided, run or met, latest first, as far as it fits and the new context lacks it. */
export function answersTo(
  db: Database,
  session: string,
  question: Question,
  { held, shown }: { readonly held: Held; readonly shown: number },
): string[] {
  const { kind } = question
  if (kind === undefined) return []
  const lacks = (text: string): boolean => question.fits(text) && !held(text)
  const scope = scopeOf(db, session)
  if (kind === "decision") {
    return notesIn(db, scope, kind, LOOKED_AT)
      .filter(({ text }) => lacks(text))
      .slice(0, MOST)
      .map(({ handle, text }) => `- ${quoteSpoken(text, shown)} (${HANDLE_PREFIX}${handle})`)
  }
  // Of a command, its form is as it was typed; of an error, how the call ended.
  return factsIn(db, scope, kind, LOOKED_AT)
    .map(({ text, form }) => (kind === "command" ? form : text))
    .filter(lacks)
    .slice(0, MOST)
    .map((text) => `- ${kind === "command" ? commandIn(text, shown) : quoteInert(text, shown)}`)
}
