/** Which commands to tell, and in which order: each for what it tells that those before it do not. Pure. */
import { type Fact, SETTLING } from "./material.ts"

/** Characters that a line takes beside the command. */
const FRAME = 5
/** What it is worth to tell a program with its first word, to the worth of one of its commands. */
const STEM_WORTH = 0.5

/** What looks at files and moves them about is typed by anybody: how a project is built and tested goes before. */
const COMMON =
  /^(?:cat|ls|sed -n|head|tail|wc|grep|rg|find|awk|cut|sort|uniq|tr|jq|stat|file|tree|diff|mkdir|rm|cp|mv|ln|touch|chmod|which|pwd|date|env|printenv)\b/
const COMMON_WORTH = 0.4
/** Commands that begin with the same words, after which no more of them are told. */
const MOST_ALIKE = 5

/** @returns how much telling a command tells, to one that is not common */
export const interest = (command: string): number => (COMMON.test(command) ? COMMON_WORTH : 1)

interface Candidate {
  readonly fact: Fact
  readonly shown: string
  readonly stems: readonly string[]
  /** What its line costs: a long one has to tell more. */
  readonly cost: number
  /** What it tells that is not told yet. */
  gain: number
  isTold: boolean
}

interface Stem {
  worth: number
  told: number
  readonly users: Candidate[]
}

/**
 * The worthiest first, by what is not told yet: how often and lately it was used, and how its program was. Each is
 * chosen when it is asked for.
 *
 * @param shownOf how a command is told
 */
export function* diverse(commands: readonly Fact[], shownOf: (fact: Fact) => string): Generator<Fact> {
  const stems = new Map<string, Stem>()
  const candidates = commands.map((fact) => candidate(fact, shownOf(fact), stems))
  for (const { worth, users } of stems.values()) for (const one of users) one.gain += worth
  for (let best = worthiest(candidates); best !== undefined; best = worthiest(candidates)) {
    yield best.fact
    best.isTold = true
    for (const one of candidates) one.isTold ||= best.shown.includes(one.fact.text)
    for (const name of best.stems) {
      const stem = stems.get(name)!
      const isEnough = ++stem.told >= MOST_ALIKE
      for (const one of stem.users) {
        one.gain -= stem.worth
        one.isTold ||= isEnough
      }
      stem.worth = 0
    }
  }
}

/** Adds to the worth of its stems. */
function candidate(fact: Fact, shown: string, all: Map<string, Stem>): Candidate {
  const { text, times = 1, age = 0 } = fact
  const gain = (interest(text) * times) / Math.sqrt(age + SETTLING)
  const stems = stemsOf(text)
  const one = { fact, shown, stems, cost: Math.sqrt(shown.length + FRAME), gain, isTold: false }
  for (const name of stems) {
    const stem = all.get(name)
    if (stem === undefined) all.set(name, { worth: STEM_WORTH * gain, told: 0, users: [one] })
    else {
      stem.worth += STEM_WORTH * gain
      stem.users.push(one)
    }
  }
  return one
}

/** The first of those that gain most for what they cost. */
function worthiest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined
  let most = -1
  for (const one of candidates) {
    const value = one.gain / one.cost
    if (one.isTold || value <= most) continue
    most = value
    best = one
  }
  return best
}

/** The first two and three words of each command in a line. */
function stemsOf(line: string): string[] {
  const stems: string[] = []
  for (const command of line.split(/&&|\|\||[|;]/)) {
    const [first = "", second, third] = command.trim().split(/\s+/, 3)
    if (second === undefined) continue
    const two = `${first} ${second}`
    if (stems.includes(two)) continue
    stems.push(two)
    if (third !== undefined) stems.push(`${two} ${third}`)
  }
  return stems
}
