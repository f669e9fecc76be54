/** What a benchmark asks, and what counts as an answer. Pure. */

export interface Question {
  readonly text: string
  readonly group: string
  /** Texts that answer it and should all be shown, keyed by the name under which they are counted. */
  readonly evidence: ReadonlyMap<string, string>
  /** Handles of the turns that answer it, if known. */
  readonly turns?: ReadonlySet<string>
}

/** One result of a ranking. */
export interface Shown {
  /** All of it that a person or a model sees. */
  readonly text: string
  /** With `ctx:`. */
  readonly handle: string
}

/** How many results are requested. */
export const ASKED = 10
const BUDGET = 4000

export interface Scores {
  readonly questions: number
  /** Share of questions whose first result shows some of the evidence. */
  readonly hit1: number
  /** Share of the evidence that the first results show. */
  readonly r5: number
  readonly r10: number
  readonly mrr: number
  /** Share of the evidence that the results show which fit whole into the first 4,000 characters. */
  readonly r4000: number
  /**
   * Share of questions for which one of the first five results is a turn that answers; null when those turns are not
   * known.
   */
  readonly turn5: number | null
}

/** Only letters and digits in lower case, for comparing texts. */
export const comparable = (text: string): string =>
  text
    .toLowerCase()
    .normalize("NFKC")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()

/** How many consecutive words of a longer text must be shown, and their minimum length in characters. */
const RUN = 8
const RUN_CHARACTERS = 40

/**
 * Whether a text is shown: completely or, if it is long, by a run of its words. Both must be in the form that
 * `comparable` returns.
 */
export function shows(shown: string, text: string): boolean {
  if (text === "") return false
  if (shown.includes(text)) return true
  const words = text.split(" ")
  if (words.length < RUN + 4) return false
  for (let at = 0; at + RUN <= words.length; at += 2) {
    const run = words.slice(at, at + RUN).join(" ")
    if (run.length >= RUN_CHARACTERS && shown.includes(run)) return true
  }
  return false
}

/** Scores for one question; each figure is 0 to 1. */
export function scoreOf({ evidence, turns }: Question, results: readonly Shown[]): Scores {
  const covered = results.map(({ text }) => {
    const shown = comparable(text)
    return new Set([...evidence].filter(([, one]) => shows(shown, comparable(one))).map(([name]) => name))
  })
  const share = (some: readonly ReadonlySet<string>[]): number =>
    new Set(some.flatMap((names) => [...names])).size / evidence.size
  const first = covered.findIndex((names) => names.size > 0)
  let characters = 0
  const within = covered.filter((_, n) => {
    characters += results[n]!.text.length
    return characters <= BUDGET
  })
  return {
    questions: 1,
    hit1: first === 0 ? 1 : 0,
    r5: share(covered.slice(0, 5)),
    r10: share(covered.slice(0, ASKED)),
    mrr: first >= 0 && first < ASKED ? 1 / (first + 1) : 0,
    r4000: share(within),
    turn5: turns === undefined ? null : results.slice(0, 5).some(({ handle }) => turns.has(handle)) ? 1 : 0,
  }
}

export function mean(scores: readonly Scores[]): Scores {
  const of = (pick: (one: Scores) => number): number =>
    Math.round((scores.reduce((sum, one) => sum + pick(one), 0) / Math.max(1, scores.length)) * 10_000) /
    10_000
  return {
    questions: scores.length,
    hit1: of(({ hit1 }) => hit1),
    r5: of(({ r5 }) => r5),
    r10: of(({ r10 }) => r10),
    mrr: of(({ mrr }) => mrr),
    r4000: of(({ r4000 }) => r4000),
    turn5: scores.some(({ turn5 }) => turn5 === null) ? null : of(({ turn5 }) => turn5 ?? 0),
  }
}
