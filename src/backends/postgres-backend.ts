/** Keeps entries in PostgreSQL, with pgvector where it is there. */
import { wordSet } from "../util/words.ts"
import type { Backend, EntryQuery, FoundEntry } from "./backend.ts"
import { type Entry, isEntry } from "./entry.ts"
import { isNamed } from "./entry-filter.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { connect } from "./postgres-door.ts"
import { conditionsOf } from "./postgres-filters.ts"
import { FORGETTING, prepareTables, type Tables, tablesThere, VECTOR_LENGTH } from "./postgres-schema.ts"

/** ms for one call. */
const DEADLINE = 30_000
/** UTF-16 units of an entry's words that are indexed: PostgreSQL takes 1 MB of them. */
const MOST_WORDS = 250_000

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
  return {
    id: tables.id,

    async put(entries) {
      if (entries.length === 0) return { stored: 0, known: 0, refused: 0 }
      const given = JSON.stringify(entries.map((entry) => rowOf(entry, tables)))
      const [counts] = await server.transaction(async (ask) => {
        await ask(`SELECT pg_advisory_xact_lock_shared(${FORGETTING})`)
        return ask(putting(tables), [given])
      })
      const { stored, alive } = counts as unknown as { stored: number; alive: number }
      return { stored, known: alive - stored, refused: entries.length - alive }
    },

    async find(query) {
      const { sql, parameters } = finding(query, tables)
      const rows = await server.ask(sql, parameters)
      return rows.map((row) => ({ ...(row as unknown as FoundEntry), score: Number(row["score"]) }))
    },

    async get(id) {
      const [row] = await server.ask(
        `SELECT id, key, summary, content, metadata, embedder, embedding::text AS embedding
         FROM ctxbridge.entries WHERE id >= $1 ORDER BY id LIMIT 1`,
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
        const keeping = `INSERT INTO ctxbridge.forgotten SELECT kind, name FROM ${given} ON CONFLICT DO NOTHING`
        await ask(keeping, parameters)
        return ask(`DELETE FROM ctxbridge.entries e WHERE ${isIn(given)} RETURNING 1`, parameters)
      })
      return rows.length
    },

    async stats() {
      const [row] = await server.ask(
        `SELECT count(*)::int AS entries, count(DISTINCT session)::int AS sessions,
           (SELECT count(*)::int FROM ctxbridge.forgotten) AS forgotten FROM ctxbridge.entries`,
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
    SELECT ${COLUMNS}, embedder, embedding::${vectors === undefined ? "real[]" : `${vectors}.vector`} AS embedding,
      coalesce((SELECT array_to_tsvector(array_agg(w)) FROM jsonb_array_elements_text(words) w), ''::tsvector) AS words,
      ARRAY(SELECT jsonb_array_elements_text(about)) AS about
    FROM jsonb_to_recordset($1::text::jsonb) AS g(key text, id text, session text, project text, started text,
      messages int, taken_back boolean, summary text, content text, metadata jsonb, words jsonb, about jsonb,
      embedder text, embedding text)
  ), alive AS (
    SELECT * FROM given e WHERE NOT ${isIn("ctxbridge.forgotten f")}
  ), stored AS (
    INSERT INTO ctxbridge.entries AS old (${COLUMNS}, words, about, embedder, embedding)
    SELECT DISTINCT ON (key COLLATE "C") ${COLUMNS}, words, about, embedder, embedding FROM alive
    ORDER BY key COLLATE "C", messages DESC, taken_back DESC, id COLLATE "C" DESC, embedding IS NULL
    ON CONFLICT (key) DO UPDATE SET id = excluded.id, session = excluded.session, project = excluded.project,
      started = excluded.started, messages = excluded.messages, taken_back = excluded.taken_back,
      summary = excluded.summary, content = excluded.content, metadata = excluded.metadata, words = excluded.words,
      about = excluded.about, embedder = excluded.embedder, embedding = excluded.embedding, stored = now()
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
    words: indexed(entry.content),
    about: [...wordSet(entry.summary)],
    embedder: kept?.embedder ?? null,
    embedding: kept === undefined ? null : numbersText(kept.values, vectors),
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

const numbersIn = (text: unknown): number[] => String(text).slice(1, -1).split(",").map(Number)

/** The same score as in a folder, so that hits of both can be put together. */
function finding(query: EntryQuery, { vectors }: Tables): { sql: string; parameters: string[] } {
  const parameters: string[] = []
  const given = (value: string): string => `$${parameters.push(value)}::text`
  const conditions: string[] = []
  let score: string
  let order = "score DESC"
  if ("words" in query) {
    const wanted = [...wordSet(query.words)]
    if (wanted.length > 0)
      conditions.push(`words @@ ${given(wanted.map(lexeme).join(query.isAny ? " | " : " & "))}::tsquery`)
    const about = given(JSON.stringify(wanted))
    score =
      wanted.length === 0
        ? `0 * length(${about})`
        : `(SELECT count(*) FROM jsonb_array_elements_text(${about}::jsonb) w WHERE w = ANY(about))
      + ln(2) / ln(2 + length(words))`
    if (query.isAny && wanted.length > 0) {
      const has = wanted.map((word) => `(words @@ ${given(lexeme(word))}::tsquery)::int`).join(" + ")
      score = `${has} + (${score}) / ${2 + wanted.length}`
    }
  } else {
    const { embedder, values } = query.vector
    conditions.push(`embedder = ${given(embedder)}`)
    const vector = given(numbersText(values, vectors))
    if (vectors === undefined) {
      conditions.push(`cardinality(embedding) = ${values.length}`)
      score = `(SELECT sum(a * b) FROM unnest(embedding, ${vector}::real[]) AS u(a, b))`
    } else {
      if (values.length !== VECTOR_LENGTH) conditions.push("false")
      const distance = `embedding OPERATOR(${vectors}.<=>) ${vector}::${vectors}.vector`
      score = `1 - (${distance})`
      // Only the bare distance uses the index.
      order = distance
    }
  }
  conditions.push(...conditionsOf(query, given))
  const shown = query.withContent ? "id, key, summary, metadata, content" : "id, key, summary, metadata"
  return {
    sql: `SELECT ${shown}, ${score} AS score FROM ctxbridge.entries
      WHERE ${conditions.length === 0 ? "true" : conditions.join(" AND ")}
      ORDER BY ${order}, started DESC NULLS LAST, id LIMIT ${Math.max(1, Math.trunc(query.limit))}`,
    parameters,
  }
}

const lexeme = (word: string): string => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
