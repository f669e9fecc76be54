/**
 * Adds what the model is likely to need again and Claude Code's summary lacks: errors, names, paths, commands. Pure.
 */
import { isDemand } from "../agents/errors-met.ts"
import { withSlashes } from "../base/path.ts"
import { lengthOf } from "../base/text.ts"
import { withoutNamedSentences, withoutSentences } from "../record/sentence-names.ts"
import { type Fact, type Facts, SETTLING } from "./material.ts"
import type { Held, Page } from "./page.ts"
import { code, quoteInert } from "./quote.ts"

/**
 * Shares of the room, in the order in which the lists are written; what one does not use goes to the following. They
 * were chosen on cuts at arbitrary points of sessions, not at compactions (docs/measurements/restore.md).
 */
const SHARES = { errors: 0.18, paths: 0.22, commands: 0.25, names: 0.35 } as const

const COMMANDS = "Commands run"
const ERROR_SHOWN = 200
/**
 * At most this many error lines about how to use Claude Code's own tools: they recur, but are not the project's errors,
 * so they come last.
 */
const MOST_DEMANDS = 2
/** Characters that precede a section's title. */
const TITLED = "\n## ".length
/** How many facts of each kind are looked up in the summary; no budget has room for more. */
const MOST = 200

/** Whether the new context already contains something. */
interface HeldFacts {
  readonly text: Held
  readonly path: Held
  readonly name: Held
}

/** @param room characters for all lists together */
export function complement(page: Page, facts: Facts, room: number, held: HeldFacts): void {
  const end = page.left - Math.min(room, page.left)
  let shares = 1
  const share = (part: number): number => {
    const mine = Math.max(0, page.left - end) * (part / shares)
    shares -= part
    return Math.floor(mine)
  }
  const packed = (title: string, words: readonly string[], most: number): void =>
    page.section(title, pack(words, most - title.length - TITLED), most)
  page.section("Errors seen", errorLines(inOrder(facts.errors), page, held.text), share(SHARES.errors))
  const pathRoom = share(SHARES.paths)
  packed("Paths", withoutTails(pathsOf(wanted(facts.paths, page, held.path, pathRoom))), pathRoom)
  const runRoom = share(SHARES.commands)
  const commands = wanted(facts.commands, page, held.text, Number.POSITIVE_INFINITY)
  page.section(COMMANDS, commandLines(commands, runRoom - COMMANDS.length - TITLED, held.text), runRoom)
  const rest = share(SHARES.names)
  packed("Names", withoutParts(textsOf(wanted(facts.names, page, held.name, rest))), rest)
}

/** As many facts as fill twice the room, since some will not fit. */
function wanted(facts: readonly Fact[], page: Page, held: Held, room: number): Fact[] {
  const found: Fact[] = []
  let left = 2 * room
  for (const fact of facts.slice(0, MOST)) {
    if (held(fact.text) || page.holds(fact.text)) continue
    found.push(fact)
    left -= fact.text.length
    if (left <= 0) break
  }
  return found
}

const textsOf = (facts: readonly Fact[]): string[] => facts.map(({ text }) => text)

/** A path is shown whole if that takes no more characters than so; else by folder and name, which tell it from others. */
const WHOLE_FOR = 12

const pathsOf = (facts: readonly Fact[]): string[] =>
  facts.map(({ text, whole = text }) => (whole.length - text.length <= WHOLE_FOR ? whole : text))

/** `gradle_utils.dart` also mentions `gradle_utils`, so it replaces it. */
const withoutParts = (names: readonly string[]): string[] =>
  withoutMentioned(names, function* (name) {
    for (let end = name.indexOf("."); end > 0; end = name.indexOf(".", end + 1)) yield name.slice(0, end)
  })

/** `src/app.ts` also mentions `app.ts`. */
const withoutTails = (paths: readonly string[]): string[] =>
  withoutMentioned(paths, function* (path) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) yield path.slice(at + 1)
  })

/** Replaces each text by the first that also mentions it. */
function withoutMentioned(texts: readonly string[], mentioned: (text: string) => Iterable<string>): string[] {
  const wholes = new Map<string, string>()
  for (const text of texts) for (const part of mentioned(text)) if (!wholes.has(part)) wholes.set(part, text)
  return [...new Set(texts.map((text) => wholes.get(text) ?? text))]
}

function inOrder(errors: readonly Fact[]): Fact[] {
  const some = errors.slice(0, MOST)
  const demands = some.filter(({ text }) => isDemand(text))
  return [...some.filter((fact) => !demands.includes(fact)), ...demands.slice(0, MOST_DEMANDS)]
}

/** Lines that differ only in numbers count as one error. */
function* errorLines(errors: readonly Fact[], page: Page, held: Held): Generator<string> {
  const kinds = new Set<string>()
  for (const { text, exit } of errors) {
    const kind = text.replace(/\d+/g, "0")
    if (kinds.has(kind) || held(text)) continue
    const quoted = quoteInert(withoutNamedSentences(text), ERROR_SHOWN)
    if (page.holds(quoted.slice(1, -1))) continue
    kinds.add(kind)
    yield `- ${quoted}${ended(exit)}`
  }
}

/* Puts many short names on few lines, each line a code span of words as in a shell. Pure. */

const LINE = 160
/** A longer name is cut. */
const SHOWN = 220
/** How many words may be too long for the remaining room before the rest are skipped. */
const MOST_REFUSED_WORDS = 5
/**
 * As many words as fit, in order.
 *
 * @param room characters for all lines, including the newline before each
 */
export function pack(words: readonly string[], room: number): string[] {
  const lines: { words: string; readonly isAlone: boolean }[] = []
  let left = room
  let refused = 0
  for (const word of words) {
    const last = lines.at(-1)
    // A name with spaces gets a line of its own: among others, its ends would be unclear.
    const isAlone = /\s/.test(word)
    const joins =
      last !== undefined && !last.isAlone && !isAlone && last.words.length + 1 + word.length <= LINE
    const cost = (joins ? word : lineOfWords(word)).length + 1
    if (cost > left) {
      if (++refused > MOST_REFUSED_WORDS) break
      continue
    }
    left -= cost
    if (joins) last.words += ` ${word}`
    else lines.push({ words: word, isAlone })
  }
  return lines.map((line) => lineOfWords(line.words))
}

const lineOfWords = (words: string): string => `- ${code(words, SHOWN)}`

/* Renders commands for a restore: some at length, and the beginnings of all others. Pure. */

/** Share of the room reserved for the beginnings of the others. */
const ALSO_SHARE = 0.3
/** Characters in such a line, without its marks. */
const ALSO_LINE = 110
const COMMAND_SHOWN = 160
/** A longer command is shown without its redirections and filters. */
const FORM_SHOWN = 120
/** How many commands may be too long for the remaining room before the rest are skipped. */
const MOST_REFUSED = 12

/**
 * @param room characters for all lines, including the newline before each
 * @param held whether the new context already contains the words
 */
export function commandLines(commands: readonly Fact[], room: number, held: Held): string[] {
  const atLength = commands.filter((fact) => !isBare(shown(fact)))
  const [lines, later] = fitting([...diverse(atLength, shown)], room * (1 - ALSO_SHARE))
  const known = lines.join("\n")
  const isKnown = (words: string): boolean => known.includes(words) || held(words)
  const [also, told] = alsoLines(commands, room - lengthOf(lines), isKnown)
  const untold = later.filter((fact) => !told.has(shown(fact)))
  const [more] = fitting(untold, room - lengthOf(lines) - lengthOf(also))
  return [...lines, ...more, ...also]
}

const lineOf = (fact: Fact): string =>
  `- ${code(shown(fact), COMMAND_SHOWN)}${often(fact.times)}${ended(fact.exit)}`

/** @returns the lines that fit, and the commands whose lines do not */
function fitting(commands: readonly Fact[], room: number): [lines: string[], others: Fact[]] {
  const taken: string[] = []
  const others: Fact[] = []
  let left = room
  for (const fact of commands) {
    const line = lineOf(fact)
    if (line.length + 1 > left || others.length > MOST_REFUSED) others.push(fact)
    else {
      taken.push(line)
      left -= line.length + 1
    }
  }
  return [taken, others]
}

/** The beginnings of commands with how often they were used, on as few lines as possible, and each by itself. */
function alsoLines(
  commands: readonly Fact[],
  room: number,
  isKnown: (words: string) => boolean,
): [lines: string[], told: ReadonlySet<string>] {
  const lines: string[] = []
  const told = new Set<string>()
  let last = ""
  let left = room
  for (const { words, times } of vocabulary(commands, shown)) {
    if (isKnown(words)) continue
    const entry = `${words}${often(times)}`
    const joined = last === "" ? entry : `${last}, ${entry}`
    const fits = joined.length <= ALSO_LINE
    const cost = fits && last !== "" ? joined.length - last.length : alsoLine(entry).length + 1
    if (cost > left) continue
    left -= cost
    told.add(words)
    if (!fits && last !== "") lines.push(alsoLine(last))
    last = fits ? joined : entry
  }
  if (last !== "") lines.push(alsoLine(last))
  return [lines, told]
}

const alsoLine = (words: string): string => `- also: ${code(words, 2 * ALSO_LINE)}`

const often = (times = 1): string => (times > 1 ? ` ×${times}` : "")

/** `Exit code 2` takes more room in Claude Code's words than in ours. */
const ended = (exit: string | undefined): string =>
  exit === undefined ? "" : ` (${exit.replace("Exit code", "exit")})`

/** What only shortens or joins the output says nothing of the command. */
const TRIMMED = /(?: 2>&1| 2>\/dev\/null| \| (?:head|tail)(?: -n?\s?\d+)?)+$/

const shown = ({ text, form = text }: Fact): string =>
  withoutSentences(form.length > FORM_SHOWN ? text : form).replace(TRIMMED, "")

/*
 * The beginnings of commands and how often they were used: many fit on one line, where one command of each in full
 * would take ten. Pure.
 */

/** Characters that an entry takes besides its words. */
const AROUND = 5
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

interface VocabularyEntry {
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
    (worth * interest(words)) / Math.sqrt(words.length + AROUND)
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

/* Which commands to show, and in which order: each is chosen for what it adds to those before it. Pure. */

/** Characters in a line besides the command. */
const LINE_FRAME = 5
/** What it is worth to show a program with its first word, relative to one of its commands. */
const STEM_WORTH = 0.5

/** Commands that anyone types to look at files and move them: how a project is built and tested is worth more. */
const COMMON =
  /^(?:cat|ls|sed -n|head|tail|wc|grep|rg|find|awk|cut|sort|uniq|tr|jq|stat|file|tree|diff|mkdir|rm|cp|mv|ln|touch|chmod|which|pwd|date|env|printenv)\b/
const COMMON_WORTH = 0.4
const MOST_ALIKE = 5

/** @returns how much showing a command is worth; 1 for one that is not common */
const interest = (command: string): number => (COMMON.test(command) ? COMMON_WORTH : 1)

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
function* diverse(commands: readonly Fact[], shownOf: (fact: Fact) => string): Generator<Fact> {
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
  const one = { fact, shown, stems, cost: Math.sqrt(shown.length + LINE_FRAME), gain, isTold: false }
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

/* How paths are shown. Pure. */

/** Shows paths inside the session's folder relative to it. */
export function belowFolder(cwd: string | undefined): (path: string) => string {
  const below = cwd === undefined ? undefined : `${withSlashes(cwd).replace(/\/$/, "")}/`
  return (path) => (below !== undefined && path.startsWith(below) ? path.slice(below.length) : path)
}

/** Folder and name identify a path, since summaries write it relative to many places. */
export const lastTwo = (path: string): string => path.split("/").slice(-2).join("/")
