/** The text of files beside a transcript → messages of the turns that they belong to. */

import { decodeLine } from "../agents/agents.ts"
import { placeBeside } from "../agents/layouts.ts"
import { basename } from "../base/path.ts"
import { searchable } from "../record/searchable.ts"
import type { Part, TranscriptRecord } from "../record/types.ts"
import { isBesideCopy, withoutVersion } from "../vault/layout.ts"
import type { Database } from "./database.ts"
import { hash } from "./identity.ts"
import type { TranscriptRow } from "./transcript-rows.ts"
import type { WordWriter } from "./word-index.ts"

/** Bytes of whole lines in one message: what a search unpacks and cuts its passages from. */
const CHUNK = 16 << 10

/**
 * What a message's bytes say, in whichever copy they are.
 *
 * @param call whose output it is, if it is kept beside a transcript
 */
export const recordAt = (copy: string, text: string, call?: string): TranscriptRecord =>
  isBesideCopy(copy) ? { ...decodeLine("{}"), parts: [outputOf(text, call)] } : decodeLine(text)

const outputOf = (text: string, id = ""): Extract<Part, { kind: "toolResult" }> => ({
  kind: "toolResult",
  id,
  text,
  isError: false,
})

/** The call whose output is kept in a file, or else the turn in which the file came. */
interface Owner {
  readonly session: string
  readonly turn: number
  readonly tool: string
  readonly origin: string
  readonly sidechain: number
  readonly isError: number
  readonly time: string | null
}

/**
 * The call that says so or gave the file its name, of the session or one of its subagents.
 *
 * @returns undefined as long as no turn of the session is known from a transcript
 */
function ownerOf(db: Database, { session, path }: TranscriptRow): Owner | undefined {
  const name = basename(placeBeside(path)?.name ?? path)
  const main = session.split("/", 1)[0]!
  const call = db
    .query<Owner, { name: string; id: string; main: string }>(
      `SELECT c.session, c.turn, c.name AS tool, c.origin, c.sidechain, coalesce(c.is_error, 0) AS isError, m.time
       FROM tool_calls c LEFT JOIN messages m ON m.id = c.result
       WHERE (c.session = :main OR c.session > :main || '/' AND c.session < :main || '0')
         AND (c.output = :name OR c.id = :id) ORDER BY c.output IS NOT NULL DESC LIMIT 1`,
    )
    .get({ name, id: stemOf(name), main })
  if (call !== null) return call
  const turn = db.query<Owner, [string]>(
    `SELECT session, id AS turn, '' AS tool, 'tool' AS origin, 0 AS sidechain, 0 AS isError, ended AS time
     FROM turns WHERE session = ? AND via <> 'history' ORDER BY seq DESC LIMIT 1`,
  )
  return turn.get(session) ?? turn.get(main) ?? undefined
}

/** The call of a turn whose output is in the file of this copy. */
export const callOfFile = (db: Database, turn: number, copy: string): string | undefined => {
  const name = basename(withoutVersion(copy)).replace(/\.zst$/, "")
  const query = db.query<{ id: string }, [number, string, string]>(
    "SELECT id FROM tool_calls WHERE turn = ? AND (output = ? OR id = ?)",
  )
  return query.get(turn, name, stemOf(name))?.id
}

/** The same for the turn of a message. */
export const callOfMessage = (db: Database, message: number, copy: string): string | undefined => {
  const row = db.query<{ turn: number }, [number]>("SELECT turn FROM messages WHERE id = ?").get(message)
  return row === null ? undefined : callOfFile(db, row.turn, copy)
}

const stemOf = (name: string): string => name.replace(/\.[^.]*$/, "")

/** Whether it is known yet where the file belongs. */
export const isOwned = (db: Database, row: TranscriptRow): boolean => ownerOf(db, row) !== undefined

export class BesideRows {
  readonly #db: Database
  readonly #transcript: TranscriptRow
  readonly #words: WordWriter
  #owner: Owner | undefined
  #open: { readonly from: number; to: number; readonly lines: string[] } | undefined

  constructor(db: Database, transcript: TranscriptRow, words: WordWriter) {
    this.#db = db
    this.#transcript = transcript
    this.#words = words
  }

  /** @param to offset behind its last byte */
  add(line: string, offset: number, to: number): void {
    if (this.#open !== undefined && to - this.#open.from > CHUNK) this.flush()
    this.#open ??= { from: offset, to, lines: [] }
    this.#open.lines.push(line)
    this.#open.to = to
  }

  flush(): void {
    const open = this.#open
    this.#open = undefined
    this.#owner ??= ownerOf(this.#db, this.#transcript)
    if (open === undefined || this.#owner === undefined) return
    const { session, turn, tool, origin, sidechain, isError, time } = this.#owner
    const text = open.lines.join("\n")
    // The same for the copies of a session that has moved.
    const key = hash("beside", session, placeBeside(this.#transcript.path)?.name ?? "", `${open.from}`, text)
    if (this.#db.query("SELECT 1 FROM messages WHERE key = ?").get(key) !== null) return
    const { lastInsertRowid } = this.#db
      .query<unknown, (string | number | bigint | null)[]>(
        `INSERT INTO messages (key, session, turn, transcript, offset, length, role, sidechain, time, origin, kind)
         VALUES (?, ?, ?, ?, ?, ?, 'tool', ?, ?, ?, ?)`,
      )
      .run(
        key,
        session,
        turn,
        this.#transcript.id,
        open.from,
        open.to - open.from,
        sidechain,
        time,
        origin,
        isError === 1 ? "failure" : "result",
      )
    const project = this.#db
      .query<{ project: number | null }, [string]>(
        "SELECT coalesce(own, project) AS project FROM sessions WHERE id = ?",
      )
      .get(session)?.project
    this.#words.add(Number(lastInsertRowid), searchable([outputOf(text)], "tool").text, {
      project: project ?? undefined,
      session,
      role: "tool",
      tools: tool === "" ? [] : [tool],
      isError: isError === 1,
      time: time ?? undefined,
    })
  }
}
