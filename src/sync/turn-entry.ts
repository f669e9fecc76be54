/** Makes an entry of a turn: what was said and done in it as text, without secrets. Pure. */
import { type Entry, type EntryVector, entryOf } from "../backends/entry.ts"
import { callsIn, partText } from "../export/part-text.ts"
import type { WholeTurn } from "../read/turn.ts"
import { cut, oneLine } from "../util/text.ts"

/** UTF-16 units of a summary, of one message's part, and of a turn. What is longer is whole in the vault. */
const SUMMARY = 300
const LONGEST_PART = 100_000
const LONGEST = 1_000_000
/** Files that the summary names. */
const MOST_FILES = 5

interface EntryContext {
  /** Path of the session's project. */
  readonly project: string | null
  /** Name of this computer. */
  readonly machine: string
  /** What the model answered, as the views keep it. */
  readonly answer: string
  readonly vector: EntryVector | undefined
  /** Fills secrets in a text. */
  readonly filter: (text: string) => string
}

export function entryOfTurn(turn: WholeTurn, context: EntryContext): Entry {
  const { project, machine, vector, filter } = context
  const toolNames = [...new Set(turn.tools.map(({ name }) => name).filter((name) => name !== ""))]
  const filePaths = [...new Set(turn.files.map(({ path }) => filter(path)))]
  return entryOf({
    summary: summaryOf(turn, toolNames, filePaths, context),
    content: cut(contentOf(turn, filter), LONGEST),
    metadata: {
      sessionId: turn.session,
      chunkIndex: turn.seq,
      timestamp: turn.started,
      ended: turn.ended,
      project,
      machine,
      toolNames,
      filePaths,
      messages: turn.messages.length,
      takenBack: turn.takenBack === true,
      ...(turn.usage.length === 0 ? {} : { usage: turn.usage }),
    },
    ...(vector === undefined ? {} : { vector }),
  })
}

/** The prompt, the tools, the files and how the model answered, as the design documents put it. */
function summaryOf(
  turn: WholeTurn,
  tools: readonly string[],
  files: readonly string[],
  { answer, filter }: EntryContext,
): string {
  const names = files.slice(0, MOST_FILES).map((path) => path.split("/").slice(-2).join("/"))
  const parts = [
    cut(oneLine(filter(cut(turn.prompt, LONGEST_PART))), 120),
    tools.length === 0 ? "" : `Tools: ${tools.join(", ")}`,
    names.length === 0 ? "" : `Files: ${names.join(", ")}`,
    oneLine(filter(answer)),
  ]
  return cut(parts.filter((part) => part !== "").join(" | "), SUMMARY)
}

function contentOf(turn: WholeTurn, filter: EntryContext["filter"]): string {
  const callOf = callsIn(turn.tools)
  return turn.messages
    .flatMap(({ parts }) => parts.map((part) => partText(part, callOf)))
    .flatMap((shown) =>
      shown === undefined ? [] : [`${shown.title}\n${filter(cut(shown.text, LONGEST_PART))}`],
    )
    .join("\n\n")
}
