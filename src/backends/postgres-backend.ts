/** Keeps entries in PostgreSQL, with pgvector where it is there. */
import { wordSet } from "../util/words.ts"
import type { Backend, EntryQuery, FoundEntry, SentVersion } from "./backend.ts"
import { type Entry, isBehind, isEntry, type Version } from "./entry.ts"
import { isNamed } from "./entry-filter.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { connect } from "./postgres-door.ts"
import { narrowedTo } from "./postgres-filters.ts"
import { lockTenant, TENANT } from "./postgres-finding.ts"
import { VECTOR_LENGTH } from "./postgres-migrations.ts"
import { prepareTables, type Tables, tablesThere } from "./postgres-schema.ts"

/** ms for one call. */
const DEADLINE = 30_000
/** UTF-16 units of an entry's words that are indexed: PostgreSQL takes 1 MB of them. */
const MOST_WORDS = 250_000

/** Rows with ids that begin alike, of which some may be damaged. */
const ALIKE = 20

/** Of memory, to add to the index of words at once: with the 4 MB of most servers, it takes half as long again. */
const MERGING = 64

/**
 * @param isReader whether nothing is made or brought up to date there
 * @param writer name of this archive among those that put
 */
export async function openPostgresBackend(
  address: ServerAddress,
  deadline = DEADLINE,
  isReader = false,
  writer = "",
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
        await lockTenant(ask, "SHARE", `set_config('work_mem', '${MERGING}MB', true)`)
        return ask(putting(tables), [given, writer])
      })
      const { stored, alive } = counts as unknown as { stored: number; alive: number }
      return { stored, known: alive - stored, refused: entries.length - alive }
    },

    async find(query) {
      if (!isComparable(query, tables)) return []
      return (await server.ask(...finding(query, tables))).map(foundIn)
    },

    async get(id) {
      if (!isNamed(id, id)) return undefined
      const rows = await server.ask(
        `SELECT id, key, summary, content, metadata, embedder, embedding::text AS embedding
         FROM ctxbridge.entries WHERE id >= $1 AND starts_with(id, $1) AND tenant = ${TENANT} ORDER BY id LIMIT ${ALIKE}`,
        [id],
      )
      return rows.map(entryIn).find(isEntry)
    },

    async forget({ ids = [], sessions = [] }) {
      const names = [
        ...ids.map((name) => ({ kind: "id", name })),
        ...sessions.map((name) => ({ kind: "session", name })),
      ]
      const rows = await server.transaction(async (ask) => {
        await lockTenant(ask, "UPDATE")
        const given = "jsonb_to_recordset($1::text::jsonb) AS f(kind text, name text)"
        const keeping = `INSERT INTO ctxbridge.forgotten (kind, name) SELECT kind, name FROM ${given} ON CONFLICT DO NOTHING`
        await ask(keeping, [JSON.stringify(names)])
        return ask(
          `SELECT ctxbridge.forget_entries(${textArray(1)}, ${textArray(2)}) AS gone`,
          [ids, sessions].map((one) => JSON.stringify(one)),
        )
      })
      return Number(rows[0]!["gone"])
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

    async tally() {
      const rows = await server.ask(
        `SELECT coalesce(writer, '') AS by, count(*)::text AS turns, sum(messages)::text AS lines
         FROM ctxbridge.entries WHERE tenant = ${TENANT} GROUP BY writer`,
      )
      return Object.fromEntries(
        rows.map((row) => [String(row["by"]), [Number(row["turns"]), Number(row["lines"])] as const]),
      )
    },

    async lacking(sent) {
      const rows = await server.ask(
        `SELECT key, id, messages, taken_back AS "takenBack" FROM ctxbridge.entries WHERE tenant = ${TENANT}`,
      )
      const there = new Map((rows as unknown as VersionRow[]).map((row) => [row.key, row]))
      const behind = [...sent].filter((one) => isBehind(there.get(one.key), one))
      if (behind.length === 0) return behind
      const dead = await server.ask(
        `SELECT e.key FROM jsonb_to_recordset($1::text::jsonb) AS e(key text, id text, session text)
         WHERE ${isIn(`(SELECT * FROM ctxbridge.forgotten WHERE tenant = ${TENANT}) f`)}`,
        [JSON.stringify(behind.map(({ key, id, session }) => ({ key, id, session })))],
      )
      const keys = new Set(dead.map((row) => row["key"]))
      return behind.filter(({ key }) => !keys.has(key))
    },

    async ownThere(machine, sessions) {
      const narrowed =
        sessions === undefined
          ? ""
          : `AND EXISTS (SELECT FROM jsonb_array_elements_text($3::text::jsonb) AS f(name)
               WHERE e.session = f.name OR starts_with(e.session, f.name || '/'))`
      const rows = await server.ask(
        // Rows that earlier versions have put do not say who did.
        `SELECT key, id, session, messages FROM ctxbridge.entries e
         WHERE tenant = ${TENANT}
           AND (writer = $1::text OR (writer IS NULL AND metadata ->> 'machine' = $2::text)) ${narrowed}`,
        [writer, machine, ...(sessions === undefined ? [] : [JSON.stringify(sessions)])],
      )
      return rows as unknown as SentVersion[]
    },

    async forgottenThere() {
      const [row] = await server.ask(
        `SELECT count(*)::int AS forgotten FROM ctxbridge.forgotten WHERE tenant = ${TENANT}`,
      )
      return Number(row!["forgotten"])
    },

    async mend() {
      const [row] = await server.transaction(
        (ask) => ask("SELECT ctxbridge.mend_entries() AS gone"),
        "as long as it takes",
      )
      return Number(row!["gone"])
    },

    close: () => server.close(),
  }
}

type VersionRow = Pick<Entry, "key"> & Omit<Version, "hasVector">

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
    INSERT INTO ctxbridge.entries AS old (${COLUMNS}, words, about, embedder, embedding, signs, writer)
    SELECT DISTINCT ON (key COLLATE "C") ${COLUMNS}, words, about, embedder, embedding, signs, $2::text FROM alive
    ORDER BY key COLLATE "C", messages DESC, taken_back DESC, id COLLATE "C" DESC, embedding IS NULL
    ON CONFLICT (tenant, key) DO UPDATE SET id = excluded.id, session = excluded.session, project = excluded.project,
      started = excluded.started, messages = excluded.messages, taken_back = excluded.taken_back,
      summary = excluded.summary, content = excluded.content, metadata = excluded.metadata, words = excluded.words,
      about = excluded.about, embedder = excluded.embedder, embedding = excluded.embedding, signs = excluded.signs,
      writer = excluded.writer, stored = now()
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

/** A parameter that is a list in JSON, as an array. */
const textArray = (n: number): string => `ARRAY(SELECT jsonb_array_elements_text($${n}::text::jsonb))`

const entryIn = ({ embedder, embedding, ...rest }: Readonly<Record<string, unknown>>): unknown =>
  embedder === null ? rest : { ...rest, vector: { embedder, values: numbersIn(embedding) } }

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
