/**
 * The beginnings of commands and how often they were used: many fit on one line, where one command of each in full
 * would take ten. Pure.
 */
import { interest } from "./diverse-commands.ts"
import { type Fact, SETTLING } from "./material.ts"

/** Characters that an entry takes besides its words. */
const FRAME = 5
/** Lines that only change the folder or start an inline script: they say nothing more. */
const BARE =
  /^cd (?:[^\s"']+|"[^"]*"|'[^']*')$|^(?:\S+ ){1,4}(?:-\w+ )?["']$|^(?:\S+ ){1,4}<<-?\s*["']?\w+["']?$/
/** A program, not part of the shell's grammar such as `*) echo`. */
const FIRST = /^[\w.~/][\w.+@~/-]*$/
/** The second word of a two-word command name, or an option. */
const SECOND = /^(?:-{1,2}[A-Za-z][\w-]*|[a-z][a-z0-9]*(?:[:-][a-z0-9]+)*)$/
/** A word that may be part of the command's name and not an argument. */
const NAMING = /^[a-z][a-z0-9]*(?:[:-][a-z0-9]+)*$/
/** When at least this share of the uses of two words has a third word that recurs, they are shown with three words. */
const SHARED = 0.6

interface Use {
  readonly words: readonly string[]
  readonly times: number
  readonly worth: number
}

export interface VocabularyEntry {
  readonly words: string
  readonly times: number
}

/** The beginnings of the commands, likeliest first. */
export function vocabulary(commands: readonly Fact[], shownOf: (fact: Fact) => string): VocabularyEntry[] {
  const found = new Map<string, { times: number; worth: number }>()
  const add = (words: string, { times, worth }: Use): void => {
    const known = found.get(words)
    found.set(words, { times: times + (known?.times ?? 0), worth: worth + (known?.worth ?? 0) })
  }
  const groups = new Map<string, Use[]>()
  for (const fact of commands) {
    const { text, times = 1, age = 0, weight = 1 } = fact
    const words = text.split(/\s+/, 3)
    const use = { words, times, worth: (weight * times) / Math.sqrt(age + SETTLING) }
    if (isBare(shownOf(fact))) add(shownOf(fact), use)
    else if (interest(text) === 1 && FIRST.test(words[0]!) && SECOND.test(words[1] ?? "")) {
      const two = `${words[0]} ${words[1]}`
      groups.set(two, [...(groups.get(two) ?? []), use])
    }
  }
  for (const [two, uses] of groups) {
    const thirds = thirdWords(uses)
    for (const use of uses) add(thirds.has(use.words[2]!) ? `${two} ${use.words[2]}` : two, use)
  }
  const worthOf = (words: string, worth: number): number =>
    (worth * interest(words)) / Math.sqrt(words.length + FRAME)
  return [...found]
    .map(([words, { times, worth }]) => ({ words, times, worth: worthOf(words, worth) }))
    .sort((a, b) => b.worth - a.worth || (a.words < b.words ? -1 : 1))
    .map(({ words, times }) => ({ words, times }))
}

/** Whether a line says no more than its beginning. */
export const isBare = (command: string): boolean => BARE.test(command)

/** Third words that recur, if most of the uses have one. */
function thirdWords(uses: readonly Use[]): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const { words, times } of uses) {
    const third = words[2]
    if (third !== undefined && NAMING.test(third)) counts.set(third, (counts.get(third) ?? 0) + times)
  }
  const again = [...counts].filter(([, times]) => times > 1)
  const shared = again.reduce((sum, [, times]) => sum + times, 0)
  const total = uses.reduce((sum, { times }) => sum + times, 0)
  return new Set(shared >= SHARED * total ? again.map(([third]) => third) : [])
}
