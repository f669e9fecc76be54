/** What happened in a long turn, a line for each thing that was said or failed. Pure. */
import { count, lengthOf } from "../util/text.ts"
import { plain, strange } from "./quoting.ts"
import type { ToldLine } from "./told-turn.ts"

/** UTF-16 units of what was said. */
const SAID = 90
/** How many of the first lines are kept when there are too many. */
const FIRST = 2

const PROMPT = /^prompt/
const FAILURE = /^(?:result of .* \(error|error output|API error)/

/** @param room UTF-16 units for all lines */
export function outlineOf(lines: readonly ToldLine[], room: number): string[] {
  const entries: { text: string; calls: number; line: number }[] = []
  for (const [n, { text, title, isAnswer }] of lines.entries()) {
    // A part begins with the line that says what it is.
    if (text !== title || text.startsWith(">")) continue
    const words = lines[n + 1]?.text.replace(/^> ?/, "") ?? ""
    if (isAnswer) entries.push({ text: JSON.stringify(plain(words, SAID)), calls: 0, line: n + 1 })
    else if (PROMPT.test(title) && entries.length > 0)
      entries.push({ text: `asked ${JSON.stringify(plain(words, SAID))}`, calls: 0, line: n + 1 })
    else if (FAILURE.test(title))
      entries.push({ text: `${title} ${JSON.stringify(strange(words, SAID))}`, calls: 0, line: n + 1 })
    else if (title.startsWith("result of ")) {
      const last = entries.at(-1)
      if (last === undefined) entries.push({ text: "began", calls: 1, line: n + 1 })
      else last.calls++
    }
  }
  return fitting(
    entries.map(
      ({ text, calls, line }) => `@${line} ${text}${calls > 0 ? `, then ${count(calls, "call")}` : ""}`,
    ),
    room,
  )
}

/** The first ones and as many of the last as there is room for. */
function fitting(lines: readonly string[], room: number): string[] {
  if (lengthOf(lines) <= room) return [...lines]
  const first = lines.slice(0, FIRST)
  let left = room - lengthOf(first) - 20
  let from = lines.length
  while (from > FIRST && left >= lines[from - 1]!.length + 1) left -= lines[--from]!.length + 1
  return [...first, `… ${from - FIRST} more`, ...lines.slice(from)]
}
