/** `ctxbridge show`: a whole turn from the vault, those around it, or the turns of a session. */
import { agentTitle, UNMARKED } from "../../agents/agents.ts"
import { toolFiles } from "../../agents/tool-kinds.ts"
import { CtxError, codeOf, EXIT, messageOf, usageError } from "../../base/errors.ts"
import { type ListPage, pageOf, shortLines } from "../../base/pages.ts"
import { count, oneLine, shellWord } from "../../base/text.ts"
import { type FarEntry, farHandle, farId, openFar } from "../../find/elsewhere.ts"
import {
  type SessionSummary,
  sessionSummary,
  summaryParts,
  summarySource,
} from "../../find/session-summary.ts"
import { startRenewing } from "../../job/spawn.ts"
import type { Part } from "../../record/types.ts"
import { type Worth, worthOf } from "../../restore/worth/reopened.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { findByName, findObservation, isObservationName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { type DiffLine, editDiff } from "../../views/edit-diff.ts"
import { type LabelShown, labelWords, readLabels, withItsLabel } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { type CallOf, callsIn, errorLine, inputText, partText } from "../../views/part-text.ts"
import { findSessions, programOfSession, type Session } from "../../views/queries/sessions.ts"
import type { Observation } from "../../views/queries/summaries.ts"
import { type ChangedFiles, filesChangedSince, movedText } from "../../views/queries/touched-files.ts"
import { turnId } from "../../views/queries/turns.ts"
import { openSession } from "../../views/session-list.ts"
import { readTurn, type ToldPart, type Turn, type TurnMessage, type WholeTurn } from "../../views/turn.ts"
import { timelineOf } from "../../views/turn-timeline.ts"
import { positive } from "../args.ts"
import { block } from "../block.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { targetsMeant } from "../far-targets.ts"
import { renderSessionHead, renderTurns } from "../render-session.ts"
import { ago, markdownLines, period, type Screen, screenOf, wrapped, wrappedIn } from "../screen.ts"
import { pathShower, type ShowPath } from "../shown-path.ts"
import { dotted, fit, indented, type Style, safe } from "../style.ts"

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
    around: option("Of a turn: those before and after it, N on each side, a few lines each", "N"),
    backend: option("Sync target of a far: handle, if not the configured one", "DIR|URL"),
    page: option("Which page of a long turn or session", "N"),
    limit: option(`Of a session: at most this many turns on a page (${PAGE_TURNS})`, "N", "n"),
    full: flag("All of it: every page, and long results whole (--json: always, unless --page is given)"),
    plain: flag("At a terminal, too, as it was said: no Markdown, no diffs, nothing folded"),
  },
  rows: {
    list: "turns",
    columns: ["handle", "seq", "started", "tools", "errors", "prompt", "answer"],
    others: ["changed", "takenBack"],
  },
  async run(context) {
    const { args, env } = context
    const word = String(args["what"])
    const around = positive(args, "around")
    const id = farId(word)
    const isListed = around !== undefined || args["format"] !== undefined
    if ((isListed || args["limit"] !== undefined) && (id !== undefined || isObservationName(word)))
      throw usageError("--around, --limit and --format are for turns and sessions of this archive")
    if (id !== undefined) return showFar(context, id)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    if (isObservationName(word)) return showObservation(context, findObservation(db, word))
    const found = findByName(db, word)
    if (found.kind === "session" && around !== undefined) {
      throw usageError(
        `${word} is a session, not a turn`,
        `ctxbridge show ${shellWord(word)} lists its turns`,
      )
    }
    if (found.kind === "session") return showSession(context, db, found.session)
    if (args["limit"] !== undefined)
      throw usageError("--limit is for the turns of a session", "--around N shows those around a turn")
    if (around !== undefined) {
      return showAround(context, db, found.turn, around)
    }
    if (args["format"] !== undefined) {
      throw usageError("--format is for lists of turns", "a session, or --around N of a turn")
    }
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
  const id = turnId(db, turn.handle)
  const worth = worthOf(db, id, Date.now())
  const changedSince = filesChangedSince(db, [id]).get(id)
  const label = readLabels(env.dataHome).ofTurn(turn.handle, turn.session)
  if (out.wantsJson) {
    const page = pageOf(turn.messages, number, room, (message) => JSON.stringify(message).length)
    out.json({
      ...turn,
      worth,
      ...(changedSince && { changedSince }),
      ...(label && { label }),
      messages: page.items,
      page: pageNote(context, page, turn.handle),
    })
    return
  }
  const folder = findSessions(db, turn.session)[0]?.cwd ?? env.cwd
  const look = {
    screen: screenOf(out),
    color: out.color,
    links: out.links,
    showPath: pathShower(context, folder),
    ...(folder !== env.cwd && { folder: pathShower(context)(folder) }),
    isLaidOut: out.terminal && args["plain"] !== true,
    isFolded: args["full"] !== true,
    ...(changedSince && { changedSince }),
    ...(label && { label }),
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
  const { args, env, out } = context
  const { number, room } = paging(context, PAGE_TURNS)
  const size = positive(args, "limit")
  const opened = openSession(db, found)
  const labels = readLabels(env.dataHome)
  const session = withItsLabel(opened.session, labels)
  const [shared, turns] = [opened.shared, opened.turns].map((some) =>
    some.map((one) => withItsLabel(one, labels)),
  )
  const { lineage } = opened
  const page = pageOf(out.wantsJson ? turns! : [...shared!, ...turns!], number, size ?? room, () => 1)
  using readers = new CopyReaders()
  const summary = sessionSummary({ db, dataHome: env.dataHome, readers }, session.id)
  if (out.wantsJson) {
    out.json({
      session,
      lineage,
      summary,
      shared,
      turns: page.items,
      page: pageNote(context, page, session.id),
    })
    return
  }
  const screen = screenOf(out)
  if (page.number === 1) {
    const whole = renderSessionHead(session, lineage, turns!, screen, pathShower(context))
    const head = out.terminal ? whole.flatMap((line) => wrapped(line, screen.columns)) : whole
    out.print([...head, ...renderSummary(summary, screen), ""])
  }
  out.print(renderTurns(page.items, session.id, screen))
  footer(context, page, session.id)
}

/** @param around turns on each side, a few lines each */
function showAround(context: Context, db: Database, turn: Turn, around: number): void {
  const { out } = context
  const { handle, session } = turn
  const turns = timelineOf(db, turn, around)
  const program = programOfSession(db, session) ?? UNMARKED
  out.json({ handle, session, program, turns })
  if (out.wantsJson) return
  const { style, columns, now } = screenOf(out)
  const showPath = pathShower(context, findSessions(db, session)[0]?.cwd ?? context.env.cwd)
  if (program !== UNMARKED) out.print(style.dim(`A session of ${agentTitle(program)}`))
  for (const one of turns) {
    const figures = dotted(
      ago(one.started, now),
      one.others && "written by others",
      one.takenBack && "rewound",
      one.tools > 0 && count(one.tools, "tool call"),
      one.errors > 0 && count(one.errors, "error"),
      ...one.changed.map((path) => showPath(path)),
    )
    out.print(
      `${one.handle === handle ? ">" : " "} ${style.bold(one.handle)}  ${fit(oneLine(one.prompt), columns - one.handle.length - 4)}`,
    )
    out.print(style.dim(indented(figures, columns)))
    if (one.answer !== "") out.print(style.dim(indented(oneLine(one.answer), columns)))
  }
}

/** The next page, if there is one, of the same size. */
const nextCommand = ({ args }: Context, { number, of }: ListPage<unknown>, name: string): string | null => {
  const size = args["limit"] === undefined ? "" : ` -n ${args["limit"]}`
  return number < of ? `ctxbridge show ${shellWord(name)}${size} --page ${number + 1}` : null
}

const pageNote = (context: Context, page: ListPage<unknown>, name: string) => ({
  number: page.number,
  of: page.of,
  next: nextCommand(context, page, name),
})

function footer(context: Context, page: ListPage<unknown>, name: string): void {
  const { out } = context
  if (page.of === 1) return
  const next = nextCommand(context, page, name)
  out.print("")
  out.print(`page ${page.number} of ${page.of}${next === null ? "" : `, next: ${safe(next)}`}`)
}

function renderEntry(
  { id, content, metadata, by }: FarEntry,
  target: string,
  { style, now }: Screen,
): string[] {
  const { sessionId, chunkIndex, timestamp, ended, machine, project, toolNames, filePaths, takenBack } =
    metadata
  return [
    `${style.bold(farHandle(id))}  turn ${chunkIndex} of session ${safe(sessionId)}`,
    safe(
      by === undefined
        ? `from ${machine ?? "another archive"}, ${project ?? "no project"}, at ${target}`
        : `not yours: shared by ${by}, ${project}, at ${target}`,
    ),
    dotted(period(timestamp, ended, now), safe(toolNames.join(", ")), takenBack && "rewound"),
    ...filePaths.map((path) => safe(oneLine(path))),
    "",
    ...safe(content).trimEnd().split("\n"),
  ]
}

/* Renders what a session was about, and what a model observed in it. */

const INDENT = "  "

/** For the head of a session: empty if there is nothing to tell. */
function renderSummary(summary: SessionSummary, { style, columns }: Screen): string[] {
  const parts = summaryParts(summary)
  if (parts.length === 0) return []
  const observations = summary.kind === "model" ? summary.observations : []
  return [
    ...wrapped(`Summary, ${safe(summarySource(summary))}:`, columns).map(style.dim),
    ...parts.flatMap(({ label, text, handle }) =>
      wrappedIn(
        INDENT,
        `${label}: ${oneLine(safe(text))}${handle === undefined ? "" : ` (${handle})`}`,
        columns,
      ),
    ),
    ...observations.map(({ handle, type, title }) => indented(`${handle} ${type}: ${title}`, columns)),
  ]
}

/** One as a whole. */
function renderObservation(one: Observation, { style, columns, now }: Screen): string[] {
  const { handle, type, title, session, model, time, narrative, facts, files, turns } = one
  return [
    `${style.bold(handle)}  ${type}`,
    style.bold(fit(title, columns)),
    style.dim(fit(`written by a model (${model}) · ${ago(time, now)} · session ${session}`, columns)),
    "",
    ...(narrative === "" ? [] : [...wrapped(oneLine(safe(narrative)), columns), ""]),
    ...facts.flatMap((fact) => wrappedIn(INDENT, `- ${oneLine(safe(fact))}`, columns)),
    ...files.map((file) => `file ${safe(oneLine(file))}`),
    ...turns.map((turn) => `from ${safe(turn)}`),
  ]
}

/* Renders a whole turn: as it was said, or laid out for a terminal. Pure. */

interface TurnLook {
  /** Files of the turn that are known to have changed after it. */
  readonly changedSince?: ChangedFiles
  /** What the user has labelled it with. */
  readonly label?: LabelShown
  readonly screen: Screen
  readonly color: boolean
  readonly links: boolean
  readonly showPath: ShowPath
  /** The session's, if it is another one than the current: paths start there. */
  readonly folder?: string
  /** Laid out for a terminal; otherwise texts stay as they are. */
  readonly isLaidOut: boolean
  /** Whether long results and changes are folded to their first lines there. */
  readonly isFolded: boolean
}

/** Lines of a result, of thinking and the like, and of a change that are shown of a folded one. */
const RESULT_LINES = 12
const CHANGE_LINES = 60
/** Files that are named of a folded turn, and columns of what was done to them. */
const FILES = 6
const OP = 7
const DEPENDENT = ["thinking", "context", "summary", "notice"]
/** Columns of a command or path that are shown in any case. */
const LEAST_TARGET = 12

/** All lines of the turn, without paging. */
export function renderTurn(turn: WholeTurn, worth: Worth, look: TurnLook): string[] {
  const callOf = callsIn(turn.tools)
  const parts = turn.messages.flatMap((message) => message.parts.map((part) => ({ part, message })))
  const answers = new Map(look.isLaidOut && look.isFolded ? parts.flatMap(({ part }) => answerIn(part)) : [])
  const calls = new Set(parts.flatMap(({ part }) => (part.kind === "toolUse" ? part.id : [])))
  const blocks = [head(turn, worth, look)]
  let isAfterCall = false
  for (const { part, message } of parts) {
    const isCall = look.isLaidOut && look.isFolded && part.kind === "toolUse"
    // It stands with its call.
    if (part.kind === "toolResult" && answers.has(part.id) && calls.has(part.id)) continue
    const shown = isCall
      ? callLines(part, answers.get(part.id), message, turn, look)
      : renderPart(part, message, turn, callOf, look)
    if (shown.length === 0) continue
    blocks.push(isCall && !isAfterCall ? ["", ...shown] : shown)
    isAfterCall = isCall
  }
  const isHidden = answers.values().some(({ isError, text }) => !isError && text !== "")
  const more = `… all that the calls returned: ctxbridge show ${turn.handle} --full`
  if (isHidden) blocks.push(["", ...wrapped(more, look.screen.columns).map(look.screen.style.dim)])
  return blocks.flat()
}

type Answer = Extract<Part, { kind: "toolResult" }>
const answerIn = (part: ToldPart): (readonly [string, Answer])[] =>
  part.kind === "toolResult" ? [[part.id, part]] : []

/** A call in a line, with how it ended; below it why it failed, or what it changed. */
function callLines(
  call: ToolUse,
  answer: Answer | undefined,
  { sidechain }: TurnMessage,
  turn: WholeTurn,
  look: TurnLook,
): string[] {
  const { columns, style } = look.screen
  const known = turn.tools.find(({ id }) => id === call.id)
  const hunks = editDiff(call.name, call.input)
  const isFailed = answer?.isError === true
  const sign = answer === undefined ? style.dim("·") : isFailed ? style.red("✗") : style.green("✓")
  const name = `${safe(oneLine(call.name || "tool"))}${sidechain ? " (subagent)" : ""}`
  const end = ending(answer, known?.exitCode ?? null, hunks)
  const room = Math.max(LEAST_TARGET, columns - Bun.stringWidth(name) - 4 - (end === "" ? 0 : end.length + 2))
  const [file] = toolFiles(call.name, call.input)
  const target =
    file === undefined
      ? fit(known?.target ?? oneLine(inputText(call.name, call.input).slice(0, 600)), room)
      : look.showPath(file.path, room)
  const line = `${sign} ${style.bold(name)}  ${target}`
  return [
    end === "" ? line.trimEnd() : `${line}  ${isFailed ? style.red(end) : style.dim(end)}`,
    ...(isFailed ? [style.red(indented(errorLine(answer.text), columns))] : []),
    ...(hunks === undefined || isFailed ? [] : foldedDiff(hunks, turn.handle, look, INDENT)),
  ]
}

function ending(
  answer: Answer | undefined,
  exitCode: number | null,
  hunks: readonly (readonly DiffLine[])[] | undefined,
): string {
  if (answer === undefined) return "no answer"
  if (answer.isError) return exitCode === null ? "error" : `exit ${exitCode}`
  if (hunks === undefined)
    return answer.text === "" ? "" : count(answer.text.trimEnd().split("\n").length, "line")
  const { "+": added = [], "-": removed = [] } = Object.groupBy(hunks.flat(), ({ mark }) => mark)
  return `+${added.length} −${removed.length}`
}

function head(turn: WholeTurn, worth: Worth, look: TurnLook): string[] {
  const { style, now, columns } = look.screen
  const figures = dotted(
    look.isLaidOut && look.folder !== undefined && `in ${look.folder}`,
    period(turn.started, turn.ended, now),
    turn.via,
    count(turn.tools.length, "tool call"),
    turn.errors > 0 && count(turn.errors, "error"),
    turn.interrupted && "interrupted",
    turn.others && "written by others",
    turn.takenBack && "rewound",
    look.changedSince && movedText(look.changedSince),
    worth.uses > 0 && `used ${count(worth.uses, "time")}`,
    worth.cold && "out of the index",
  )
  const lines = [
    `${style.bold(turn.handle)}  turn ${turn.seq} of session ${safe(turn.session)}`,
    figures,
    ...labelLines(look.label).map(safe),
    ...turn.usage.map(
      ({ model, input, output, cacheCreation, cacheRead }) =>
        `${safe(model)}: tokens ${input} input, ${cacheCreation} written to cache, ${cacheRead} read from cache, ${output} output`,
    ),
  ]
  const shown = look.isLaidOut ? lines.flatMap((line) => wrapped(line, columns)) : lines
  return [...shown, ...fileLines(turn, look)]
}

/** A decision that does not hold is told with the day and whose word it is. Not yet made safe to print. */
export function labelLines(label: LabelShown | undefined): string[] {
  if (label === undefined) return []
  const { verdict, judged, byUser } = label
  const words = dotted(...labelWords(label))
  return [verdict === null ? words : dotted(words, judged?.slice(0, 10), byUser && "by you")]
}

function fileLines(
  { files, handle }: WholeTurn,
  { screen, showPath, isLaidOut, isFolded }: TurnLook,
): string[] {
  const most = isLaidOut && isFolded ? FILES : files.length
  const lines = files.slice(0, most).map(({ path, op, count: times }) => {
    const often = times > 1 ? ` (${times} times)` : ""
    const room = screen.columns - OP - 1 - often.length
    return `${op.padEnd(OP)} ${isLaidOut ? showPath(path, room) : showPath(path)}${often}`
  })
  const left = files.length - most
  const more = `… ${count(left, "more file")}: ctxbridge show ${handle} --full`
  return left > 0 ? [...lines, ...wrapped(more, screen.columns)] : lines
}

function renderPart(
  part: ToldPart,
  message: TurnMessage,
  turn: WholeTurn,
  callOf: CallOf,
  look: TurnLook,
): string[] {
  const shown = partText(part, callOf)
  if (shown === undefined) return []
  const { style } = look.screen
  const whose = part.origin === "import" ? " (imported)" : message.sidechain ? " (subagent)" : ""
  const title = `── ${safe(oneLine(shown.title))}${whose} ──`
  const lines = look.isLaidOut ? laidOut(part, shown.text, turn, look) : asItIs(shown.text)
  return ["", titled(title, part, style), ...(DEPENDENT.includes(part.kind) ? lines.map(style.dim) : lines)]
}

function titled(title: string, part: Part, style: Style): string {
  const isFailed = (part.kind === "toolResult" && part.isError) || part.kind === "apiError"
  if (isFailed) return style.red(title)
  return part.kind === "prompt" || part.kind === "reply" ? style.bold(title) : style.dim(title)
}

const asItIs = (text: string): string[] => (text === "" ? [] : safe(text).trimEnd().split("\n"))

function laidOut(part: Part, text: string, turn: WholeTurn, look: TurnLook): string[] {
  const { color, links } = look
  const { columns } = look.screen
  const folded = (most: number, whole: string): string[] =>
    look.isFolded
      ? block(whole, { indent: "", most, handle: `${turn.handle} --full` }).flatMap((line) =>
          wrapped(line, columns),
        )
      : wrapped(safe(whole).trimEnd(), columns)
  if (text === "") return []
  switch (part.kind) {
    case "text":
      return markdownLines(text, { columns, color, links })
    case "prompt":
    case "reply":
    case "brief":
    case "enqueued":
      return wrapped(safe(text).trimEnd(), columns)
    case "toolUse":
      return changed(part, turn, look) ?? folded(CHANGE_LINES, text)
    default:
      return folded(RESULT_LINES, text)
  }
}

type ToolUse = Extract<Part, { kind: "toolUse" }>
/** A change of a file as a diff; undefined if the call is something else. */
function changed(call: ToolUse, { handle, tools }: WholeTurn, look: TurnLook): string[] | undefined {
  const hunks = editDiff(call.name, call.input)
  if (hunks === undefined) return undefined
  const path = tools.find(({ id }) => id === call.id)?.target
  return [...(!path ? [] : [look.showPath(path)]), ...foldedDiff(hunks, handle, look, "")]
}

function foldedDiff(
  hunks: readonly (readonly DiffLine[])[],
  handle: string,
  { isFolded, screen: { columns, style } }: TurnLook,
  indent: string,
): string[] {
  const lines = hunks.flatMap((hunk, n) => [...(n > 0 ? [BETWEEN] : []), ...hunk])
  const left = isFolded ? lines.length - CHANGE_LINES : 0
  return [
    ...lines
      .slice(0, lines.length - Math.max(0, left))
      .flatMap((line) => coloredLines(line, indent, columns, style)),
    ...(left > 0 ? [`${indent}… ${count(left, "more line")}: ctxbridge show ${handle} --full`] : []),
  ]
}

/* What a call changed in files, as coloured lines. Pure. */

/** Between two hunks, since their place in the file is not known. */
const BETWEEN: DiffLine = { mark: " ", text: "⋮" }

function coloredLines({ mark, text }: DiffLine, indent: string, columns: number, style: Style): string[] {
  const color = mark === " " ? style.dim : mark === "+" ? style.green : style.red
  const pieces = wrapped(safe(text).replaceAll("\n", " "), columns - indent.length - 2)
  return pieces.map((piece, n) => color(`${indent}${n === 0 ? mark : " "} ${piece}`.trimEnd()))
}
