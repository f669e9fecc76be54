/** What to export: a turn, or a session with or without its subagents; and its turns, read one at a time. */
import type { Database } from "../archive/database.ts"
import { lineageOf } from "../archive/queries/lineage.ts"
import { findSessions, type Session } from "../archive/queries/sessions.ts"
import { findByName } from "../read/by-name.ts"
import { readTurn, type Turn, turnsOfSession, type WholeTurn } from "../read/turn.ts"
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import { CopyReaders } from "../vault/reader.ts"

export type Selection =
  | { readonly kind: "turn"; readonly turn: Turn }
  | { readonly kind: "sessions"; readonly sessions: readonly Session[] }

interface AgentChoice {
  readonly all: boolean
  /** Only this subagent, given by its id or the beginning of it. */
  readonly only: string | undefined
}

export function select(db: Database, word: string, agents: AgentChoice): Selection {
  const found = findByName(db, word)
  if (found.kind === "turn") {
    if (agents.all || agents.only !== undefined)
      throw usageError(
        "--agent and --agents need a session",
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

export function* turnsOfSelection(
  db: Database,
  dataHome: string,
  selection: Selection,
): Generator<SessionTurns> {
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
