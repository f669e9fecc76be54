/**
 * Turns that the user took back: after Esc Esc or `/rewind`, the conversation continues from an earlier prompt.
 *
 * Claude Code writes nothing when that happens. But what comes next follows the same line as the prompt whose place it
 * takes. Only then are that prompt's turn and all turns that follow from it marked. They stay in the views and can be
 * found, but restores leave them out. If one of them goes on nevertheless, there are two windows on the session, and
 * they are marked no longer.
 */
import { isCaveat } from "../claude/user-text.ts"
import type { Part, TranscriptRecord } from "../record/types.ts"
import type { Database } from "./database.ts"
import { IS_EMPTY } from "./queries/turns.ts"

/**
 * The line that a prompt follows, so that another can take its place. undefined for the first of a session, which
 * follows no line, and for words within a tool's result, because results of parallel calls may follow the same line.
 */
export const followedBy = (record: TranscriptRecord, parts: readonly Part[]): string | undefined =>
  parts.some(({ kind }) => kind === "toolResult") ? undefined : record.parentUuid

/** Whether a line may take the place of turns. A subagent's never does, as it has no prompts. */
export const mayReplace = ({ type }: TranscriptRecord, parts: readonly Part[]): boolean =>
  parts.some((part) => {
    // Before an automatic compaction, Claude Code may have set aside a prompt that came just then.
    if (part.kind === "boundary") return part.trigger === "manual"
    // Queued prompts arrive as attachments, and several of them may well follow the same line.
    if (type !== "user") return false
    return part.kind === "prompt" || (part.kind === "notice" && isCaveat(part.text))
  })

/**
 * Marks the turns whose place a line takes, and resets the session's todos to what they were before them. Call for
 * lines that `mayReplace` turns, before they are stored.
 *
 * @param mirror id of the line's transcript if another machine archived it: a session that was continued on both has two
 * turns that follow the same line, and nobody took either back
 */
export function takeBack(
  db: Database,
  session: string,
  record: TranscriptRecord,
  parts: readonly Part[],
  mirror: number | undefined,
): void {
  const parent = followedBy(record, parts)
  if (parent === undefined) return
  // Without the plus, SQLite would go through all turns of the session in order.
  const replaced = db
    .query<{ seq: number; todos: string | null }, [string, string, number | null]>(
      `SELECT seq, todos FROM turns WHERE session = ? AND parent = ? AND taken_back = 0
         AND transcript = coalesce(?, transcript) ORDER BY +seq LIMIT 1`,
    )
    .get(session, parent, mirror ?? null)
  if (replaced === null) {
    takeBackCopied(db, session, parent)
  } else if (hasEffect(db, session, replaced.seq)) {
    // CROSS keeps the order: otherwise SQLite goes through all turns of the session for each.
    db.query(
      `WITH RECURSIVE gone (id, tip) AS (
         SELECT id, tip FROM turns WHERE session = ?1 AND seq = ?2
         UNION SELECT t.id, t.tip FROM gone g CROSS JOIN turns t ON t.session = ?1 AND t.parent = g.tip)
       UPDATE turns SET taken_back = 1
       WHERE session = ?1 AND seq >= ?2 AND transcript = coalesce(?3, transcript)
         AND NOT EXISTS (SELECT 1 FROM turns p WHERE p.session = ?1 AND p.tip = turns.parent
           AND turns.seq > ?2 AND p.id NOT IN (SELECT id FROM gone))`,
    ).run(session, replaced.seq, mirror ?? null)
    setTodos(db, session, replaced)
  }
}

/**
 * Marks the last turns of a transcript, for agents that write down how many the user has undone. Everything the lines
 * before add to their turns must have been written.
 */
export function takeBackLast(db: Database, session: string, transcript: number, many: number): void {
  const undone = db
    .query<{ seq: number; todos: string | null }, [string, number, number]>(
      `SELECT seq, todos FROM turns WHERE session = ? AND transcript = ? AND taken_back = 0 AND via <> 'none'
       ORDER BY seq DESC LIMIT ?`,
    )
    .all(session, transcript, many)
  const first = undone.at(-1)
  if (first === undefined) return
  db.query("UPDATE turns SET taken_back = 1 WHERE session = ? AND transcript = ? AND seq >= ?").run(
    session,
    transcript,
    first.seq,
  )
  setTodos(db, session, first)
}

/**
 * For a turn that goes on after it was marked: it was not taken back, nor were those that it follows. The user has two
 * windows on one session.
 */
export function revive(db: Database, session: string, turn: number): void {
  db.query(
    `WITH RECURSIVE alive (id, parent) AS (
       SELECT id, parent FROM turns WHERE id = ?1 AND taken_back = 1
       UNION SELECT p.id, p.parent FROM alive a CROSS JOIN turns p ON p.session = ?2 AND p.tip = a.parent
         AND p.taken_back = 1)
     UPDATE turns SET taken_back = 0 WHERE id IN (SELECT id FROM alive)`,
  ).run(turn, session)
}

/** Whether a line was written after that turn began, by Claude Code's clock. */
export function isSince(db: Database, turn: number | undefined, { timestamp }: TranscriptRecord): boolean {
  if (turn === undefined || timestamp === undefined) return false
  const row = db
    .query<{ started: string | null }, [number]>("SELECT started FROM turns WHERE id = ?")
    .get(turn)
  return Date.parse(timestamp) > Date.parse(row?.started ?? "")
}

const setTodos = (db: Database, session: string, { todos }: { todos: string | null }): unknown =>
  db.query("UPDATE sessions SET todos = ? WHERE id = ?").run(todos ?? "[]", session)

/** For a fork's prompt that replaces one shared with its origin: of what was copied, only the todos are the fork's. */
function takeBackCopied(db: Database, session: string, parent: string): void {
  const replaced = db
    .query<{ todos: string | null }, [string, string]>(
      `SELECT t.todos FROM lineage l JOIN turns t ON t.session = l.parent
       WHERE l.child = ? AND l.kind = 'fork' AND t.parent = ? LIMIT 1`,
    )
    .get(session, parent)
  if (replaced !== null) setTodos(db, session, replaced)
}

/**
 * Whether there is more than commands that only Claude Code executed. In old versions several in a row followed the
 * same line (seen in 1.0.43: `/doctor`, `/status`, `/mcp`), and a boundary follows the same line as its `/compact`.
 */
function hasEffect(db: Database, session: string, since: number): boolean {
  const row = db
    .query<{ found: number }, [string, number]>(
      `SELECT 1 AS found FROM turns t WHERE session = ? AND seq >= ? AND NOT ${IS_EMPTY} LIMIT 1`,
    )
    .get(session, since)
  return row !== null
}

/** Lines whose turns are remembered; of older ones, only the last of each turn is known. */
const REMEMBERED = 20_000

/**
 * Which turn a line follows. Claude Code writes what comes next behind everything else, but every line names the one it
 * follows: with two windows on one session, two conversations are written into one file.
 */
export class TurnChain {
  readonly #db: Database
  readonly #session: string
  /** Turn of each line, by uuid. */
  readonly #turns = new Map<string, number>()
  /** What has changed since the last flush: the last line of each turn. */
  readonly #tips = new Map<number, string>()
  #latest: { readonly uuid: string; readonly turn: number } | undefined

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  /** Whether a line follows the one that was written just before, as nearly all do. */
  isNext({ parentUuid }: TranscriptRecord): boolean {
    return this.#latest !== undefined && parentUuid === this.#latest.uuid
  }

  /** The turn of the line that this one follows; undefined if that is not known. */
  turnBefore(record: TranscriptRecord): number | undefined {
    if (this.isNext(record)) return this.#latest!.turn
    const { parentUuid } = record
    if (parentUuid === undefined) return undefined
    const found = this.#turns.get(parentUuid)
    if (found !== undefined) return found
    const row = this.#db
      .query<{ id: number }, [string, string]>("SELECT id FROM turns WHERE session = ? AND tip = ?")
      .get(this.#session, parentUuid)
    return row?.id
  }

  /** @param turn that the line belongs to */
  add({ uuid }: TranscriptRecord, turn: number): void {
    if (uuid === undefined) return
    if (this.#turns.size >= REMEMBERED) this.#turns.clear()
    this.#turns.set(uuid, turn)
    this.#tips.set(turn, uuid)
    this.#latest = { uuid, turn }
  }

  flush(): void {
    const query = this.#db.query("UPDATE turns SET tip = ? WHERE id = ?")
    for (const [turn, uuid] of this.#tips) query.run(uuid, turn)
    this.#tips.clear()
  }
}
