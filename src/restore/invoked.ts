/** Texts of the skills and commands that were invoked, which the host shows again after a compaction. */
import { invokedText } from "../agents/claude-code/line-texts.ts"
import { isTool } from "../agents/tool-kinds.ts"
import type { Database } from "../archive/database.ts"
import { readPart } from "./disk.ts"

/** The host cuts each text and leaves out the oldest: at 5,000 and 25,000 tokens, of 4 characters each. */
const LONGEST = 20_000
const LONGEST_TOGETHER = 100_000
const MOST = 20
/** How many of the host's lines after a call or command may contain the text. */
const LINES_BEHIND = 4

interface Invocation {
  /** Name and arguments as given. */
  readonly target: string
  readonly turn: number
  /** Id of the message that the text follows. */
  readonly after: number
}

interface Place {
  readonly path: string
  readonly offset: number
  readonly length: number
}

/**
 * The latest text of each, newest first.
 *
 * @param since offset in the transcript from which invocations count
 * @param withTyped whether to include those typed by the user
 */
export function invokedTexts(db: Database, session: string, since: number, withTyped: boolean): string[] {
  const invoked = [...called(db, session, since), ...(withTyped ? typed(db, session, since) : [])]
  const names = new Set<string>()
  const texts: string[] = []
  let left = LONGEST_TOGETHER
  for (const invocation of invoked.sort((a, b) => b.after - a.after)) {
    const name = invocation.target.replace(/^\//, "").split(" ", 1)[0]!
    const text = names.has(name) ? undefined : textOf(db, invocation)?.slice(0, LONGEST)
    if (text === undefined) continue
    names.add(name)
    if (text.length > left) continue
    texts.push(text)
    left -= text.length
  }
  return texts
}

/** Invoked by the model. */
const called = (db: Database, session: string, since: number): Invocation[] =>
  db
    .query<Invocation, [string, number]>(
      `SELECT c.target, c.turn, c.result AS after FROM tool_calls c JOIN messages m ON m.id = c.result
       WHERE c.session = ? AND ${isTool("c.name", "skill")} AND c.is_error = 0 AND c.sidechain = 0 AND c.origin <> 'import'
         AND m.offset >= ? ORDER BY c.result DESC LIMIT ${MOST}`,
    )
    .all(session, since)

/** Typed by the user; the host's own commands have no text. */
const typed = (db: Database, session: string, since: number): Invocation[] =>
  db
    .query<Invocation, [string, number]>(
      `SELECT prompt AS target, id AS turn, (SELECT min(m.id) FROM messages m WHERE m.turn = turns.id) AS after FROM turns
       WHERE session = ? AND via = 'command' AND (tools > 0 OR answer <> '') AND origin <> 'import' AND first >= ?
       ORDER BY id DESC LIMIT ${MOST}`,
    )
    .all(session, since)

/**
 * The text that the host inserted after it as if it were a prompt. Read from the transcript, which still exists at this
 * moment: unpacking the vault's copy would take longer than everything else.
 */
function textOf(db: Database, { turn, after }: Invocation): string | undefined {
  const lines = db
    .query<Place, [number, number]>(
      `SELECT t.path, m.offset, m.length FROM messages m JOIN transcripts t ON t.id = m.transcript
       WHERE m.turn = ? AND m.id > ? AND m.role = 'host' AND m.sidechain = 0 ORDER BY m.id LIMIT ${LINES_BEHIND}`,
    )
    .all(turn, after)
  for (const { path, offset, length } of lines) {
    const text = invokedText(readPart(path, offset, length)?.toString() ?? "")
    if (text !== undefined) return text
  }
  return undefined
}
