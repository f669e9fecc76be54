/** `get`: a whole turn from the vault, in pages. */
import { openForReading } from "../archive/open-for-reading.ts"
import { type CallOf, callsIn, partText } from "../export/part-text.ts"
import { readTurn, type ToldPart, type TurnMessage, type WholeTurn } from "../read/turn.ts"
import { blockQuote, name } from "../restore/quote.ts"
import { usageError } from "../util/errors.ts"
import { pageOf, shortLines } from "../util/pages.ts"
import { CopyReaders } from "../vault/reader.ts"
import { DATA, minute, nameOr } from "./quoting.ts"
import type { ServerTool } from "./tool.ts"
import { turnOrSession } from "./what-is-meant.ts"

/** UTF-16 units per page, about 3,000 tokens. Hosts refuse results of more than 25,000 tokens. */
const PAGE = 12_000
/** A line of tool output may be a whole file. */
const LONGEST_LINE = 2000

export const getTool: ServerTool = {
  name: "get",
  title: "Open a turn",
  description:
    "A whole turn as it was: prompt, thinking, tool calls, their results, answer. Long ones come in pages.",
  properties: {
    handle: { type: "string", description: "ctx:ab12cd, as search and timeline give it" },
    page: { type: "integer", description: "Which page (1)", minimum: 1, maximum: 100_000 },
  },
  required: ["handle"],
  readOnly: true,
  run(args, world) {
    const word = args.text("handle") ?? ""
    using db = openForReading(world.dataHome)
    using readers = new CopyReaders()
    const found = turnOrSession(db, word)
    if (found.kind === "session") {
      throw usageError("that is a session, not a turn", "timeline lists a session's turns")
    }
    const turn = readTurn(db, world.dataHome, found.turn, readers)
    const page = pageOf(linesOf(turn), args.number("page") ?? 1, PAGE, ({ text }) => text.length + 1)
    const next = page.number < page.of ? page.number + 1 : null
    const place = page.of === 1 ? "" : ` Page ${page.number} of ${page.of}.`
    const text = [
      `${turn.handle}, turn ${turn.seq} of session ${name(turn.session, 80)}, ${minute(turn.started)}.${turn.takenBack ? " The user took it back." : ""}${place} ${DATA}`,
      ...goingOn(page.items[0]),
      ...page.items.map((line) => line.text),
      ...(next === null ? [] : ["", `Next: get ${turn.handle} page ${next}.`]),
    ].join("\n")
    return { text }
  },
}

interface Line {
  readonly text: string
  /** The line above the quotation to which this one belongs. */
  readonly title: string
}

/** Says on a page that begins within a quotation whose words these are. */
const goingOn = (first: Line | undefined): string[] =>
  first?.text.startsWith(">") ? [`${first.title} (continued)`] : []

/** The lines of a turn; all quoted text follows `> `. */
function linesOf(turn: WholeTurn): Line[] {
  const calls = callsIn(turn.tools)
  const callOf: CallOf = (id) => ({ ...calls(id), name: nameOr(calls(id).name, "a tool") })
  return turn.messages.flatMap((message) =>
    message.parts.flatMap((part) => {
      const shown = partText(namedSafely(part), callOf)
      if (shown === undefined) return []
      const words = shown.text.trimEnd()
      const quoted = words === "" ? [] : blockQuote(words).split("\n")
      const title = titleOf(shown.title, part, message)
      return ["", title, ...quoted.flatMap(folded)].map((text) => ({ text, title }))
    }),
  )
}

const folded = (line: string): string[] =>
  shortLines(line, LONGEST_LINE).map((piece, n) => (n === 0 ? piece : `> ${piece}`))

/** Replaces suspicious names, since names are printed outside the quotation. */
function namedSafely(part: ToldPart): ToldPart {
  if (part.kind === "toolUse") return { ...part, name: nameOr(part.name, "a tool") }
  if (part.kind === "boundary") return { ...part, trigger: nameOr(part.trigger, "unknown") }
  return part.kind === "context" ? { ...part, source: nameOr(part.source, "the host") } : part
}

function titleOf(title: string, part: ToldPart, { sidechain }: TurnMessage): string {
  const whose = part.origin === "import" ? " (imported)" : sidechain ? " (subagent)" : ""
  return `${title}${whose}:`
}
