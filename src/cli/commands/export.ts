/** `ctxbridge export`: writes a session or turn from the archive, either unchanged or readable. */
import { resolve } from "node:path"
import type { Database } from "../../archive/database.ts"
import { lineageOf } from "../../archive/queries/lineage.ts"
import { writeExport } from "../../export/output-file.ts"
import { exportRaw } from "../../export/raw-transcript.ts"
import { type Selection, select, turnsOfSelection } from "../../export/selection.ts"
import { sessionLine, turnLines } from "../../export/session-jsonl.ts"
import { sessionMarkdown, turnMarkdown } from "../../export/session-markdown.ts"
import { spokenTurn } from "../../export/spoken-turn.ts"
import { openToRead } from "../../job/open-to-read.ts"
import { usageError } from "../../util/errors.ts"
import { bytes } from "../../util/text.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { isTerminal } from "../output.ts"
import { safe } from "../style.ts"

const FORMATS = ["raw", "md", "jsonl"] as const
type Format = (typeof FORMATS)[number]

/** UTF-16 units of text to collect before writing. */
const BLOCK = 1 << 18

export default {
  meta: { name: "export", description: "Export sessions or turns, as Markdown or byte for byte" },
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
      throw usageError("--raw takes one session at a time", "lines of several are no transcript of any")
    if (format === "raw" && args["conversation"] === true)
      throw usageError("--raw and --conversation exclude each other")
    using db = openToRead(env.dataHome)
    const agents = { all: args["agents"] === true, only: stringArg(args, "agent") }
    const isShown = target === undefined && isTerminal()
    // All of them first: a name that means nothing must not leave half an export.
    const selections = names.map((name) => select(db, name, agents))
    const pieces = exported(db, context, format, selections, isShown)
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

function formatOf(args: Context["args"]): Format {
  const wanted = FORMATS.filter((format) => args[format] === true)
  if (wanted.length > 1)
    throw usageError(`one format at a time, not ${wanted.map((one) => `--${one}`).join(" and ")}`)
  return wanted[0] ?? "md"
}

/** @param isShown whether a person reads it, so that no text may control the terminal; raw bytes are never changed */
function exported(
  db: Database,
  { args, env }: Context,
  format: Format,
  selections: readonly Selection[],
  isShown: boolean,
): Iterable<Uint8Array> {
  if (format === "raw") return exportRaw(db, env.dataHome, selections[0]!)
  const isConversation = args["conversation"] === true
  const texts = lines(db, env.dataHome, format, selections, isConversation)
  return inBlocks(isShown ? texts.map(safe) : texts)
}

function* lines(
  db: Database,
  dataHome: string,
  format: Format,
  selections: readonly Selection[],
  isConversation: boolean,
): Generator<string> {
  const [head, body] = format === "md" ? [sessionMarkdown, turnMarkdown] : [sessionLine, turnLines]
  for (const selection of selections) {
    for (const { session, turns } of turnsOfSelection(db, dataHome, selection)) {
      if (session !== undefined) yield head(session, lineageOf(db, session.id))
      for (const turn of turns) yield* body(isConversation ? spokenTurn(turn) : turn)
    }
  }
}

function* inBlocks(texts: Iterable<string>): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  let block = ""
  for (const text of texts) {
    block += text
    if (block.length < BLOCK) continue
    yield encoder.encode(block)
    block = ""
  }
  if (block !== "") yield encoder.encode(block)
}
