/** Reads a transcript out of the vault, byte for byte as the host wrote it. */

import { NEWLINE } from "../../base/byte-lines.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { isFetchedCopy, isSuperseded, vaultFile } from "../../vault/layout.ts"
import { CopyReader, CopyReaders } from "../../vault/reader.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { findSessions, type Session } from "../../views/queries/sessions.ts"
import { lineageOf } from "../../views/queries/transcripts.ts"
import { type TranscriptRow, transcriptsOf } from "../../views/transcript-rows.ts"
import { linesOfTurn, readTurn, type Turn, turnsOfSession, type WholeTurn } from "../../views/turn.ts"

/** Yields one frame at a time: a transcript may be larger than memory. Each transcript begins on a line of its own. */
export function* exportRaw(db: Database, dataHome: string, selection: Selection): Generator<Uint8Array> {
  if (selection.kind === "turn") {
    const readers = new CopyReaders()
    try {
      for (const line of linesOfTurn(db, dataHome, selection.turn, readers)) {
        yield line
        yield Uint8Array.of(NEWLINE)
      }
    } finally {
      readers.close()
    }
    return
  }
  // Find all copies before the first byte is written.
  const copies = selection.sessions.map(({ id }) => transcriptOf(db, id))
  let last: number | undefined = NEWLINE
  for (const { copy } of copies) {
    // A host that was killed leaves a last line without its newline.
    if (last !== NEWLINE) yield Uint8Array.of(NEWLINE)
    const reader = new CopyReader(vaultFile(dataHome, copy))
    try {
      for (const piece of reader.pieces()) {
        yield piece
        last = piece.at(-1)
      }
    } finally {
      reader.close()
    }
  }
}

/** The current transcript, this machine's own; if there are several (a session resumed in another folder), the longest. */
function transcriptOf(db: Database, session: string): TranscriptRow {
  const all = transcriptsOf(db, session)
  const there = all.filter(({ copy }) => copy.endsWith(".zst"))
  const current = there.filter(({ copy }) => !isSuperseded(copy))
  const own = current.filter(({ copy }) => !isFetchedCopy(copy))
  const candidates = own.length > 0 ? own : current.length > 0 ? current : there.length > 0 ? there : all
  const [longest] = candidates.toSorted((a, b) => b.archived - a.archived)
  if (longest !== undefined) return longest
  throw new CtxError("not-found", `no transcript of session ${session} in the archive`, {
    exit: EXIT.notFound,
  })
}

/* What to export: a turn, or a session with or without its subagents; and its turns, read one at a time. */

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
