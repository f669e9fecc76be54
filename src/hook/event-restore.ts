/**
 * What a session is given at an event: a restore, with what its notes say about the compaction, and the instructions
 * before one.
 */

import type { Database } from "../archive/database.ts"
import type { FoundCompaction } from "../archive/queries/boundaries.ts"
import type { Settings } from "../config/load.ts"
import { afterClear } from "../restore/after-clear.ts"
import { gather } from "../restore/gather.ts"
import { renderInstructions } from "../restore/instructions.ts"
import type { RestoreSource } from "../restore/render.ts"
import { learningIn, type Restore, restoreOf } from "../restore/restore.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { lastTurnBefore, summaryAtStart, summaryBehind } from "./missed-compactions.ts"
import { compactionUnanswered, type SessionState } from "./state.ts"
import { waitingPrompt } from "./waiting-prompt.ts"

interface Call {
  readonly event: HookEvent
  readonly settings: Settings
  readonly state: SessionState
}

/**
 * @param from the session that it is made of
 * @param missed at a prompt: the compaction that is answered now
 */
export function restored(
  db: Database,
  { event, settings, state }: Call,
  source: RestoreSource,
  from: string,
  missed?: FoundCompaction,
): Restore {
  const { paths, resolved } = settings
  const isPrompt = event.name === "user-prompt-submit"
  const options = {
    source,
    budget: resolved.config["restore.budget"],
    host: { ...paths, cwd: event.cwd },
    related: resolved.config["restore.related"],
    about: isPrompt ? state.prompt : undefined,
    learning: learningIn(resolved.config),
  }
  if (source === "clear") return afterClear(db, from, resolved.config["restore.clear"], options)
  const compaction = {
    summary: summaryFor(db, event, state, missed),
    // The host announces its own compactions.
    byPlugin: !compactionUnanswered(state),
    focus: state.focus,
    upTo: missed && lastTurnBefore(db, from, missed),
  }
  // At a missed restore, the open prompt is the one just typed, and the host sends it itself.
  return restoreOf(db, from, { ...options, ...compaction }, isPrompt ? undefined : waitingPrompt(state))
}

/** What the host is told to keep in the summary. */
export function instructionsFor(db: Database, { event, settings, state }: Call): string {
  const material = gather(db, event.session, { focus: state.focus })
  // At `/compact`, the host shows them.
  const isShown = event.trigger === "manual"
  return renderInstructions(material, settings.resolved.config["instructions.budget"], isShown)
}

/** The host's summary, as a hook received it or as the host has written it down; empty if neither. */
function summaryFor(db: Database, event: HookEvent, state: SessionState, missed?: FoundCompaction): string {
  if (missed !== undefined) return summaryBehind(event, missed) || state.summary || ""
  return state.summary ?? summaryAtStart(db, event, state) ?? ""
}
