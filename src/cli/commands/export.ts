/** `ctxbridge export`: writes a session or turn from the archive, either unchanged or readable. */
import { agentTitle } from "../../agents/agents.ts"
import { toolKind } from "../../agents/tool-kinds.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { resolve } from "../../base/path.ts"
import { bytes, cut, oneLine } from "../../base/text.ts"
import type { PathsAndPolicy } from "../../config/load.ts"
import { startRenewing } from "../../job/spawn.ts"
import { NEWLINE } from "../../record/lines-with.ts"
import type { Part } from "../../record/types.ts"
import { EntryMaker } from "../../sync/entry-maker.ts"
import { isFetchedCopy, isSuperseded, vaultFile } from "../../vault/layout.ts"
import { CopyReader, CopyReaders } from "../../vault/reader.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { type LabelShown, readLabels } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { callsIn, partText, whoseOf } from "../../views/part-text.ts"
import { priceList } from "../../views/prices.ts"
import { findSessions, type Session } from "../../views/queries/sessions.ts"
import { type Lineage, lineageOf } from "../../views/queries/transcripts.ts"
import { type TranscriptRow, transcriptsOf } from "../../views/transcript-rows.ts"
import { linesOfTurn, readTurn, type Turn, turnsOfSession, type WholeTurn } from "../../views/turn.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { inBlocks, type PageSubject, sessionPageBytes, spokenTurn } from "../html-pages.ts"
import { isTerminal } from "../output.ts"
import { writeExport } from "../pages/output-file.ts"
import { AGENT_ARG, PROJECT_ARGS } from "../project-wanted.ts"
import { timeArg } from "../screen.ts"
import { allSessionsWanted } from "../sessions-wanted.ts"
import { costsAtListPrices } from "../stats/stats.ts"
import { safe } from "../style.ts"
import { labelLines } from "./show.ts"

const FORMATS = ["raw", "md", "html", "jsonl", "entries"] as const
type Format = (typeof FORMATS)[number]

export default {
  meta: { name: "export", description: "Export sessions or turns, as Markdown, HTML or byte for byte" },
  args: {
    what: {
      type: "positional",
      rest: true,
      names: "turn",
      description: "Session ids or handles of turns, in the order wanted",
    },
    raw: flag("The transcript as it was written, byte for byte"),
    md: flag("Readable Markdown (the default)"),
    html: flag("A page for the browser that needs no other file (docs/open.md)"),
    jsonl: flag("One JSON object per line: session, turns, messages (docs/export.md)"),
    entries: flag("One JSON object per turn and line, as sync sends it (docs/sync.md)"),
    conversation: flag("Only what was said: prompts and answers"),
    agents: flag("Add the session's subagents"),
    subagent: option("Only this subagent", "ID"),
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    since: option("Active from this date or age on (2026-03-02, 7d)", "WHEN"),
    output: option("Write to this file, not to stdout (-)", "FILE", "o"),
    force: flag("Replace an existing file"),
  },
  run(context) {
    const { args, env, out } = context
    const format = formatOf(args)
    const named = stringArg(args, "output")
    // As in other programs. A file with that name is hard to get rid of.
    const target = named === "-" ? undefined : named
    if (out.wantsJson && target === undefined) {
      throw usageError("--json reports on a file that was written", "add --output FILE, or use --jsonl")
    }
    const names = words(args)
    const isNarrowed = ["agent", "project", "all-projects", "since"].some((name) => Boolean(args[name]))
    if (names.length > 0 && isNarrowed)
      throw usageError(
        "what is named is one agent's and in one project: leave out --agent, --project, --since and -a",
        "--subagent names one of a session's subagents",
      )
    if (names.length === 0 && !isNarrowed)
      throw usageError(
        "name a session or turn",
        "or narrow to sessions: --agent codex, --project DIR, --since 7d, -a for all",
      )
    if ((format === "raw" || format === "entries") && args["conversation"] === true)
      throw usageError(`--${format} and --conversation cannot be used together`)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const agents = { all: args["agents"] === true, only: stringArg(args, "subagent") }
    const isShown = target === undefined && isTerminal()
    // All of them first: a name that means nothing must not leave half an export.
    const wanted =
      names.length > 0
        ? names
        : allSessionsWanted(db, context, timeArg(args, "since", Date.now()))
            .sessions.map(({ id }) => id)
            .toReversed()
    if (format === "raw" && wanted.length > 1)
      throw usageError("--raw takes one session at a time", "several transcripts do not make one")
    const selections = distinct(wanted.map((name) => select(db, name, agents)))
    // A terminal that shows the text has no place for a bar.
    const onTurn = isShown ? () => {} : turnCounter(context, selections)
    const pieces = exported(db, context, format, selections, { isShown, onTurn })
    if (target === undefined) {
      for (const piece of pieces) out.raw(piece)
      return
    }
    const file = resolve(env.cwd, target)
    const size = writeExport(file, pieces, args["force"] === true)
    out.print(`${bytes(size)} written to ${safe(file)}`)
    out.json({ file, format, bytes: size })
  },
} satisfies Command

/** Each once, however often and by whatever name it was asked for. */
const distinct = (selections: readonly Selection[]): Selection[] => [
  ...new Map(
    selections.map((one) => [one.kind === "turn" ? one.turn.handle : one.sessions[0]!.id, one]),
  ).values(),
]

function formatOf(args: Context["args"]): Format {
  const wanted = FORMATS.filter((format) => args[format] === true)
  if (wanted.length > 1)
    throw usageError(`one format at a time, not ${wanted.map((one) => `--${one}`).join(" and ")}`)
  return wanted[0] ?? "md"
}

/** To be called for each turn that is done. A raw transcript is only copied. */
function turnCounter({ out }: Context, selections: readonly Selection[]): () => void {
  const sizeOf = (one: Selection): number =>
    one.kind === "turn" ? 1 : one.sessions.reduce((sum, { turns }) => sum + turns, 0)
  const total = selections.reduce((sum, one) => sum + sizeOf(one), 0)
  let done = 0
  return () => out.progress("turns", Math.min(++done, total), total)
}

interface HowToExport {
  /** Whether a person reads it, so that no text may control the terminal; raw bytes are never changed. */
  readonly isShown: boolean
  readonly onTurn: () => void
}

function exported(
  db: Database,
  { args, env }: Context,
  format: Format,
  selections: readonly Selection[],
  { isShown, onTurn }: HowToExport,
): Iterable<Uint8Array> {
  if (format === "raw") return exportRaw(db, env.dataHome, selections[0]!)
  const isConversation = args["conversation"] === true
  if (format === "html") {
    const wanted = selections.map((one) => wantedOf(db, one))
    const sessions = wanted.map(({ session }) => session)
    const costs = costsAtListPrices(db, sessions, priceList(env.config["stats.prices"]))
    return sessionPageBytes(db, env.dataHome, wanted, { isConversation, costs, onProgress: onTurn })
  }
  const texts =
    format === "entries"
      ? entryLines(db, env, selections, onTurn)
      : lines(db, env.dataHome, format, selections, { isConversation, onTurn })
  return inBlocks(isShown ? texts.map(safe) : texts)
}

/** Subagents are nested in their session's page anyway. */
function wantedOf(db: Database, selection: Selection): PageSubject {
  if (selection.kind === "sessions") return { session: selection.sessions[0]! }
  const { turn } = selection
  return { session: findSessions(db, turn.session)[0]!, only: turn }
}

function* lines(
  db: Database,
  dataHome: string,
  format: "md" | "jsonl",
  selections: readonly Selection[],
  { isConversation, onTurn }: { isConversation: boolean; onTurn: () => void },
): Generator<string> {
  const labels = readLabels(dataHome)
  let last: string | undefined
  const [head, body] = format === "md" ? [sessionMarkdown, turnMarkdown] : [sessionLine, turnLines]
  for (const selection of selections) {
    for (const { session, turns } of turnsOfSelection(db, dataHome, selection)) {
      // Who reads a turn wants to know where it is from; programs have that in each of its lines.
      const [whose] =
        selection.kind === "turn" && format === "md" ? findSessions(db, selection.turn.session) : [session]
      if (whose !== undefined && whose.id !== last) yield head(whose, lineageOf(db, whose.id))
      last = whose?.id
      for (const turn of turns) {
        onTurn()
        yield* body(isConversation ? spokenTurn(turn) : turn, labels.on(turn.handle))
      }
    }
  }
}

function* entryLines(
  db: Database,
  env: PathsAndPolicy,
  selections: readonly Selection[],
  onTurn: () => void,
): Generator<string> {
  using maker = new EntryMaker(db, env, undefined, () => undefined)
  for (const selection of selections) {
    for (const { turns } of turnsOfSelection(db, env.dataHome, selection)) {
      for (const turn of turns) {
        onTurn()
        yield line(maker.entryOfTurn(turn))
      }
    }
  }
}

/* Reads a transcript out of the vault, byte for byte as Claude Code wrote it. */

/** Yields one frame at a time: a transcript may be larger than memory. Each transcript begins on a line of its own. */
function* exportRaw(db: Database, dataHome: string, selection: Selection): Generator<Uint8Array> {
  if (selection.kind === "turn") {
    const readers = new CopyReaders()
    try {
      for (const line of linesOfTurn(db, dataHome, selection.turn, readers)) {
        yield line
        yield Uint8Array.of(NEWLINE)
      }
    } finally {
      readers.close()
    }
    return
  }
  // Find all copies before the first byte is written.
  const copies = selection.sessions.map(({ id }) => transcriptOf(db, id))
  let last: number | undefined = NEWLINE
  for (const { copy } of copies) {
    // A Claude Code that was killed leaves a last line without its newline.
    if (last !== NEWLINE) yield Uint8Array.of(NEWLINE)
    const reader = new CopyReader(vaultFile(dataHome, copy))
    try {
      for (const piece of reader.pieces()) {
        yield piece
        last = piece.at(-1)
      }
    } finally {
      reader.close()
    }
  }
}

/** The current transcript, this machine's own; if there are several (a session resumed in another folder), the longest. */
function transcriptOf(db: Database, session: string): TranscriptRow {
  const all = transcriptsOf(db, session)
  const there = all.filter(({ copy }) => copy.endsWith(".zst"))
  const current = there.filter(({ copy }) => !isSuperseded(copy))
  const own = current.filter(({ copy }) => !isFetchedCopy(copy))
  const candidates = own.length > 0 ? own : current.length > 0 ? current : there.length > 0 ? there : all
  const [longest] = candidates.toSorted((a, b) => b.archived - a.archived)
  if (longest !== undefined) return longest
  throw new CtxError("not-found", `no transcript of session ${session} in the archive`, {
    hint: `ctxbridge show ${session} shows what there is of it`,
    exit: EXIT.notFound,
  })
}

/* What to export: a turn, or a session with or without its subagents; and its turns, read one at a time. */

type Selection =
  | { readonly kind: "turn"; readonly turn: Turn }
  | { readonly kind: "sessions"; readonly sessions: readonly Session[] }

interface AgentChoice {
  readonly all: boolean
  /** Only this subagent, given by its id or the beginning of it. */
  readonly only: string | undefined
}

function select(db: Database, word: string, agents: AgentChoice): Selection {
  const found = findByName(db, word)
  if (found.kind === "turn") {
    if (agents.all || agents.only !== undefined)
      throw usageError(
        "--subagent and --agents need a session",
        "name a session by its id, not a turn by its handle",
      )
    return found
  }
  if (!agents.all && agents.only === undefined) return { kind: "sessions", sessions: [found.session] }
  const subagents = lineageOf(db, found.session.id).subagents.map((id) => findSessions(db, id)[0]!)
  if (agents.only === undefined) return { kind: "sessions", sessions: [found.session, ...subagents] }
  const wanted = agents.only.replace(/^agent-/, "")
  const named = subagents.filter(({ agent }) => agent?.startsWith(wanted))
  const only = named.find(({ agent }) => agent === wanted) ?? (named.length === 1 ? named[0] : undefined)
  if (only !== undefined) return { kind: "sessions", sessions: [only] }
  const known = subagents.map(({ agent }) => agent).join(", ")
  if (named.length > 1) throw usageError(`${wanted} names ${named.length} subagents`, `there are: ${known}`)
  throw new CtxError("not-found", `session ${found.session.id} has no subagent ${wanted}`, {
    hint: known === "" ? "it has none at all" : `it has: ${known}`,
    exit: EXIT.notFound,
  })
}

interface SessionTurns {
  /** undefined for a single turn. */
  readonly session: Session | undefined
  readonly turns: Iterable<WholeTurn>
}

function* turnsOfSelection(db: Database, dataHome: string, selection: Selection): Generator<SessionTurns> {
  const readers = new CopyReaders()
  try {
    if (selection.kind === "turn") {
      yield { session: undefined, turns: [readTurn(db, dataHome, selection.turn, readers)] }
      return
    }
    for (const session of selection.sessions) {
      const turns = turnsOfSession(db, session.id)
      yield { session, turns: turns.values().map((turn) => readTurn(db, dataHome, turn, readers)) }
    }
  } finally {
    readers.close()
  }
}

/* A session as our own JSON lines, as described in docs/export.md. Pure. */

/** Increased when a field changes its meaning. Adding fields does not count. */
const FORMAT = 1

const sessionLine = (session: Session, lineage: Lineage): string =>
  line({ type: "session", format: FORMAT, ...session, lineage })

function* turnLines({ messages, ...turn }: WholeTurn): Generator<string> {
  yield line({ type: "turn", format: FORMAT, ...turn, messages: messages.length })
  for (const message of messages) yield line({ type: "message", turn: turn.handle, ...message })
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

/* Renders a session as readable Markdown. Pure. */

const HEADING = 100

function sessionMarkdown(session: Session, lineage: Lineage): string {
  const facts: readonly (readonly [string, string | null])[] = [
    ["session", session.id],
    ["subagent of", session.parent],
    ["continues", lineage.parents.map((parent) => `${parent.session} (${parent.kind})`).join(", ") || null],
    ["folder", session.cwd],
    ["branch", session.branch],
    [agentTitle(session.program), session.version],
    ["time", `${session.started ?? "unknown"} to ${session.ended ?? "unknown"}`],
  ]
  const lines = facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `- ${name}: ${plain(value ?? "")}`)
  return `# ${plain(cut(session.title ?? session.firstPrompt ?? session.id, HEADING))}\n\n${lines.join("\n")}\n`
}

export function* turnMarkdown(turn: WholeTurn, label?: LabelShown): Generator<string> {
  const prompt = turn.via === "none" ? "(before the first prompt)" : plain(cut(oneLine(turn.prompt), HEADING))
  yield `\n## ${turn.seq}. ${prompt}\n\n\`${turn.handle}\`, ${plain(turn.started ?? "time unknown")}${turn.takenBack ? ", rewound" : ""}\n`
  for (const line of labelLines(label)) yield `\n**${plain(line)}**\n`
  const callOf = callsIn(turn.tools)
  for (const { parts, sidechain } of turn.messages) {
    for (const part of parts) {
      const shown = partText(part, callOf)
      if (shown === undefined) continue
      yield `\n**${plain(shown.title)}**${whoseOf(part.origin, sidechain)}\n${body(part, shown.text)}`
    }
  }
}

function body(part: Part, text: string): string {
  if (text === "") return ""
  // The model's answers are Markdown; any other text is quoted or fenced.
  if (part.kind === "text") return `\n${closed(text.trim())}\n`
  if (["prompt", "reply", "brief", "thinking"].includes(part.kind)) return `\n${quoted(text)}\n`
  return `\n${fenced(text, part.kind === "toolUse" && toolKind(part.name) === "run" ? "console" : "")}\n`
}

const quoted = (text: string): string => `> ${text.trim().replace(/\r\n?|\n/g, "\n> ")}`

/**
 * Closes a fence that an interrupted answer left open, or all that follows would be code. One that is indented belongs
 * to a list, with which it ends.
 */
function closed(text: string): string {
  let open: string | undefined
  for (const line of text.split("\n")) {
    const [, indent, fence = "", rest = ""] = /^( {0,3})(`{3,}|~{3,})(.*)/.exec(line) ?? []
    if (fence === "") continue
    if (open !== undefined) {
      if (fence.startsWith(open) && rest.trim() === "") open = undefined
    } else if (indent === "" && !(fence.startsWith("`") && rest.includes("`"))) open = fence
  }
  return open === undefined ? text : `${text}\n${open}`
}

/** Fences a text with more backticks than any run in it. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n+$/, "")}\n${fence}`
}

/** The text on one line, with Markdown's special characters escaped. */
const plain = (text: string): string => oneLine(text).replace(/[\\`*_[\]<>#]/g, "\\$&")
