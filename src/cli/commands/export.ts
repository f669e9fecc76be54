/** `ctxbridge export`: writes a session or turn from the archive, either unchanged or readable. */

import { usageError } from "../../base/errors.ts"
import { resolve } from "../../base/path.ts"
import { bytes } from "../../base/text.ts"
import { startRenewing } from "../../job/spawn.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { findSessions } from "../../views/queries/sessions.ts"
import { lineageOf } from "../../views/queries/transcripts.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { type PageSubject, sessionPageBytes } from "../html-pages.ts"
import { isTerminal } from "../output.ts"
import { inBlocks } from "../pages/in-blocks.ts"
import { writeExport } from "../pages/output-file.ts"
import { exportRaw, type Selection, select, turnsOfSelection } from "../pages/raw-transcript.ts"
import { sessionLine, turnLines } from "../pages/session-jsonl.ts"
import { sessionMarkdown, turnMarkdown } from "../pages/session-markdown.ts"
import { spokenTurn } from "../pages/spoken-turn.ts"
import { safe } from "../style.ts"

const FORMATS = ["raw", "md", "html", "jsonl"] as const
type Format = (typeof FORMATS)[number]

export default {
  meta: { name: "export", description: "Export sessions or turns, as Markdown, HTML or byte for byte" },
  args: {
    what: {
      type: "positional",
      required: true,
      rest: true,
      names: "turn",
      description: "Session ids or handles of turns, in the order wanted",
    },
    raw: flag("The transcript as Claude Code wrote it, byte for byte"),
    md: flag("Readable Markdown (the default)"),
    html: flag("A page for the browser that needs no other file (docs/view.md)"),
    jsonl: flag("One JSON object per line: session, turns, messages (docs/export.md)"),
    conversation: flag("Only what was said: prompts and answers"),
    agents: flag("Add the session's subagents"),
    agent: option("Only this subagent", "ID"),
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
    if (format === "raw" && names.length > 1)
      throw usageError("--raw takes one session at a time", "several transcripts do not make one")
    if (format === "raw" && args["conversation"] === true)
      throw usageError("--raw and --conversation cannot be used together")
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const agents = { all: args["agents"] === true, only: stringArg(args, "agent") }
    const isShown = target === undefined && isTerminal()
    // All of them first: a name that means nothing must not leave half an export.
    const selections = distinct(names.map((name) => select(db, name, agents)))
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
    return sessionPageBytes(db, env.dataHome, wanted, { isConversation, onProgress: onTurn })
  }
  const texts = lines(db, env.dataHome, format, selections, { isConversation, onTurn })
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
  const [head, body] = format === "md" ? [sessionMarkdown, turnMarkdown] : [sessionLine, turnLines]
  for (const selection of selections) {
    for (const { session, turns } of turnsOfSelection(db, dataHome, selection)) {
      if (session !== undefined) yield head(session, lineageOf(db, session.id))
      for (const turn of turns) {
        onTurn()
        yield* body(isConversation ? spokenTurn(turn) : turn)
      }
    }
  }
}
