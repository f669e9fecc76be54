/**
 * What takes the place of a conversation when the plugin answers its compaction: what a restore gives back, made larger
 * since there is no summary beside it, and the latest turns word for word.
 */
import { captureTranscript } from "../../archive/capture-transcript.ts"
import type { Database } from "../../archive/database.ts"
import { openForReading } from "../../archive/open-for-reading.ts"
import { claimGiven, keepGiven } from "../../archive/queries/restores.ts"
import { slotItems } from "../../archive/queries/slot-rows.ts"
import { currentTranscript } from "../../archive/transcript-rows.ts"
import type { PathsAndPolicy, Settings } from "../../config/load.ts"
import { changeState, readState } from "../../hook/state.ts"
import { readTurn, turnsOfSession, type WholeTurn } from "../../read/turn.ts"
import { learningIn, restoreOf } from "../../restore/restore.ts"
import { filterText } from "../../secrets/filter.ts"
import { CtxError } from "../../util/errors.ts"
import { knownOf } from "../../vault/known-values.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { recentTurns } from "./recent-turns.ts"
import { stepsText, type TurnInProgress } from "./turn-in-progress.ts"

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

export interface PluginCompaction {
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
  using db = openForReading(paths.dataHome)
  const { text, slots } = restoreOf(db, session, {
    source: "compact",
    budget: CARD,
    summary: "",
    byPlugin: true,
    host: { ...paths, cwd },
    related: resolved.config["restore.related"],
    focus,
    learning: learningIn(resolved.config),
  })
  if (text === "") throw new CtxError("nothing-archived", `nothing is archived of session ${session}`)
  const context = withTurns(db, paths, compaction, text)
  const archived = currentTranscript(db, session)?.archived ?? 0
  db.transaction(() => {
    if (claimGiven(db, session, { source: "compact", mark: `at ${archived}`, time: now }))
      keepGiven(db, session, context, slotItems(db, slots ?? []))
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
