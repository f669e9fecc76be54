/** A line that a model wrote about a session → rows of the views. */
import { type Observed, summaryLineOf } from "../transcript/model-summary.ts"
import { wordSet } from "../util/words.ts"
import type { Database } from "./database.ts"
import type { TranscriptRow } from "./transcript-rows.ts"

/** As long as a turn's handle at its shortest would collide once in some thousand. */
const HANDLE_LENGTH = 9

/**
 * A line that is not one, as after `forget --text`, is passed over, and one about another session than its copy: it would
 * stay when that session is forgotten.
 */
export function noteSummary(
  db: Database,
  { id: transcript, session: name }: Pick<TranscriptRow, "id" | "session">,
  text: string,
  offset: number,
): void {
  const line = summaryLineOf(text)
  if (line === undefined || line.session !== name.split("/", 1)[0]) return
  const { session, timestamp, model, seq, last, cost, summary } = line
  if (line.anew) db.query("DELETE FROM observations WHERE session = ?").run(session)
  db.query("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
    transcript,
    offset,
    session,
    timestamp,
    model,
    seq,
    last,
    cost,
    JSON.stringify(summary),
  )
  for (const [n, observation] of line.observations.entries())
    noteObservation(db, { transcript, session, time: line.ended, model }, observation, `${line.uuid} ${n}`)
}

interface Place {
  readonly transcript: number
  readonly session: string
  readonly time: string
  readonly model: string
}

function noteObservation(
  db: Database,
  { transcript, session, time, model }: Place,
  { type, title, ...fields }: Observed,
  name: string,
): void {
  const handle = Bun.hash.xxHash64(name, 0n).toString(36).padStart(HANDLE_LENGTH, "0").slice(-HANDLE_LENGTH)
  const { changes, lastInsertRowid } = db
    .query(
      `INSERT INTO observations (handle, transcript, session, time, model, type, title, fields)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    .run(handle, transcript, session, time, model, type, title, JSON.stringify(fields))
  // The same line once more, as another machine's copy of ours.
  if (changes === 0) return
  const words = [title, fields.narrative, ...fields.facts, ...fields.files].join("\n")
  db.query("INSERT INTO observation_words (rowid, text) VALUES (?, ?)").run(
    lastInsertRowid,
    [...wordSet(words)].join(" "),
  )
}
