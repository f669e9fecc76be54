/** How commands begin, and how often: many of them on a line, where one of each at length would take ten. Pure. */
import { interest } from "./commands.ts"
import { type Fact, SETTLING } from "./material.ts"

/** Characters that an entry takes beside its words. */
const FRAME = 5
/** Where scripts are run, and how a program begins that is typed in: such a line tells nothing else. */
const BARE =
  /^cd (?:[^\s"']+|"[^"]*"|'[^']*')$|^(?:\S+ ){1,4}(?:-\w+ )?["']$|^(?:\S+ ){1,4}<<-?\s*["']?\w+["']?$/
/** A program, not a part of the shell's grammar such as `*) echo`. */
const FIRST = /^[\w.~/][\w.+@~/-]*$/
/** What stands second in a command that has a name of two words, or an option. */
const SECOND = /^(?:-{1,2}[A-Za-z][\w-]*|[a-z][a-z0-9]*(?:[:-][a-z0-9]+)*)$/
/** A word that may belong to the command's name, and no argument of it. */
const NAMING = /^[a-z][a-z0-9]*(?:[:-][a-z0-9]+)*$/
/** Of the uses of two words, those with a third that comes again, from which on all are told by three. */
const SHARED = 0.6

interface Use {
  readonly words: readonly string[]
  readonly times: number
  readonly worth: number
}

export interface Entry {
  readonly words: string
  readonly times: number
}

/** Beginnings of the commands, the likeliest first. */
export function vocabulary(commands: readonly Fact[], shownOf: (fact: Fact) => string): Entry[] {
  const found = new Map<string, { times: number; worth: number }>()
  const add = (words: string, { times, worth }: Use): void => {
    const known = found.get(words)
    found.set(words, { times: times + (known?.times ?? 0), worth: worth + (known?.worth ?? 0) })
  }
  const groups = new Map<string, Use[]>()
  for (const fact of commands) {
    const { text, times = 1, age = 0 } = fact
    const words = text.split(/\s+/, 3)
    const use = { words, times, worth: times / Math.sqrt(age + SETTLING) }
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

/** A line that tells no more than its beginning. */
export const isBare = (command: string): boolean => BARE.test(command)

/** Third words that come again, if most of the uses have such a one. */
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
