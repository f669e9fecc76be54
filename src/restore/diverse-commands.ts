/** Which commands to show, and in which order: each is chosen for what it adds to those before it. Pure. */
import { type Fact, SETTLING } from "./material.ts"

/** Characters in a line besides the command. */
const FRAME = 5
/** What it is worth to show a program with its first word, relative to one of its commands. */
const STEM_WORTH = 0.5

/** Commands that anyone types to look at files and move them: how a project is built and tested is worth more. */
const COMMON =
  /^(?:cat|ls|sed -n|head|tail|wc|grep|rg|find|awk|cut|sort|uniq|tr|jq|stat|file|tree|diff|mkdir|rm|cp|mv|ln|touch|chmod|which|pwd|date|env|printenv)\b/
const COMMON_WORTH = 0.4
const MOST_ALIKE = 5

/** @returns how much showing a command is worth; 1 for one that is not common */
export const interest = (command: string): number => (COMMON.test(command) ? COMMON_WORTH : 1)

interface Candidate {
  readonly fact: Fact
  readonly shown: string
  readonly stems: readonly string[]
  /** What its line costs: a longer one must add more. */
  readonly cost: number
  /** What it adds to what is already shown. */
  gain: number
  isTold: boolean
}

interface Stem {
  worth: number
  told: number
  readonly users: Candidate[]
}

/**
 * Most valuable first, judged by what is not shown yet: how often and recently the command was used, and its program.
 * Each is chosen only when it is asked for.
 *
 * @param shownOf how a command is shown
 */
export function* diverse(commands: readonly Fact[], shownOf: (fact: Fact) => string): Generator<Fact> {
  const stems = new Map<string, Stem>()
  const candidates = commands.map((fact) => candidate(fact, shownOf(fact), stems))
  for (const { worth, users } of stems.values()) for (const one of users) one.gain += worth
  for (let best = worthiest(candidates); best !== undefined; best = worthiest(candidates)) {
    yield best.fact
    best.isTold = true
    for (const one of candidates)
      one.isTold ||= best.shown.includes(one.fact.text) || best.shown.includes(one.shown)
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

/** Makes a candidate and adds to the worth of its stems. */
function candidate(fact: Fact, shown: string, all: Map<string, Stem>): Candidate {
  const { text, times = 1, age = 0, weight = 1 } = fact
  const gain = (weight * interest(text) * times) / Math.sqrt(age + SETTLING)
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

/** The candidate that adds most for its cost; the first of equals. */
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
