/** Reads the complete turns of a selection one at a time. */
import type { Database } from "../archive/database.ts"
import type { Session } from "../archive/queries/sessions.ts"
import { readTurn, turnsOfSession, type WholeTurn } from "../read/turn.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Selection } from "./select.ts"

export interface SessionTurns {
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
