/** Adds what the model is likely to need again and the host's summary lacks: errors, names, paths, commands. Pure. */
import { isDemand } from "../agents/errors-met.ts"
import { withoutNamedSentences } from "../transcript/sentence-names.ts"
import { commandLines, ended } from "./command-lines.ts"
import type { Fact, Facts } from "./material.ts"
import { pack } from "./pack-names.ts"
import type { Page } from "./page.ts"
import { quoteInert } from "./quote.ts"
import type { Held } from "./whole-words.ts"

/**
 * Shares of the room, in the order in which the lists are written; what one does not use goes to the following. They
 * were chosen on cuts at arbitrary points of sessions, not at compactions (docs/measurements/restore.md).
 */
const SHARES = { errors: 0.18, paths: 0.25, commands: 0.29, names: 0.28 } as const

const COMMANDS = "Commands run"
const ERROR_SHOWN = 200
/**
 * At most this many error lines about how to use the host's own tools: they recur, but are not the project's errors, so
 * they come last.
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
  packed("Paths", withoutTails(textsOf(wanted(facts.paths, page, held.path, pathRoom))), pathRoom)
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
