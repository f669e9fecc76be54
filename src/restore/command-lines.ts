/** Renders commands for a restore: some at length, and the beginnings of all others. Pure. */
import { withoutSentences } from "../transcript/sentence-names.ts"
import { lengthOf } from "../util/text.ts"
import { isBare, vocabulary } from "./command-vocabulary.ts"
import { diverse } from "./diverse-commands.ts"
import type { Fact } from "./material.ts"
import { code } from "./quote.ts"
import type { Held } from "./whole-words.ts"

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

/** `Exit code 2` takes more room in the host's words than in ours. */
export const ended = (exit: string | undefined): string =>
  exit === undefined ? "" : ` (${exit.replace("Exit code", "exit")})`

/** What only shortens or joins the output says nothing of the command. */
const TRIMMED = /(?: 2>&1| 2>\/dev\/null| \| (?:head|tail)(?: -n?\s?\d+)?)+$/

const shown = ({ text, form = text }: Fact): string =>
  withoutSentences(form.length > FORM_SHOWN ? text : form).replace(TRIMMED, "")
