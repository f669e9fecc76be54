/**
 * Keeps what the views know of copies that the vault can no longer give back: when views are made anew, the sessions
 * concerned come over from the former ones, as they were. A copy that is gone altogether is marked in its row.
 */
import { FILTERED, filterText } from "../secrets/filter.ts"
import { isHistoryCopy, vaultFile } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { readTombstone } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import type { Database } from "./database.ts"
import { sessionKey } from "./identity.ts"
import type { ViewsGap } from "./indexing.ts"
import { goneEnding } from "./transcript-rows.ts"

interface StashOptions {
  /** Name of the former views' database in this connection. */
  readonly from: "main" | "old"
  /** What cannot be read in copies that are there. */
  readonly gaps?: readonly ViewsGap[]
  /** Whether the views may keep what they know of a session. */
  readonly isKept: (session: string, path: string) => boolean
}

/** What of a session is held, by what: the rows that `removal.ts` deletes. */
const THEIRS: Readonly<Record<string, string>> = {
  sessions: "id IN (SELECT id FROM temp.stashed)",
  transcripts: "session IN (SELECT id FROM temp.stashed)",
  turns: "session IN (SELECT id FROM temp.stashed)",
  messages: "turn IN (SELECT id FROM temp.held_turns)",
  tool_calls: "session IN (SELECT id FROM temp.stashed)",
  files: "turn IN (SELECT id FROM temp.held_turns)",
  usage: "session IN (SELECT id FROM temp.stashed)",
  results: "session IN (SELECT id FROM temp.stashed)",
  notes: "session IN (SELECT id FROM temp.stashed)",
  boundaries: "session IN (SELECT id FROM temp.stashed)",
  facts: "session IN (SELECT key FROM temp.stashed)",
  lineage: "kind = 'fork' AND child IN (SELECT id FROM temp.stashed)",
  summaries: "transcript IN (SELECT id FROM temp.held_transcripts)",
  observations: "transcript IN (SELECT id FROM temp.held_transcripts)",
}

/** Columns with words of the session: what is recognised as a secret by now must not come over. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  sessions: ["title", "todos"],
  turns: ["prompt", "answer", "todos"],
  tool_calls: ["target", "error"],
  notes: ["text"],
  facts: ["text", "form"],
  summaries: ["fields"],
  observations: ["title", "fields"],
}

interface Row {
  readonly id: number
  readonly copyId: string
  readonly copy: string
  readonly session: string
  readonly path: string
  readonly indexed: number
}

/**
 * Puts the rows of sessions aside of which the vault lacks something. Call outside a transaction, or inside one that
 * also calls `putLost`.
 *
 * @returns whether there are any
 */
export function stashLost(
  db: Database,
  dataHome: string,
  { from, gaps = [], isKept }: StashOptions,
): boolean {
  const held = heldCopies(dataHome)
  const all = db
    .query<Row, []>(`SELECT id, copy_id AS copyId, copy, session, path, indexed FROM ${from}.transcripts`)
    .all()
  const left = new Set(
    all.filter(({ session, path }) => !isKept(session, path)).map(({ session }) => session),
  )
  const rows = all.filter(({ session, path }) => isKept(session, path))
  const lost = rows.flatMap((row) => {
    const there = held.get(row.copyId)
    const unread = gaps.filter((gap) => gap.copyId === row.copyId).map((gap) => [gap.from, gap.to])
    const stretches = [[there?.to ?? 0, Number.MAX_SAFE_INTEGER], ...unread]
    return stretches
      .filter(([start]) => start! < row.indexed)
      .map(([start, end]) => ({ ...row, start: start!, end: end! }))
  })
  dropStash(db)
  db.run("CREATE TEMP TABLE lost (transcript INTEGER, part TEXT, start INTEGER, end INTEGER)")
  db.run("CREATE TEMP TABLE places (copy_id TEXT PRIMARY KEY, copy TEXT)")
  const isHeld = db.query<unknown, [string, number, number, number]>(
    `SELECT 1 FROM ${from}.turns t CROSS JOIN ${from}.messages m ON m.turn = t.id
     WHERE t.session IN (SELECT value FROM json_each(?)) AND m.transcript = ? AND m.offset >= ? AND m.offset < ?
     LIMIT 1`,
  )
  const isSummarised = db.query<unknown, [number, number, number]>(
    `SELECT 1 FROM ${sourceOf(db, from, "summaries")} WHERE transcript = ? AND offset >= ? AND offset < ? LIMIT 1`,
  )
  const partOf = parts(db, from, (session) => !left.has(session) && isKept(session, session))
  const stashed = new Map<string, string>()
  for (const { id, session, copy, start, end } of lost) {
    const part = partOf(session, copy)
    if (
      isHeld.get(JSON.stringify(part.sessions), id, start, end) === null &&
      isSummarised.get(id, start, end) === null
    )
      continue
    for (const one of part.sessions) stashed.set(one, part.name)
    db.query("INSERT INTO temp.lost VALUES (?, ?, ?, ?)").run(id, part.name, start, end)
  }
  if (stashed.size === 0) return false
  for (const [id, { copy }] of held) db.query("INSERT INTO temp.places VALUES (?, ?)").run(id, copy)
  db.run("CREATE TEMP TABLE stashed (id TEXT PRIMARY KEY, key INTEGER, part TEXT)")
  for (const [id, part] of stashed)
    db.query("INSERT INTO temp.stashed VALUES (?, ?, ?)").run(id, sessionKey(id), part)
  for (const [table, where] of Object.entries(THEIRS))
    db.run(`CREATE TEMP TABLE held_${table} AS SELECT * FROM ${sourceOf(db, from, table)} WHERE ${where}`)
  db.run(`CREATE TEMP TABLE held_projects AS SELECT * FROM ${from}.projects`)
  for (const [words, of] of [
    ["words", "messages"],
    ["observation_words", "observations"],
  ] as const)
    stashWords(db, from, words, of)
  return true
}

/** Sessions of which messages are in copies of each other: they come over together, or not at all. */
interface Part {
  readonly name: string
  readonly sessions: readonly string[]
}

/**
 * Tells who shares copies with a session. The long outputs of subagents are beside their session's transcript, and all
 * that is known only from the list of prompts is in that.
 */
function parts(
  db: Database,
  from: string,
  isKept: (session: string) => boolean,
): (session: string, copy: string) => Part {
  const prompted = db.query<{ id: string }, []>(
    `SELECT DISTINCT session AS id FROM ${from}.turns
     WHERE via = 'history' AND session NOT IN (SELECT session FROM main.transcripts)`,
  )
  const sharing = db.query<{ id: string; other: string }, { main: string }>(
    `SELECT DISTINCT t.session AS id, c.session AS other
     FROM ${from}.turns t CROSS JOIN ${from}.messages m ON m.turn = t.id
       CROSS JOIN ${from}.transcripts c ON c.id = m.transcript
     WHERE (t.session = :main OR t.session > :main || '/' AND t.session < :main || '0') AND c.session <> t.session`,
  )
  const known = new Map<string, readonly string[]>()
  const shared = (name: string, isHistory: boolean): readonly string[] => {
    const found = isHistory
      ? [name, ...prompted.all().map(({ id }) => id)]
      : sharing.all({ main: name }).flatMap(({ id, other }) => [id, other])
    return [...new Set(found)]
  }
  return (session, copy) => {
    const isHistory = isHistoryCopy(copy)
    const name = isHistory || session.startsWith("unknown/") ? session : session.split("/", 1)[0]!
    const all = known.get(name) ?? shared(name, isHistory)
    known.set(name, all)
    return all.includes(session)
      ? { name, sessions: all.filter((one) => one === session || isKept(one)) }
      : { name: session, sessions: [session] }
  }
}

/** Views of an earlier version may lack a table: then there is nothing in it, as there may be here. */
function sourceOf(db: Database, from: string, table: string): string {
  const there = db.query(`SELECT 1 FROM ${from}.sqlite_schema WHERE name = ?`).get(table)
  return there === null ? `(SELECT * FROM main.${table} WHERE false)` : `${from}.${table}`
}

/** The index has no texts, only which word is where: one walk through it gives the words of all that is held. */
function stashWords(db: Database, from: string, words: string, of: string): void {
  db.run(`CREATE TEMP TABLE held_${words} (id INTEGER, text TEXT)`)
  if (db.query(`SELECT 1 FROM ${from}.sqlite_schema WHERE name = ?`).get(words) === null) return
  db.run(`CREATE VIRTUAL TABLE temp.${words}_places USING fts5vocab('${from}', '${words}', 'instance')`)
  db.run(
    `INSERT INTO temp.held_${words} SELECT doc, group_concat(term, ' ') FROM temp.${words}_places
     WHERE doc IN (SELECT id FROM temp.held_${of}) GROUP BY doc`,
  )
  db.run(
    `INSERT INTO temp.held_${words} SELECT id, '' FROM ${from}.${words}_docsize
     WHERE id IN (SELECT id FROM temp.held_${of}) AND id NOT IN (SELECT id FROM temp.held_${words})`,
  )
  db.run(`DROP TABLE temp.${words}_places`)
}

interface Held {
  readonly copy: string
  readonly to: number
}

/** What can be read in the vault, by the copies' ids. */
function heldCopies(dataHome: string): Map<string, Held> {
  const found = new Map<string, Held>()
  for (const { copy } of vaultFiles(dataHome)) {
    const tail = tailOf(vaultFile(dataHome, copy))
    if (tail === undefined) continue
    const to = tail.last?.to ?? 0
    if ((found.get(tail.header.id)?.to ?? -1) < to) found.set(tail.header.id, { copy, to })
  }
  return found
}

/** Whether nothing of a session was forgotten: the texts of a lost copy cannot be searched for it. */
export const isUnforgotten = (dataHome: string, owner: string): boolean =>
  readTombstone(dataHome, owner) === undefined

/**
 * Puts the sessions back of which these views have less than what was put aside, in place of what they have. Call in
 * the caller's transaction.
 *
 * @param rewrite fills what is not to be kept in texts; then the words, which it cannot fill, stay out
 * @returns the sessions
 */
export function putLost(db: Database, rewrite?: (text: string) => string): string[] {
  db.run(
    `DELETE FROM temp.stashed WHERE part NOT IN (SELECT l.part FROM temp.lost l WHERE
       EXISTS (SELECT 1 FROM temp.held_messages m WHERE m.transcript = l.transcript AND m.offset >= l.start
         AND m.offset < l.end AND m.key NOT IN (SELECT key FROM main.messages))
       OR EXISTS (SELECT 1 FROM temp.held_summaries s WHERE s.transcript = l.transcript AND s.offset >= l.start
         AND s.offset < l.end))`,
  )
  // Also those of which only these views know messages in the same copies: they are read again.
  const sessions = db
    .query<{ session: string }, []>(
      `SELECT id AS session FROM temp.stashed
       UNION SELECT t.session FROM main.messages m JOIN main.turns t ON t.id = m.turn WHERE m.transcript IN (
         SELECT id FROM main.transcripts WHERE session IN (SELECT id FROM temp.stashed))`,
    )
    .all()
    .map(({ session }) => session)
  if (sessions.length > 0) {
    deleteRows(db, sessions)
    trim(db)
    fillTexts(db, (text) => filterText(rewrite?.(text) ?? text, FILTERED))
    insert(db, rewrite === undefined)
  }
  dropStash(db)
  return sessions
}

/** Triggers delete the messages' words and vectors. */
export function deleteRows(db: Database, sessions: readonly string[]): void {
  const names = JSON.stringify(sessions)
  const their = "IN (SELECT value FROM json_each(?))"
  const turns = `turn IN (SELECT id FROM turns WHERE session ${their})`
  const transcripts = `transcript IN (SELECT id FROM transcripts WHERE session ${their})`
  for (const where of [
    `summaries WHERE ${transcripts}`,
    `observations WHERE ${transcripts}`,
    `messages WHERE ${turns}`,
    `files WHERE ${turns}`,
    ...["tool_calls", "usage", "results", "notes", "boundaries", "turns", "transcripts"].map(
      (table) => `${table} WHERE session ${their}`,
    ),
    `sessions WHERE id ${their}`,
    // Who followed whom after /clear, only hooks know.
    `lineage WHERE kind = 'fork' AND child ${their}`,
  ]) {
    db.query<unknown, [string]>(`DELETE FROM ${where}`).run(names)
  }
  const facts = db.query<unknown, [bigint]>("DELETE FROM facts WHERE session = ?")
  for (const session of sessions) facts.run(sessionKey(session))
}

/** Leaves what other sessions have by now: lines that several have belong to whichever can be read. */
function trim(db: Database): void {
  for (const [table, where] of Object.entries(THEIRS))
    if (table !== "messages" && table !== "files")
      db.run(`DELETE FROM temp.held_${table} WHERE NOT (${where})`)
  db.run("CREATE TEMP TABLE keys AS SELECT id, key, turn FROM temp.held_messages")
  db.run(
    `DELETE FROM temp.held_messages WHERE turn NOT IN (SELECT id FROM temp.held_turns)
     OR key IN (SELECT key FROM main.messages)`,
  )
  db.run(
    `DELETE FROM temp.held_turns WHERE id IN (SELECT turn FROM temp.keys)
     AND id NOT IN (SELECT turn FROM temp.held_messages)`,
  )
  const taken = db
    .query<{ id: number; handle: string }, []>(
      "SELECT id, handle FROM temp.held_turns WHERE handle IN (SELECT handle FROM main.turns)",
    )
    .all()
  const isTaken = db.query(
    "SELECT 1 FROM main.turns WHERE handle = ?1 UNION SELECT 1 FROM temp.held_turns WHERE handle = ?1",
  )
  for (const { id, handle } of taken) {
    let n = 2
    while (isTaken.get(`${handle}${n}`) !== null) n++
    db.query("UPDATE temp.held_turns SET handle = ? WHERE id = ?").run(`${handle}${n}`, id)
  }
}

function fillTexts(db: Database, rewrite: (text: string) => string): void {
  for (const [table, columns] of Object.entries(TEXTS)) {
    const there = columnsOf(db, `held_${table}`, "temp")
    for (const column of columns.filter((one) => there.includes(one))) {
      const rows = db
        .query<{ row: number; text: string | null }, []>(
          `SELECT rowid AS row, ${column} AS text FROM temp.held_${table}`,
        )
        .all()
      for (const { row, text } of rows) {
        const now = text === null ? null : rewrite(text)
        if (now !== text)
          db.query(`UPDATE temp.held_${table} SET ${column} = ? WHERE rowid = ?`).run(now, row)
      }
    }
  }
}

const columnsOf = (db: Database, table: string, schema: "main" | "temp"): string[] =>
  db
    .query<{ name: string }, []>(`SELECT name FROM pragma_table_info('${table}', '${schema}')`)
    .all()
    .map(({ name }) => name)

/** Rows get numbers behind those that are there. */
function insert(db: Database, withWords: boolean): void {
  const last = (table: string): number =>
    db.query<{ n: number | null }, []>(`SELECT max(id) AS n FROM main.${table}`).get()?.n ?? 0
  const [transcripts, turns, messages, observations] = [
    last("transcripts"),
    last("turns"),
    last("messages"),
    last("observations"),
  ]
  const message = (column: string): string =>
    `coalesce((SELECT m.id + ${messages} FROM temp.held_messages m WHERE m.id = h.${column}),
       (SELECT m.id FROM main.messages m JOIN temp.keys k ON k.key = m.key WHERE k.id = h.${column}))`
  const transcript = { transcript: `h.transcript + ${transcripts}` }
  const turn = { turn: `h.turn + ${turns}` }
  const ofTurn = "h.turn IN (SELECT id FROM temp.held_turns)"
  // An earlier version's views join no projects.
  if (!columnsOf(db, "held_sessions", "temp").includes("own"))
    db.run("ALTER TABLE temp.held_sessions ADD COLUMN own INTEGER")
  db.run(
    `INSERT OR IGNORE INTO main.projects (path) SELECT o.path FROM temp.held_projects o
     JOIN temp.held_sessions h ON o.id = h.project OR o.id = h.own`,
  )
  const place =
    "FROM main.projects p JOIN temp.held_projects o ON o.path = p.path WHERE o.id = coalesce(h.own, h.project)"
  copy(db, "sessions", {
    project: `(SELECT coalesce(p.joined, p.id) ${place})`,
    own: `(SELECT iif(p.joined IS NULL, NULL, p.id) ${place})`,
  })
  copy(db, "transcripts", {
    id: `h.id + ${transcripts}`,
    copy: `coalesce((SELECT p.copy FROM temp.places p WHERE p.copy_id = h.copy_id),
      CASE WHEN h.copy LIKE '%' || '${goneEnding("")}' || h.copy_id THEN h.copy ELSE h.copy || '${goneEnding("")}' || h.copy_id END)`,
    turn: `CASE WHEN h.turn IN (SELECT id FROM temp.held_turns) THEN h.turn + ${turns} END`,
  })
  copy(db, "turns", { id: `h.id + ${turns}`, ...transcript })
  copy(db, "messages", { id: `h.id + ${messages}`, ...turn, ...transcript })
  copy(db, "tool_calls", { ...turn, use: message("use"), result: message("result") }, ofTurn)
  copy(db, "files", turn, ofTurn)
  copy(db, "usage", turn, ofTurn)
  copy(db, "results", transcript)
  copy(db, "notes", turn, ofTurn)
  copy(db, "boundaries", transcript)
  copy(
    db,
    "facts",
    { since: `h.since + ${turns}`, latest: message("latest") },
    `h.since IN (SELECT id FROM temp.held_turns) AND ${message("latest")} IS NOT NULL`,
  )
  copy(db, "lineage", {
    turn: `CASE WHEN h.turn IN (SELECT id FROM temp.held_turns) THEN h.turn + ${turns} END`,
  })
  copy(db, "summaries", transcript)
  copy(db, "observations", { id: `h.id + ${observations}`, ...transcript })
  putWords(db, "words", "messages", messages, withWords)
  putWords(db, "observation_words", "observations", observations, withWords)
}

/** @param changed how columns are made of the held row `h`; all others stay as they are */
function copy(db: Database, table: string, changed: Readonly<Record<string, string>>, where = "true"): void {
  const held = columnsOf(db, `held_${table}`, "temp")
  const columns = columnsOf(db, table, "main").filter((one) => held.includes(one))
  const values = columns.map((one) => changed[one] ?? `h.${one}`)
  db.run(
    `INSERT OR IGNORE INTO main.${table} (${columns.join(", ")})
     SELECT ${values.join(", ")} FROM temp.held_${table} h WHERE ${where}`,
  )
}

function putWords(db: Database, words: string, of: string, base: number, withWords: boolean): void {
  const projects = new Map(
    db
      .query<{ was: number; now: number }, []>(
        "SELECT o.id AS was, p.id AS now FROM temp.held_projects o JOIN main.projects p ON p.path = o.path",
      )
      .all()
      .map(({ was, now }) => [String(was), String(now)]),
  )
  const rows = db
    .query<{ id: number; text: string }, []>(
      `SELECT h.id, h.text FROM temp.held_${words} h JOIN temp.held_${of} o ON o.id = h.id
       JOIN main.${of} m ON m.id = h.id + ${base}`,
    )
    .all()
  const put = db.query(`INSERT INTO main.${words} (rowid, text) VALUES (?, ?)`)
  for (const { id, text } of rows) {
    // Filter words name projects by their numbers (word-index.ts).
    const now = text.replaceAll(/(?<=^| )§([pw])(\d+)(?= |$)/g, (all, kind: string, number: string) => {
      const project = projects.get(number)
      return project === undefined ? all : `§${kind}${project}`
    })
    put.run(id + base, withWords ? now : "")
  }
}

function dropStash(db: Database): void {
  const tables = db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_temp_schema WHERE type = 'table' AND (name LIKE 'held\\_%' ESCAPE '\\' OR name IN ('lost', 'places', 'stashed', 'keys'))",
    )
    .all()
  for (const { name } of tables) db.run(`DROP TABLE temp.${name}`)
}
