/** Which commands to tell, and in which order: each for what it tells that those before it do not. Pure. */
import type { Fact } from "./material.ts"

/** Messages by which every command is taken to be older, as in facts.ts. */
const SETTLING = 5
/** Characters that a line takes beside the command. */
const FRAME = 5
/** What it is worth to tell a program with its first word, to the worth of one of its commands. */
const STEM_WORTH = 0.5

interface Candidate {
  readonly fact: Fact
  readonly shown: string
  readonly worth: number
  readonly stems: readonly string[]
  /** What its line costs: a long one has to tell more. */
  readonly cost: number
}

/**
 * The worthiest first, by what is not told yet: how often and lately it was used, and how its program was. Each is
 * chosen when it is asked for.
 *
 * @param shownOf how a command is told
 */
export function* diverse(commands: readonly Fact[], shownOf: (fact: Fact) => string): Generator<Fact> {
  let left = commands.map((fact) => candidate(fact, shownOf(fact)))
  const stemWorth = new Map<string, number>()
  for (const { stems, worth } of left)
    for (const stem of stems) stemWorth.set(stem, (stemWorth.get(stem) ?? 0) + STEM_WORTH * worth)
  while (left.length > 0) {
    const best = worthiest(left, stemWorth)
    yield best.fact
    for (const stem of best.stems) stemWorth.delete(stem)
    left = left.filter((one) => one !== best && !best.shown.includes(one.fact.text))
  }
}

function candidate(fact: Fact, shown: string): Candidate {
  const { times = 1, age = 0 } = fact
  const worth = times / Math.sqrt(age + SETTLING)
  return { fact, shown, worth, stems: stemsOf(fact.text), cost: Math.sqrt(shown.length + FRAME) }
}

/** The first of those that gain most. */
function worthiest(left: readonly Candidate[], stemWorth: ReadonlyMap<string, number>): Candidate {
  let best = left[0]!
  let most = -1
  for (const one of left) {
    let gain = one.worth
    for (const stem of one.stems) gain += stemWorth.get(stem) ?? 0
    gain /= one.cost
    if (gain > most) {
      most = gain
      best = one
    }
  }
  return best
}

/** The first two and three words of each command in a line. */
function stemsOf(line: string): string[] {
  const stems = new Set<string>()
  for (const command of line.split(/&&|\|\||[|;]/)) {
    const words = command.trim().split(/\s+/)
    for (const n of [2, 3]) if (words.length >= n) stems.add(words.slice(0, n).join(" "))
  }
  return [...stems]
}
