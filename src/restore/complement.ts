/** What the model is likely to need again and the host's summary lacks: errors, names, paths, commands. Pure. */
import { diverse } from "./commands.ts"
import type { Held } from "./context.ts"
import type { Fact, Facts } from "./material.ts"
import { pack } from "./pack.ts"
import type { Page } from "./page.ts"
import { code, told } from "./quote.ts"
import { isBare, vocabulary } from "./vocabulary.ts"

/**
 * Shares of the room, in the order in which the lists are written; what one does not need goes to those behind it.
 * They were chosen on cuts at arbitrary places of sessions, not on compactions (docs/adr/0012).
 */
const SHARES = { errors: 0.22, paths: 0.25, names: 0.22, commands: 0.31 } as const

const COMMANDS = "Commands run"
/** Of the room for commands, what is kept for how they begin. */
const ALSO_SHARE = 0.3
/** Characters of such a line. */
const ALSO_LINE = 110
/** Commands too long for what is left, after which no more are tried. */
const MOST_REFUSED = 12
const ERROR_SHOWN = 200
const COMMAND_SHOWN = 160
/** A longer line is told without what stands behind its command. */
const FORM_SHOWN = 120
/** Characters of a section's title line. */
const TITLED = "\n## ".length
/** Facts of a kind that are asked of the summary: no budget has room for more. */
const MOST = 200

/**
 * @param room characters that all lists together may take
 * @param held whether the new context holds it already
 * @param heldPath the same of a path
 */
export function complement(page: Page, facts: Facts, room: number, held: Held, heldPath: Held): void {
  const end = page.left - Math.min(room, page.left)
  let shares = 1
  const share = (part: number): number => {
    const mine = Math.max(0, page.left - end) * (part / shares)
    shares -= part
    return Math.floor(mine)
  }
  const packed = (title: string, list: readonly Fact[], heldThere: Held, most: number): void => {
    const words = wanted(list, page, heldThere, most).map(({ text }) => text)
    page.section(title, pack(words, most - title.length - TITLED), most)
  }
  page.section("Errors met", errorLines(facts.errors, page, held), share(SHARES.errors))
  packed("Paths", facts.paths, heldPath, share(SHARES.paths))
  packed("Names", facts.names, held, share(SHARES.names))
  const last = share(SHARES.commands)
  const commands = wanted(facts.commands, page, held, Number.POSITIVE_INFINITY)
  page.section(COMMANDS, commandLines(commands, last - COMMANDS.length - TITLED, held), last)
}

/** Of those for which there is room, and as much again for what does not fit. */
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

/** Lines that differ in numbers only are one error. */
function* errorLines(errors: readonly Fact[], page: Page, held: Held): Generator<string> {
  const kinds = new Set<string>()
  for (const { text, exit } of errors.slice(0, MOST)) {
    const kind = text.replace(/\d+/g, "0")
    const quoted = told(text, ERROR_SHOWN)
    if (kinds.has(kind) || held(text) || page.holds(quoted.slice(1, -1))) continue
    kinds.add(kind)
    yield `- ${quoted}${ended(exit)}`
  }
}

/** Some at length, and how all others begin. */
function commandLines(commands: readonly Fact[], room: number, held: Held): string[] {
  const lines: string[] = []
  const chosen = diverse(
    commands.filter((fact) => !isBare(shown(fact))),
    shown,
  )
  let left = room
  const atLength = (most: number): void => {
    let refused = 0
    while (refused <= MOST_REFUSED) {
      const { value: fact } = chosen.next()
      if (fact === undefined) return
      const line = `- ${code(shown(fact), COMMAND_SHOWN)}${often(fact.times)}${ended(fact.exit)}`
      if (left - line.length - 1 < room - most) {
        refused++
        continue
      }
      lines.push(line)
      left -= line.length + 1
    }
  }
  atLength(room * (1 - ALSO_SHARE))
  const known = lines.join("\n")
  const also = alsoLines(commands, left, (words) => known.includes(words) || held(words))
  left -= also.reduce((sum, line) => sum + line.length + 1, 0)
  atLength(room)
  return [...lines, ...also]
}

/** How commands begin, with their number, on as few lines as they need. */
function alsoLines(commands: readonly Fact[], room: number, isKnown: (words: string) => boolean): string[] {
  const lines: string[] = []
  const line = (words: string): string => `- also: ${code(words, 2 * ALSO_LINE)}`
  let last = ""
  let left = room
  for (const { words, times } of vocabulary(commands, shown)) {
    if (isKnown(words)) continue
    const entry = `${words}${often(times)}`
    const joined = last === "" ? entry : `${last}, ${entry}`
    const fits = joined.length <= ALSO_LINE
    const cost = fits && last !== "" ? joined.length - last.length : line(entry).length + 1
    if (cost > left) continue
    left -= cost
    if (!fits && last !== "") lines.push(line(last))
    last = fits ? joined : entry
  }
  if (last !== "") lines.push(line(last))
  return lines
}

const often = (times = 1): string => (times > 1 ? ` ×${times}` : "")

const ended = (exit: string | undefined): string => (exit === undefined ? "" : ` (${exit})`)

const shown = ({ text, form = text }: Fact): string => (form.length > FORM_SHOWN ? text : form)
