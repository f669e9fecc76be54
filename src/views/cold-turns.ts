/**
 * Takes turns out of the index of words and the vectors, and puts them back. Nothing else of them changes: rows, handles,
 * lineage and what the vault holds stay. Which turns those are is not decided here (restore/worth/tiers.ts).
 */
import { isProse, type Origin, withoutForgedWords } from "../agents/origin.ts"
import { codeOf } from "../base/errors.ts"
import { searchable } from "../record/searchable.ts"
import type { Part } from "../record/types.ts"
import { isBesideCopy, vaultFile } from "../vault/layout.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { callOfMessage, recordAt } from "./beside-rows.ts"
import type { Database } from "./database.ts"
import { toolNameOf } from "./queries/messages.ts"
import { findable } from "./tool-rows.ts"
import { WordWriter } from "./word-index.ts"

/** @param turns few enough for one transaction */
export function chill(db: Database, turns: readonly number[]): void {
  const these = JSON.stringify(turns)
  const own = "IN (SELECT value FROM json_each(?))"
  db.transaction(() => {
    db.query(`DELETE FROM words WHERE rowid IN (SELECT id FROM messages WHERE turn ${own})`).run(these)
    db.query(`DELETE FROM vectors WHERE turn ${own}`).run(these)
    db.query(`UPDATE turns SET cold = 1 WHERE id ${own}`).run(these)
  }).immediate()
}

/**
 * The vectors are made again by the background job.
 *
 * @param turns few enough for one transaction
 * @returns those that stay cold, because the vault cannot be read there
 */
export function warm(
  db: Database,
  dataHome: string,
  turns: readonly number[],
  readers: CopyReaders,
): number[] {
  return db
    .transaction(() => {
      const words = new WordWriter(db)
      const left = turns.filter((turn) => !addWords(db, dataHome, turn, words, readers))
      words.flush()
      const warmed = turns.filter((turn) => !left.includes(turn))
      db.query("UPDATE turns SET cold = 0 WHERE id IN (SELECT value FROM json_each(?))").run(
        JSON.stringify(warmed),
      )
      return left
    })
    .immediate()
}

interface ColdMessage {
  readonly id: number
  readonly session: string
  readonly project: number | null
  readonly copy: string
  readonly offset: number
  readonly length: number
  readonly role: string
  readonly origin: Origin
  readonly kind: string
  readonly sidechain: number
  readonly time: string | null
  readonly isNamed: number
}

/** Messages of the turn that have no words. If it has grown since, its new ones have theirs. */
const coldMessages = (db: Database, turn: number): ColdMessage[] =>
  db
    .query<ColdMessage, [number]>(
      `SELECT m.id, m.session, coalesce(s.own, s.project) AS project, t.copy, m.offset, m.length, m.role, m.origin, m.kind, m.sidechain, m.time,
         m.alias IS NOT NULL AS isNamed
       FROM messages m JOIN transcripts t ON t.id = m.transcript LEFT JOIN sessions s ON s.id = m.session
       WHERE m.turn = ? AND m.id NOT IN (SELECT id FROM words_docsize) ORDER BY m.id`,
    )
    .all(turn)

/** @returns false, with nothing added, if the vault cannot be read there */
function addWords(
  db: Database,
  dataHome: string,
  turn: number,
  words: WordWriter,
  readers: CopyReaders,
): boolean {
  try {
    const read = coldMessages(db, turn).map((row) => {
      const file = vaultFile(dataHome, row.copy)
      return { row, line: readers.of(file).read(row.offset, row.offset + row.length) }
    })
    for (const { row, line } of read) addMessage(db, row, utf8.decode(line), words)
    return true
  } catch (error) {
    if (!codeOf(error).startsWith("vault-")) throw error
    return false
  }
}

const utf8 = new TextDecoder()

/** What the indexer gave it (turn-writer.ts), from the line and what the views know of it. */
function addMessage(db: Database, row: ColdMessage, line: string, words: WordWriter): void {
  const { id, session, project, role, origin, kind, sidechain, time } = row
  const nameOf = (call: string): string | undefined => toolNameOf(db, session, call)
  const toolOf = (part: Part): string | undefined => {
    if (part.kind === "toolUse") return part.name
    return part.kind === "toolResult" ? nameOf(part.id) : undefined
  }
  const isBeside = isBesideCopy(row.copy)
  const record = recordAt(row.copy, line, isBeside ? callOfMessage(db, id, row.copy) : undefined)
  const spoken = record.parts.filter((part) => part.kind !== "title")
  const parts = withoutForgedWords(spoken, nameOf, record.version)
  // A prompt that was taken out of the queue is found where that happened (queued-prompts.ts).
  const isTakenOut = row.isNamed === 0 && parts.some((part) => part.kind === "enqueued")
  if (isTakenOut) {
    words.add(id, "", {})
    return
  }
  words.add(id, searchable(findable(parts, toolOf), role).text, {
    project: project ?? undefined,
    session,
    role,
    tools: parts.flatMap((part) => toolOf(part) ?? []),
    isError: parts.some(
      (part) =>
        part.kind === "apiError" || (part.kind === "toolResult" && failed(db, session, part.id, isBeside)),
    ),
    isSaid: sidechain === 0 && (kind === "prompt" || kind === "answer") && isProse(origin),
    time: time ?? undefined,
  })
}

/** What is kept in a file beside the transcript counts as failed only if its call did (beside-rows.ts). */
const failed = (db: Database, session: string, call: string, isBeside: boolean): boolean =>
  db
    .query(
      `SELECT 1 FROM tool_calls WHERE session = ? AND id = ? AND ${isBeside ? "is_error = 1" : "error IS NOT NULL"}`,
    )
    .get(session, call) !== null
