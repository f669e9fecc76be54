/**
 * The background job's summaries: of sessions that have ended, with the user's leave (`summaries.auto`), and at most so
 * many a day. A session is taken off the list before the model is asked, so nothing is paid for again and again; only if
 * the job itself has to end meanwhile, it goes back.
 */

import { codeOf } from "../base/errors.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { logError } from "../base/log.ts"
import { join } from "../base/path.ts"
import { claudeProgram } from "../claude/settings/run-claude.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import type { Database } from "../views/database.ts"
import { transcriptByCopy } from "../views/transcript-rows.ts"
import type { SessionMaterial } from "./summarize-session.ts"
import { dueSessions, summarizeSession, summarizingAlone } from "./summarize-session.ts"

interface SummariesToday {
  /** UTC, `2026-03-01`. */
  readonly day: string
  /** How often a model was asked that day. */
  readonly asked: number
  /** Sessions that have ended, the first to end first. */
  readonly waiting: readonly string[]
}

/** Sessions that wait; who ends more while the day's number is used up has `summarize`. */
const MOST_WAITING = 100

const fileOf = (dataHome: string): string => join(dataHome, "summaries.json")

function readToday(dataHome: string, now: number): SummariesToday {
  const day = new Date(now).toISOString().slice(0, 10)
  const known = (readJson(fileOf(dataHome)) ?? {}) as Partial<SummariesToday>
  return { day, asked: known.day === day ? (known.asked ?? 0) : 0, waiting: known.waiting ?? [] }
}

/**
 * Puts sessions on the list.
 *
 * @param ended copies of sessions that have ended
 */
export function noteEnded(
  db: Database,
  dataHome: string,
  ended: ReadonlySet<string>,
  now: number,
): SummariesToday {
  const today = readToday(dataHome, now)
  const sessions = [...ended].flatMap((copy) => transcriptByCopy(db, copy)?.session ?? [])
  const own = sessions.filter((session) => !session.includes("/") && !today.waiting.includes(session))
  if (own.length === 0) return today
  const next = { ...today, waiting: [...today.waiting, ...own].slice(-MOST_WAITING) }
  writeJson(fileOf(dataHome), next)
  return next
}

/** What the model may be asked today. Sessions that say nothing new are taken off the list. */
export function dueToday(
  db: Database,
  place: PathsAndPolicy,
  config: Config,
  today: SummariesToday,
): SessionMaterial[] {
  const most = Math.max(0, config["summaries.daily"] - today.asked)
  if (most === 0 || today.waiting.length === 0) return []
  const due = dueSessions(db, today.waiting, { place, anew: false, most })
  if (due.length === 0) writeJson(fileOf(place.dataHome), { ...today, waiting: [] })
  return due
}

interface Until {
  /** Whether the job is to end at once. */
  readonly isOver: () => boolean
  /** Whether somebody wants something of it, which comes before the next session. */
  readonly isWanted: () => boolean
}

/** Call while the views are closed. */
export async function summarizeEnded(
  place: PathsAndPolicy,
  config: Config,
  due: readonly SessionMaterial[],
  { isOver, isWanted }: Until,
): Promise<void> {
  const { dataHome, home, stateHome } = place
  const options = { place, model: config["summaries.model"], isOver, anew: false, now: Date.now }
  try {
    const program = claudeProgram(home)
    await summarizingAlone(dataHome, async () => {
      for (const material of due) {
        if (isOver() || isWanted()) return
        const today = readToday(dataHome, Date.now())
        const waiting = today.waiting.filter((session) => session !== material.session)
        writeJson(fileOf(dataHome), { ...today, asked: today.asked + 1, waiting })
        try {
          await summarizeSession(material, { ...options, program })
        } catch (error) {
          if (isOver()) {
            // It was ended for somebody who waits for the job, not for anything of its own.
            const later = readToday(dataHome, Date.now())
            writeJson(fileOf(dataHome), { ...later, waiting: [material.session, ...later.waiting] })
            return
          }
          // Another session may do better, unless the client itself does not work.
          if (codeOf(error) !== "bad-answer" && codeOf(error) !== "forgotten") throw error
          logError(stateHome, { event: "summaries", error })
        }
      }
    })
  } catch (error) {
    if (codeOf(error) !== "busy" && !isOver()) logError(stateHome, { event: "summaries", error })
  }
}
