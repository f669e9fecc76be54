/** `ctxbridge show`: a whole turn from the vault, or the turns of a session. */

import { CtxError, codeOf, EXIT, messageOf } from "../../base/errors.ts"
import { type ListPage, pageOf, shortLines } from "../../base/pages.ts"
import { count, oneLine, shellWord } from "../../base/text.ts"
import { type FarEntry, farHandle, farId, openFar } from "../../find/elsewhere.ts"
import { startRenewing } from "../../job/spawn.ts"
import { worthOf } from "../../restore/learning/follow-uses.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { findObservation, isObservationName } from "../../views/observation-named.ts"
import { openCurrent } from "../../views/open-current.ts"
import type { Session } from "../../views/queries/sessions.ts"
import type { Observation } from "../../views/queries/summaries.ts"
import { turnId } from "../../views/queries/turns.ts"
import { openSession } from "../../views/session-list.ts"
import { sessionSummary } from "../../views/session-summary.ts"
import { readTurn, type Turn } from "../../views/turn.ts"
import { positive } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { targetsMeant } from "../far-targets.ts"
import { renderSessionHead, renderTurns } from "../render-session.ts"
import { renderObservation, renderSummary } from "../render-summary.ts"
import { renderTurn } from "../render-turn.ts"
import { period, type Screen, screenOf } from "../screen.ts"
import { pathShower } from "../shown-path.ts"
import { dotted, safe } from "../style.ts"

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
      description:
        "A turn's handle (ctx:ab12cd, far:…), an observation's (obs:…) or a session's id; at least four letters of either",
    },
    backend: option("Sync target of a far: handle, if not the configured one", "DIR|URL"),
    page: option("Which page of a long turn or session", "N"),
    full: flag("All of it: every page, and long results whole (--json: always, unless --page is given)"),
    plain: flag("At a terminal, too, as it was said: no Markdown, no diffs, nothing folded"),
  },
  async run(context) {
    const { args, env } = context
    const word = String(args["what"])
    const id = farId(word)
    if (id !== undefined) return showFar(context, id)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    if (isObservationName(word)) return showObservation(context, findObservation(db, word))
    const found = findByName(db, word)
    if (found.kind === "session") return showSession(context, db, found.session)
    try {
      return showTurn(context, db, found.turn)
    } catch (error) {
      if (!["vault-missing", "vault-damaged"].includes(codeOf(error))) throw error
      return showKept(context, found.turn, error)
    }
  },
} satisfies Command

/** The requested page, and how much fits on a page. A terminal has the pager's, whoever asks for none of ours. */
function paging({ args, out }: Context, room: number): { number: number; room: number } {
  const page = positive(args, "page")
  const whole = args["full"] === true || ((out.wantsJson || out.terminal) && page === undefined)
  return { number: page ?? 1, room: whole ? Number.POSITIVE_INFINITY : room }
}

function showTurn(context: Context, db: Database, short: Turn): void {
  const { args, env, out } = context
  const { number, room } = paging(context, PAGE_CHARACTERS)
  using readers = new CopyReaders()
  const turn = readTurn(db, env.dataHome, short, readers)
  const worth = worthOf(db, turnId(db, turn.handle), Date.now())
  if (out.wantsJson) {
    const page = pageOf(turn.messages, number, room, (message) => JSON.stringify(message).length)
    out.json({ ...turn, worth, messages: page.items, page: pageNote(page, turn.handle) })
    return
  }
  const look = {
    screen: screenOf(out),
    color: out.color,
    links: out.links,
    showPath: pathShower(context),
    isLaidOut: out.terminal && args["plain"] !== true,
    isFolded: args["full"] !== true,
  }
  const lines = renderTurn(turn, worth, look).flatMap((line) => shortLines(line, LONGEST_LINE))
  const page = pageOf(lines, number, room, (line) => line.length + 1)
  out.print(page.items)
  footer(context, page, turn.handle)
}

/** What the views keep of a turn that the vault can no longer give back in full. */
function showKept({ out }: Context, turn: Turn, error: unknown): number {
  const { style, now } = screenOf(out)
  out.json({
    ...turn,
    tools: [],
    files: [],
    usage: [],
    messages: [],
    error: { code: codeOf(error), message: messageOf(error) },
  })
  out.print([
    `${style.bold(turn.handle)}  turn ${turn.seq} of session ${safe(turn.session)}`,
    dotted(period(turn.started, turn.ended, now), turn.via, count(turn.tools, "tool call")),
    style.red(safe(`Only this is left in the database: ${messageOf(error)} (ctxbridge verify)`)),
    "",
    ...safe(turn.prompt).split("\n"),
    ...(turn.answer === "" ? [] : ["", "assistant:", ...safe(turn.answer).split("\n")]),
  ])
  return EXIT.failed
}

async function showFar(context: Context, id: string): Promise<void> {
  const { env, out } = context
  const { number, room } = paging(context, PAGE_CHARACTERS)
  const found = await openFar(targetsMeant(context), id, { place: env })
  if (found === undefined) {
    throw new CtxError("not-found", `no turn ${farHandle(id)} there`, {
      hint: "it may have been forgotten, or has grown: search again",
      exit: EXIT.notFound,
    })
  }
  const { entry, target } = found
  const handle = farHandle(entry.id)
  if (out.wantsJson) return out.json({ handle, target, ...entry })
  const lines = renderEntry(entry, target, screenOf(out)).flatMap((line) => shortLines(line, LONGEST_LINE))
  const page = pageOf(lines, number, room, (line) => line.length + 1)
  out.print(page.items)
  footer(context, page, handle)
}

function showObservation({ out }: Context, found: Observation): void {
  out.json(found)
  out.print(renderObservation(found, screenOf(out)))
}

function showSession(context: Context, db: Database, found: Session): void {
  const { out } = context
  const { number, room } = paging(context, PAGE_TURNS)
  const { session, lineage, shared, turns } = openSession(db, found)
  const page = pageOf(out.wantsJson ? turns : [...shared, ...turns], number, room, () => 1)
  const summary = sessionSummary(db, session.id)
  if (out.wantsJson) {
    out.json({ session, lineage, summary, shared, turns: page.items, page: pageNote(page, session.id) })
    return
  }
  const screen = screenOf(out)
  if (page.number === 1) {
    const head = renderSessionHead(session, lineage, screen, pathShower(context))
    out.print([...head, ...renderSummary(summary, screen), ""])
  }
  out.print(renderTurns(page.items, session.id, screen))
  footer(context, page, session.id)
}

const nextCommand = ({ number, of }: ListPage<unknown>, name: string): string | null =>
  number < of ? `ctxbridge show ${shellWord(name)} --page ${number + 1}` : null

const pageNote = (page: ListPage<unknown>, name: string) => ({
  number: page.number,
  of: page.of,
  next: nextCommand(page, name),
})

function footer({ out }: Context, page: ListPage<unknown>, name: string): void {
  if (page.of === 1) return
  const next = nextCommand(page, name)
  out.print("")
  out.print(`page ${page.number} of ${page.of}${next === null ? "" : `, next: ${safe(next)}`}`)
}

function renderEntry({ id, content, metadata }: FarEntry, target: string, { style, now }: Screen): string[] {
  const { sessionId, chunkIndex, timestamp, ended, machine, project, toolNames, filePaths, takenBack } =
    metadata
  return [
    `${style.bold(farHandle(id))}  turn ${chunkIndex} of session ${safe(sessionId)}`,
    safe(`from ${machine ?? "another archive"}, ${project ?? "no project"}, at ${target}`),
    dotted(period(timestamp, ended, now), safe(toolNames.join(", ")), takenBack && "rewound"),
    ...filePaths.map((path) => safe(oneLine(path))),
    "",
    ...safe(content).trimEnd().split("\n"),
  ]
}
