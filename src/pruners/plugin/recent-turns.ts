/**
 * The latest turns word for word, for a context that no model has summed up. What tools returned is left out: each turn
 * has its handle. Pure.
 */
import type { TurnMessage, WholeTurn } from "../../read/turn.ts"
import { blockQuote } from "../../restore/quote.ts"
import { cut } from "../../util/text.ts"
import { callText } from "./turn-in-progress.ts"

/** Characters of a prompt, of what the model said at the end of a turn, and on the way. */
const PROMPT = 3000
const ANSWER = 3000
const STEP = 500
/** How many calls of a turn are told. */
const CALLS = 12

type Line = { readonly kind: "said" | "call"; readonly text: string }

/**
 * @param turns newest first
 * @param most characters
 * @returns `""` if there is no room for any
 */
export function recentTurns(turns: Iterable<WholeTurn>, most: number): string {
  const told: string[] = []
  let left = most
  for (const turn of turns) {
    const text = turnText(turn)
    if (text.length + 1 > left) {
      // The newest one counts most: part of it rather than none.
      if (told.length === 0 && left > PROMPT / 2) told.push(cut(text, left - 1, "\n… (cut)"))
      break
    }
    told.push(text)
    left -= text.length + 1
  }
  return told.toReversed().join("\n")
}

function turnText(turn: WholeTurn): string {
  const lines = linesOf(turn.messages)
  const last = lines.findLastIndex(({ kind }) => kind === "said")
  const calls = lines.filter(({ kind }) => kind === "call")
  const dropped = new Set(calls.slice(0, Math.max(0, calls.length - CALLS)))
  const body = lines
    .filter((line) => !dropped.has(line))
    .map((line) => {
      if (line.kind === "call") return line.text
      return blockQuote(cut(line.text.trim(), lines[last] === line ? ANSWER : STEP))
    })
  const more = dropped.size === 0 ? [] : [`- ${dropped.size} earlier tool calls`]
  return [
    `### ${turn.handle}`,
    "User:",
    blockQuote(cut(turn.prompt.trim(), PROMPT)),
    "Claude:",
    ...more,
    ...body,
  ].join("\n")
}

function linesOf(messages: readonly TurnMessage[]): Line[] {
  const failed = new Set<string>()
  for (const { parts } of messages)
    for (const part of parts) if (part.kind === "toolResult" && part.isError) failed.add(part.id)
  return messages
    .filter(({ sidechain }) => !sidechain)
    .flatMap(({ parts }) =>
      parts.flatMap((part): Line[] => {
        if (part.kind === "text") return [{ kind: "said", text: part.text }]
        if (part.kind !== "toolUse") return []
        const outcome = failed.has(part.id) ? " (failed)" : ""
        return [
          {
            kind: "call",
            text: `- ${callText(part.name, part.input)}${outcome}`,
          },
        ]
      }),
    )
}
