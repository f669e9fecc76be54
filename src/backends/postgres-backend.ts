/** Keeps entries in PostgreSQL, with pgvector where it is there. */
import { wordSet } from "../util/words.ts"
import type { Backend, EntryQuery, FoundEntry } from "./backend.ts"
import { type Entry, isEntry } from "./entry.ts"
import { isNamed } from "./entry-filter.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { connect } from "./postgres-door.ts"
import { narrowedTo } from "./postgres-filters.ts"
import { FORGETTING, SHARED, TENANT } from "./postgres-finding.ts"
import { VECTOR_LENGTH } from "./postgres-migrations.ts"
import { prepareTables, type Tables, tablesThere } from "./postgres-schema.ts"

/** ms for one call. */
const DEADLINE = 30_000
/** UTF-16 units of an entry's words that are indexed: PostgreSQL takes 1 MB of them. */
const MOST_WORDS = 250_000

/** Of memory, to add to the index of words at once: with the 4 MB of most servers, it takes half as long again. */
const MERGING = 64

/** @param isReader whether nothing is made or brought up to date there */
export async function openPostgresBackend(
  address: ServerAddress,
  deadline = DEADLINE,
  isReader = false,
): Promise<Backend> {
  const server = connect(address, deadline)
  let tables: Tables
  try {
    tables = await (isReader ? tablesThere : prepareTables)(server, address.shown)
  } catch (error) {
    await server.close()
    throw error
  }
  const rowsText = (entries: readonly Entry[]): string =>
    JSON.stringify(entries.map((entry) => rowOf(entry, tables)))
  const prepared = new WeakMap<readonly Entry[], string>()
  return {
    id: tables.id,

    prepare(entries) {
      prepared.set(entries, rowsText(entries))
    },

    async put(entries) {
      if (entries.length === 0) return { stored: 0, known: 0, refused: 0 }
      const given = prepared.get(entries) ?? rowsText(entries)
      const [counts] = await server.transaction(async (ask) => {
        await ask(
          `SELECT pg_advisory_xact_lock_shared(${FORGETTING}), set_config('work_mem', '${MERGING}MB', true)`,
        )
        return ask(putting(tables), [given])
      })
      const { stored, alive } = counts as unknown as { stored: number; alive: number }
      return { stored, known: alive - stored, refused: entries.length - alive }
    },

    async find(query) {
      if (!isComparable(query, tables)) return []
      const found = await server.ask(...finding(query, tables))
      // A project that is shared may hold the same turn as one of ours.
      const once = new Map(found.map((row) => [row["id"], foundIn(row)]))
      return [...once.values()]
    },

    async get(id) {
      const [row] = await server.ask(
        `SELECT id, key, summary, content, metadata, embedder, embedding::text AS embedding
         FROM ctxbridge.entries WHERE id >= $1 AND (tenant = ${TENANT} OR ${SHARED})
         ORDER BY id, tenant = ${TENANT} DESC LIMIT 1`,
        [id],
      )
      if (row === undefined || !isNamed(String(row["id"]), id)) return undefined
      const { embedder, embedding, ...rest } = row
      const entry = embedder === null ? rest : { ...rest, vector: { embedder, values: numbersIn(embedding) } }
      return isEntry(entry) ? entry : undefined
    },

    async forget({ ids = [], sessions = [] }) {
      const names = [
        ...ids.map((name) => ({ kind: "id", name })),
        ...sessions.map((name) => ({ kind: "session", name })),
      ]
      const rows = await server.transaction(async (ask) => {
        await ask(`SELECT pg_advisory_xact_lock(${FORGETTING})`)
        const given = "jsonb_to_recordset($1::text::jsonb) AS f(kind text, name text)"
        const parameters = [JSON.stringify(names)]
        const keeping = `INSERT INTO ctxbridge.forgotten (kind, name) SELECT kind, name FROM ${given} ON CONFLICT DO NOTHING`
        await ask(keeping, parameters)
        return ask(
          `DELETE FROM ctxbridge.entries e WHERE tenant = ${TENANT} AND ${isIn(given)} RETURNING 1`,
          parameters,
        )
      })
      return rows.length
    },

    async stats() {
      const [row] = await server.ask(
        `SELECT count(*)::int AS entries, count(DISTINCT session)::int AS sessions,
           (SELECT count(*)::int FROM ctxbridge.forgotten WHERE tenant = ${TENANT}) AS forgotten
         FROM ctxbridge.entries WHERE tenant = ${TENANT}`,
      )
      const { entries, sessions, forgotten } = row as unknown as Record<string, number>
      return { entries: entries!, sessions: sessions!, forgotten: forgotten!, damaged: 0 }
    },

    close: () => server.close(),
  }
}

/** Whether the row `e` is among what is forgotten, in rows `f`. */
const isIn = (forgotten: string): string => `(e.id IN (SELECT f.name FROM ${forgotten} WHERE f.kind = 'id')
  OR EXISTS (SELECT FROM ${forgotten} WHERE f.kind = 'session'
    AND (e.session = f.name OR starts_with(e.session, f.name || '/'))))`

/** Says which version of a turn is the later one, as `isLater` does. */
const rank = (of: string): string =>
  `(${of}.messages, ${of}.taken_back::int, ${of}.id, (${of}.embedding IS NOT NULL)::int)`

const COLUMNS = "key, id, session, project, started, messages, taken_back, summary, content, metadata"

const putting = ({ vectors }: Tables): string => `
  WITH given AS (
    SELECT * FROM jsonb_to_recordset($1::text::jsonb) AS g(key text, id text, session text, project text, started text,
      messages int, taken_back boolean, summary text, content text, metadata jsonb, words tsvector, about text[],
      embedder text, embedding ${vectors ?? "real[]"}, signs varbit)
  ), alive AS (
    SELECT * FROM given e WHERE NOT ${isIn(`(SELECT * FROM ctxbridge.forgotten WHERE tenant = ${TENANT}) f`)}
  ), stored AS (
    INSERT INTO ctxbridge.entries AS old (${COLUMNS}, words, about, embedder, embedding, signs)
    SELECT DISTINCT ON (key COLLATE "C") ${COLUMNS}, words, about, embedder, embedding, signs FROM alive
    ORDER BY key COLLATE "C", messages DESC, taken_back DESC, id COLLATE "C" DESC, embedding IS NULL
    ON CONFLICT (tenant, key) DO UPDATE SET id = excluded.id, session = excluded.session, project = excluded.project,
      started = excluded.started, messages = excluded.messages, taken_back = excluded.taken_back,
      summary = excluded.summary, content = excluded.content, metadata = excluded.metadata, words = excluded.words,
      about = excluded.about, embedder = excluded.embedder, embedding = excluded.embedding, signs = excluded.signs,
      stored = now()
    WHERE ${rank("excluded")} > ${rank("old")}
    RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM alive) AS alive, (SELECT count(*)::int FROM stored) AS stored`

function rowOf({ metadata, vector, ...entry }: Entry, { vectors }: Tables) {
  // A column of pgvector has one length. What is of another is found by its words.
  const kept = vectors === undefined || vector?.values.length === VECTOR_LENGTH ? vector : undefined
  return {
    ...entry,
    session: metadata.sessionId,
    project: metadata.project,
    started: metadata.timestamp,
    messages: metadata.messages,
    taken_back: metadata.takenBack,
    metadata,
    words: indexed(entry.content).map(lexeme).join(" "),
    about: [...wordSet(entry.summary)],
    embedder: kept?.embedder ?? null,
    embedding: kept === undefined ? null : numbersText(kept.values, vectors),
    signs: kept === undefined || vectors !== undefined ? null : signsText(kept.values),
  }
}

function indexed(content: string): string[] {
  const words: string[] = []
  let length = 0
  for (const word of wordSet(content)) {
    length += word.length
    if (length > MOST_WORDS) break
    words.push(word)
  }
  return words
}

const numbersText = (values: readonly number[], vectors: string | undefined): string =>
  vectors === undefined ? `{${values.join()}}` : `[${values.join()}]`

const signsText = (values: readonly number[]): string => values.map((value) => (value > 0 ? 1 : 0)).join("")

const numbersIn = (text: unknown): number[] => String(text).slice(1, -1).split(",").map(Number)

const foundIn = ({ content, ...row }: Readonly<Record<string, unknown>>): FoundEntry =>
  ({ ...row, ...(content !== null && { content }) }) as unknown as FoundEntry

/** A column of pgvector has one length. */
const isComparable = (query: EntryQuery, { vectors }: Tables): boolean =>
  "words" in query || vectors === undefined || query.vector.values.length === VECTOR_LENGTH

/** The same score as in a folder, so that hits of both can be put together. */
function finding(query: EntryQuery, { vectors }: Tables): [statement: string, parameters: string[]] {
  const narrowing = [narrowedTo(query), String(Math.max(1, Math.trunc(query.limit)))]
  const calling = (name: string, about: string): string =>
    `SELECT * FROM ctxbridge.${name}(${about}, $3::text::jsonb, $4::text::integer)`
  if ("words" in query) {
    const wanted = [...wordSet(query.words)]
    const array = "ARRAY(SELECT jsonb_array_elements_text($1::text::jsonb))"
    const words = [JSON.stringify(wanted), wanted.map(lexeme).join(query.isAny ? " | " : " & ")]
    return [calling("find_by_words", `${array}, $2::text::tsquery`), [...words, ...narrowing]]
  }
  const { embedder, values } = query.vector
  const vector = [numbersText(values, vectors), embedder]
  return [calling("find_by_vector", "$1::text, $2::text"), [...vector, ...narrowing]]
}

const lexeme = (word: string): string => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
