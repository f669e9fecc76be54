/**
 * Keeps up with what is used of what was shown again, for all sessions that have grown. In the background job: it reads
 * whole transcripts from the vault. Everything that it writes can be made anew from there.
 */
import type { Database } from "../archive/database.ts"
import {
  type GrownSession,
  hasDisplays,
  sessionsToFollow,
  setFollowed,
} from "../archive/queries/followed-uses.ts"
import { turnsByHandle } from "../archive/queries/opened-handles.ts"
import { type SlotRow, slotsGiven } from "../archive/queries/slot-rows.ts"
import { recordsFrom } from "../archive/records.ts"
import { currentTranscript } from "../archive/transcript-rows.ts"
import type { TranscriptRecord } from "../transcript/types.ts"
import { isMissing } from "../util/errors.ts"
import { vaultFile } from "../vault/layout.ts"
import { type Followed, type FollowedRestore, followUses, isSlotKind } from "./follow-uses.ts"
import { learnProject } from "./learn-project.ts"

export interface Noted {
  /** How many sessions were read. */
  readonly sessions: number
  readonly uses: number
  /** How many restores of theirs are known to have been shown. */
  readonly restores: number
}

interface NoteOptions {
  /** When to leave the rest for the next time, in ms of performance.now(). */
  readonly end?: number
  /** Called before each session that is read; throws when it is time to stop. */
  readonly goOn?: () => void
}

export function noteUses(db: Database, dataHome: string, options: NoteOptions = {}): Noted {
  const { end = Number.POSITIVE_INFINITY, goOn } = options
  const noted = { sessions: 0, uses: 0, restores: 0 }
  const projects = new Set<number>()
  const all = Map.groupBy(sessionsToFollow(db), ({ session }) => hasDisplays(db, session))
  // Most sessions, and one transaction for all of them.
  db.transaction(() => {
    for (const grown of all.get(false) ?? []) setFollowed(db, grown, [], [])
  }).immediate()
  for (const grown of all.get(true) ?? []) {
    goOn?.()
    if (performance.now() >= end) break
    const found = follow(db, dataHome, grown)
    db.transaction(() => setFollowed(db, grown, found.uses, found.outcomes)).immediate()
    if (found.outcomes.length > 0 && grown.project !== null) projects.add(grown.project)
    noted.sessions++
    noted.uses += found.uses.length
    noted.restores += found.outcomes.length
  }
  for (const project of projects) learnProject(db, project)
  return noted
}

function follow(db: Database, dataHome: string, { session }: GrownSession) {
  const rows = new Map<FollowedRestore, SlotRow>(
    slotsGiven(db, session).map((row) => [restoreOfRow(row), row]),
  )
  const { uses, outcomes } = followUses(recordsOf(db, dataHome, session), [...rows.keys()])
  return {
    uses: usesWithTurns(db, session, uses),
    outcomes: [...outcomes].map(([restore, letters]) => ({ ...rows.get(restore)!, letters })),
  }
}

function restoreOfRow({ text, items }: SlotRow): FollowedRestore {
  const slots = items.flatMap(([kind, words, handle, , shown]) =>
    isSlotKind(kind) ? [{ kind, text: words, handle, shown: shown === 1 }] : [],
  )
  return { text, slots }
}

function* recordsOf(db: Database, dataHome: string, session: string): Generator<TranscriptRecord> {
  const row = currentTranscript(db, session)
  if (row === undefined) return
  try {
    for (const { record } of recordsFrom(vaultFile(dataHome, row.copy))) yield record
  } catch (error) {
    // Forgotten meanwhile.
    if (!isMissing(error)) throw error
  }
}

function usesWithTurns(db: Database, session: string, uses: Followed["uses"]) {
  const turns = turnsByHandle(
    db,
    uses.map(({ handle }) => handle),
  )
  return uses.flatMap(({ handle, kind, time }) => {
    const turn = turns.get(handle)
    return turn === undefined ? [] : [{ turn, session, kind, time }]
  })
}
