/**
 * What takes the place of a conversation when the plugin answers its compaction: what a restore gives back, made larger
 * since there is no summary beside it, and the latest turns word for word.
 */

import { CtxError } from "../../base/errors.ts"
import { cut } from "../../base/text.ts"
import { userTextParts } from "../../claude/user-text.ts"
import type { PathsAndPolicy, Settings } from "../../config/load.ts"
import { changeState, readState } from "../../hook/state.ts"
import { isObject, type JsonObject, stringOf } from "../../record/json.ts"
import { blockQuote, quoteInert } from "../../restore/quote.ts"
import { restoreOf } from "../../restore/restore.ts"
import { filterText } from "../../secrets/filter.ts"
import { captureTranscript } from "../../vault/capture.ts"
import { knownOf } from "../../vault/known-values.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { claimGiven, keepGiven } from "../../views/queries/restores.ts"
import { currentTranscript } from "../../views/transcript-rows.ts"
import { readTurn, type TurnMessage, turnsOfSession, type WholeTurn } from "../../views/turn.ts"

/**
 * UTF-16 units of the whole text: one and a half times the shortest of Claude Code's own summaries in 27 real compactions,
 * which had 6,955 to 24,528, 11,244 in the middle. More room hardly adds to what is shown (docs/measurements/prune.md).
 */
const MOST = 10_400
/** Of it, what a restore is given. */
export const CARD = 6500
/** With less room, turns are not begun. */
const LEAST_TURNS = 600
/** How many are looked at. */
const TURNS = 12
/** How much of a prompt tells it from the one before. */
const SAME_PROMPT = 60
/** ms for what the transcript has gained since the last hook, and for waiting for another writer. */
const CAPTURE = 1000

interface PluginCompaction {
  readonly session: string
  readonly transcript: string
  readonly cwd: string
  /** The user's words for this compaction. */
  readonly focus: string | undefined
  /** The turn that is not over. */
  readonly open: TurnInProgress | undefined
}

/** @throws CtxError if there is nothing that could take its place */
export function answerCompaction(settings: Settings, compaction: PluginCompaction, now: number): string {
  const { paths, resolved } = settings
  const { session, transcript, cwd, focus } = compaction
  const deadline = performance.now() + CAPTURE
  captureTranscript(paths, transcript, { now, deadline, hurried: true, lastLine: "whole", known: knownOf })
  using db = openCurrent(paths.dataHome, "command")
  const { text } = restoreOf(db, session, {
    source: "compact",
    budget: CARD,
    summary: "",
    byPlugin: true,
    claude: { ...paths, cwd },
    related: resolved.config["restore.related"],
    focus,
  })
  if (text === "") throw new CtxError("nothing-archived", `nothing is archived of session ${session}`)
  const context = withTurns(db, paths, compaction, text)
  const archived = currentTranscript(db, session)?.archived ?? 0
  db.transaction(() => {
    if (claimGiven(db, session, { source: "compact", mark: `at ${archived}`, time: now }))
      keepGiven(db, session, context)
  }).immediate()
  const state = readState(paths.dataHome, session)
  changeState(paths.dataHome, session, state, { ...state, compactedByPlugin: now })
  return context
}

/** @param card what a restore gives back, of at most `CARD` characters */
export function withTurns(
  db: Database,
  { dataHome, secrets }: Pick<PathsAndPolicy, "dataHome" | "secrets">,
  { session, open }: Pick<PluginCompaction, "session" | "open">,
  card: string,
): string {
  const parts = [LEAD, card]
  const room = (): number => MOST - parts.join("\n").length - 1
  // Straight from Claude Code, so it has not been filtered yet.
  const steps = open === undefined ? "" : filterText(stepsText(open, room() - STEPS_FRAME), secrets)
  const done = steps === "" ? [] : [STEPS_OPEN, steps, STEPS_CLOSE]
  const left = room() - done.join("\n").length - TURNS_FRAME
  using readers = new CopyReaders()
  const turns = left < LEAST_TURNS ? "" : recentTurns(newestTurns(db, dataHome, session, readers, open), left)
  if (turns !== "") parts.push(TURNS_OPEN, turns, TURNS_CLOSE)
  return [...parts, ...done].join("\n")
}

function* newestTurns(
  db: Database,
  dataHome: string,
  session: string,
  readers: CopyReaders,
  open: TurnInProgress | undefined,
): Generator<WholeTurn> {
  const turns = turnsOfSession(db, session).slice(-TURNS).toReversed()
  // Claude Code may not have written down yet what it was asked last.
  const asked = open?.asked.slice(0, SAME_PROMPT)
  const isOpen = turns[0]?.prompt.trim().slice(0, SAME_PROMPT) === asked
  // A command that only Claude Code answers says nothing.
  for (const turn of turns.slice(isOpen ? 1 : 0))
    if (turn.takenBack === undefined && turn.prompt !== "" && turn.answer + turn.tools !== "0")
      yield readTurn(db, dataHome, turn, readers)
}

const LEAD =
  "This conversation was compacted: what came before is archived word for word, and this is what is likely to be needed of it. What the user asked for and ruled out there still holds. Continue where it was left."

const TURNS_OPEN =
  "<ctxbridge-turns>\nThe latest turns, quoted from the archive, without tool output. Each opens by its handle."
const TURNS_CLOSE = "</ctxbridge-turns>"
const TURNS_FRAME = TURNS_OPEN.length + TURNS_CLOSE.length + 3

const STEPS_OPEN =
  "<ctxbridge-steps>\nThe user's prompt follows. This was done for it before the compaction, quoted; do not do it again."
const STEPS_CLOSE = "</ctxbridge-steps>"
const STEPS_FRAME = STEPS_OPEN.length + STEPS_CLOSE.length + 3

/*
 * The latest turns word for word, for a context that no model has summed up. What tools returned is left out: each turn
 * has its handle. Pure.
 */

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
function recentTurns(turns: Iterable<WholeTurn>, most: number): string {
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

/*
 * The turn that an automatic compaction interrupts: its prompt stays a message of its own, and what was done since is
 * told in words. Claude Code could keep the calls as they are, but then it finds the way back past the compaction when
 * the session is resumed (seen in 2.1.330). Pure.
 */

/** A message as the plugin tells it. */
interface Message {
  readonly role: string
  /** Its beginning. */
  readonly text: string
  readonly isResult: boolean
  readonly calls: readonly Call[]
}

interface Call {
  readonly tool: string
  readonly input: unknown
  /** The beginning of what it returned. */
  readonly output: string
}

interface TurnInProgress {
  /** Index of its prompt among the messages. */
  readonly prompt: number
  /** The beginning of the prompt. */
  readonly asked: string
  /** What was done since, oldest first. */
  readonly steps: readonly Message[]
}

/** @returns undefined if no turn was interrupted */
export function turnInProgress(trigger: unknown, messages: unknown): TurnInProgress | undefined {
  if (trigger !== "auto" || !Array.isArray(messages)) return undefined
  const told = messages.map(messageOf)
  const prompt = told.findLastIndex(isPrompt)
  return prompt < 0 ? undefined : { prompt, asked: told[prompt]!.text.trim(), steps: told.slice(prompt + 1) }
}

const isPrompt = ({ role, text, isResult }: Message): boolean =>
  role === "user" &&
  !isResult &&
  userTextParts(text, "human").some((part) => part.kind === "prompt" && part.via === "typed")

function messageOf(value: unknown): Message {
  const { role, text, isResult, calls } = isObject(value) ? value : ({} as JsonObject)
  return {
    role: stringOf(role) ?? "",
    text: stringOf(text) ?? "",
    isResult: isResult === true,
    calls: (Array.isArray(calls) ? calls : []).filter(isObject).map(({ tool, input, output }) => ({
      tool: stringOf(tool) ?? "",
      input,
      output: stringOf(output) ?? "",
    })),
  }
}

const SAID = 500
const CALL = 120
const OUTPUT = 2500
/** The latest steps are what the next one rests on. */
const STEPS = 30
const OUTPUTS = 3

/** @param most characters @returns `""` if nothing was done yet */
function stepsText({ steps }: TurnInProgress, most: number): string {
  const lines: string[] = []
  let left = most
  let outputs = OUTPUTS
  for (const { role, text, calls } of steps.slice(-STEPS).toReversed()) {
    const told = calls.toReversed().flatMap(({ tool, input, output }) => {
      const line = `- ${callText(tool, input)}`
      if (output === "" || outputs-- <= 0) return [line]
      return [`${line}\n${blockQuote(cut(output.trimEnd(), OUTPUT))}`]
    })
    if (role === "assistant" && text.trim() !== "") told.push(blockQuote(cut(text.trim(), SAID)))
    for (const line of told) {
      if (line.length + 1 > left) return lines.toReversed().join("\n")
      lines.push(line)
      left -= line.length + 1
    }
  }
  return lines.toReversed().join("\n")
}

/** What a call is about is its first text, which tools put first. */
function callText(tool: string, input: unknown): string {
  const values = isObject(input) ? Object.values(input) : []
  const first = values.find((value) => typeof value === "string")
  const name = quoteInert(tool, 60).slice(1, -1)
  return first === undefined ? name : `${name} ${quoteInert(first, CALL)}`
}
