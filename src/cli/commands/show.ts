/** `ctxbridge show`: a whole turn from the vault, or the turns of a session. */
import type { Database } from "../../archive/database.ts"
import type { Session } from "../../archive/queries/sessions.ts"
import { turnId } from "../../archive/queries/turns.ts"
import { callsIn, partText } from "../../export/part-text.ts"
import { openToRead } from "../../job/open-to-read.ts"
import { type Worth, worthOf } from "../../learn/aged-turns.ts"
import { findByName } from "../../read/by-name.ts"
import { openSession } from "../../read/session-list.ts"
import { readTurn, type ToldPart, type Turn, type TurnMessage, type WholeTurn } from "../../read/turn.ts"
import { openFar } from "../../search/far-finder.ts"
import { farHandle, farId } from "../../search/far-handle.ts"
import type { FarEntry } from "../../search/far-hit.ts"
import type { Part } from "../../transcript/types.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import { type ListPage, pageOf, shortLines } from "../../util/pages.ts"
import { count, oneLine } from "../../util/text.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { positive } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { targetsMeant } from "../far-search.ts"
import { renderSessionHead, renderTurns } from "../render-session.ts"
import { screenOf } from "../screen.ts"
import { createStyle, dotted, type Style, safe } from "../style.ts"
import { clock } from "../when.ts"

/** Characters of a turn per page. */
const PAGE_CHARACTERS = 20_000
/** Turns of a session per page. */
const PAGE_TURNS = 50
/** Maximum characters: a line of tool output may be a whole file. */
const LONGEST_LINE = 2000

export default {
  meta: { name: "show", description: "Show a whole turn, or the turns of a session" },
  args: {
    what: {
      type: "positional",
      required: true,
      names: "turn",
      description: "A turn's handle (ctx:ab12cd, far:…) or a session's id; at least four letters of either",
    },
    backend: option(
      "Where a handle that begins with far: is from, if not where sync sends turns to",
      "DIR|URL",
    ),
    page: option("Which page of a long turn or session", "N"),
    full: flag("All pages at once (--json: always, unless --page is given)"),
  },
  async run(context) {
    const { args, env } = context
    const word = String(args["what"])
    const id = farId(word)
    if (id !== undefined) return showFar(context, id)
    using db = openToRead(env.dataHome)
    const found = findByName(db, word)
    if (found.kind === "turn") showTurn(context, db, found.turn)
    else showSession(context, db, found.session)
  },
} satisfies Command

/** The requested page, and how much fits on a page. */
function paging({ args, out }: Context, room: number): { number: number; room: number } {
  const page = positive(args, "page")
  const whole = args["full"] === true || (out.wantsJson && page === undefined)
  return { number: page ?? 1, room: whole ? Number.POSITIVE_INFINITY : room }
}

function showTurn(context: Context, db: Database, short: Turn): void {
  const { env, out } = context
  const { number, room } = paging(context, PAGE_CHARACTERS)
  using readers = new CopyReaders()
  const turn = readTurn(db, env.dataHome, short, readers)
  const worth = worthOf(db, turnId(db, turn.handle), Date.now())
  if (out.wantsJson) {
    const page = pageOf(turn.messages, number, room, (message) => JSON.stringify(message).length)
    out.json({ ...turn, worth, messages: page.items, page: pageNote(page, turn.handle) })
    return
  }
  const lines = renderTurn(turn, worth, createStyle(out.color)).flatMap((line) =>
    shortLines(line, LONGEST_LINE),
  )
  const page = pageOf(lines, number, room, (line) => line.length + 1)
  out.print(page.items)
  footer(context, page, turn.handle)
}

async function showFar(context: Context, id: string): Promise<void> {
  const { env, out } = context
  const { number, room } = paging(context, PAGE_CHARACTERS)
  const found = await openFar(targetsMeant(context), id, { place: env })
  if (found === undefined) {
    throw new CtxError("not-found", `no turn ${farHandle(id)} there`, {
      hint: "it may be forgotten, or longer by now: search again",
      exit: EXIT.notFound,
    })
  }
  const { entry, target } = found
  const handle = farHandle(entry.id)
  if (out.wantsJson) return out.json({ handle, target, ...entry })
  const lines = renderEntry(entry, target, createStyle(out.color)).flatMap((line) =>
    shortLines(line, LONGEST_LINE),
  )
  const page = pageOf(lines, number, room, (line) => line.length + 1)
  out.print(page.items)
  footer(context, page, handle)
}

function showSession(context: Context, db: Database, found: Session): void {
  const { out } = context
  const { number, room } = paging(context, PAGE_TURNS)
  const { session, lineage, turns } = openSession(db, found)
  const page = pageOf(turns, number, room, () => 1)
  if (out.wantsJson) {
    out.json({ session, lineage, turns: page.items, page: pageNote(page, session.id) })
    return
  }
  const screen = screenOf(out)
  if (page.number === 1) out.print([...renderSessionHead(session, lineage, screen), ""])
  out.print(renderTurns(page.items, screen))
  footer(context, page, session.id)
}

const nextCommand = ({ number, of }: ListPage<unknown>, name: string): string | null =>
  number < of ? `ctxbridge show ${name} --page ${number + 1}` : null

const pageNote = (page: ListPage<unknown>, name: string) => ({
  number: page.number,
  of: page.of,
  next: nextCommand(page, name),
})

function footer({ out }: Context, page: ListPage<unknown>, name: string): void {
  if (page.of === 1) return
  const next = nextCommand(page, name)
  out.print("")
  out.print(`page ${page.number} of ${page.of}${next === null ? "" : `, next: ${next}`}`)
}

/** All lines of the turn, without paging or cuts. */
function renderTurn(turn: WholeTurn, worth: Worth, style: Style): string[] {
  const callOf = callsIn(turn.tools)
  const lines = head(turn, worth, style)
  for (const message of turn.messages) {
    for (const part of message.parts) {
      const shown = partText(part, callOf)
      if (shown === undefined) continue
      lines.push("", rule(shown.title, part, message, style), ...body(shown.text, part, style))
    }
  }
  return lines
}

function head(turn: WholeTurn, worth: Worth, style: Style): string[] {
  const figures = dotted(
    `${clock(turn.started)} to ${clock(turn.ended)}`,
    turn.via,
    count(turn.tools.length, "tool call"),
    turn.errors > 0 && count(turn.errors, "error"),
    turn.interrupted && "interrupted",
    turn.takenBack && "taken back",
    worth.uses > 0 && `used ${count(worth.uses, "time")}`,
    worth.cold && "out of the index",
  )
  return [
    `${style.bold(turn.handle)}  turn ${turn.seq} of session ${safe(turn.session)}`,
    figures,
    ...turn.usage.map(
      ({ model, input, output, cacheCreation, cacheRead }) =>
        `${safe(model)}: tokens ${input} input, ${cacheCreation} written to cache, ${cacheRead} read from cache, ${output} output`,
    ),
    ...turn.files.map(
      ({ path, op, count: times }) =>
        `${op.padEnd(7)} ${safe(oneLine(path))}${times > 1 ? ` (${times} times)` : ""}`,
    ),
  ]
}

function rule(title: string, part: ToldPart, message: TurnMessage, style: Style): string {
  const whose = part.origin === "import" ? " (imported)" : message.sidechain ? " (subagent)" : ""
  const line = `── ${safe(oneLine(title))}${whose} ──`
  const failed = (part.kind === "toolResult" && part.isError) || part.kind === "apiError"
  if (failed) return style.red(line)
  return part.kind === "prompt" ? style.bold(line) : style.dim(line)
}

function renderEntry({ id, content, metadata }: FarEntry, target: string, style: Style): string[] {
  const { sessionId, chunkIndex, timestamp, ended, machine, project, toolNames, filePaths, takenBack } =
    metadata
  return [
    `${style.bold(farHandle(id))}  turn ${chunkIndex} of session ${safe(sessionId)}`,
    safe(`from ${machine ?? "another archive"}, ${project ?? "no project"}, at ${target}`),
    dotted(`${clock(timestamp)} to ${clock(ended)}`, safe(toolNames.join(", ")), takenBack && "taken back"),
    ...filePaths.map((path) => safe(oneLine(path))),
    "",
    ...safe(content).trimEnd().split("\n"),
  ]
}

const BESIDE = ["thinking", "context", "summary", "notice"]

function body(text: string, part: Part, style: Style): string[] {
  if (text === "") return []
  const lines = safe(text).trimEnd().split("\n")
  return BESIDE.includes(part.kind) ? lines.map(style.dim) : lines
}
