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
import type { Settings } from "../../config/load.ts"
import { changeState, readState } from "../../hook/state.ts"
import { readTurn, turnsOfSession, type WholeTurn } from "../../read/turn.ts"
import { learningIn, restoreOf } from "../../restore/restore.ts"
import { CtxError } from "../../util/errors.ts"
import { knownOf } from "../../vault/known-values.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { recentTurns } from "./recent-turns.ts"

/**
 * UTF-16 units of the whole text. Claude Code's own summaries had 6,955 to 24,528 in 27 real compactions, 11,244 in the
 * middle, and a restore comes on top of them.
 */
const MOST = 15_000
const CARD = 9500
/** With less room, turns are not begun. */
const LEAST_TURNS = 1000
/** ms for what the transcript has gained since the last hook, and for waiting for another writer. */
const CAPTURE = 1000

export interface Compaction {
  readonly session: string
  readonly cwd: string | undefined
  /** The user's words for this compaction. */
  readonly focus: string | undefined
  /** Whether the latest turn is not over, and stays in the conversation. */
  readonly isOpen: boolean
}

/** @throws CtxError if there is nothing that could take its place */
export function answerCompaction(settings: Settings, compaction: Compaction, now: number): string {
  const { paths, resolved } = settings
  const { session, cwd, focus } = compaction
  using before = openForReading(paths.dataHome)
  const path = currentTranscript(before, session)?.path
  if (path === undefined) throw new CtxError("not-archived", `session ${session} is not archived`)
  const deadline = performance.now() + CAPTURE
  captureTranscript(paths, path, { now, deadline, hurried: true, lastLine: "whole", known: knownOf })
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
  const context = withTurns(db, paths.dataHome, compaction, text)
  const archived = currentTranscript(db, session)?.archived ?? 0
  db.transaction(() => {
    if (claimGiven(db, session, { source: "compact", mark: `at ${archived}`, time: now }))
      keepGiven(db, session, context, slotItems(db, slots ?? []))
  }).immediate()
  const state = readState(paths.dataHome, session)
  changeState(paths.dataHome, session, state, { ...state, compactedByPlugin: now })
  return context
}

function withTurns(db: Database, dataHome: string, { session, isOpen }: Compaction, card: string): string {
  const room = MOST - [LEAD, card, OPEN, CLOSE].join("\n").length - 1
  if (room < LEAST_TURNS) return `${LEAD}\n${card}`
  using readers = new CopyReaders()
  const turns = recentTurns(newestTurns(db, dataHome, session, readers, isOpen), room)
  return turns === "" ? `${LEAD}\n${card}` : `${LEAD}\n${card}\n${OPEN}\n${turns}\n${CLOSE}`
}

/** How many turns are looked at. */
const TURNS = 12

function* newestTurns(
  db: Database,
  dataHome: string,
  session: string,
  readers: CopyReaders,
  isOpen: boolean,
): Generator<WholeTurn> {
  const turns = turnsOfSession(db, session).slice(-TURNS).toReversed()
  for (const turn of turns.slice(isOpen ? 1 : 0)) {
    if (turn.takenBack !== undefined || turn.prompt === "") continue
    yield readTurn(db, dataHome, turn, readers)
  }
}

const LEAD =
  "This conversation was compacted: what came before is archived word for word, and this is what is likely to be needed of it. What the user asked for and ruled out there still holds. Continue where it was left."

const OPEN =
  "<ctxbridge-turns>\nThe latest turns, quoted from the archive, without what tools returned. Each opens by its handle."
const CLOSE = "</ctxbridge-turns>"
