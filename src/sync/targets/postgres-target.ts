/** Keeps entries and frames in PostgreSQL, with pgvector where it is there. */
import { CtxError } from "../../base/errors.ts"
import { wordSet } from "../../base/words.ts"
import { WordGatherer } from "../../views/word-index.ts"
import { type Entry, episodeOf, isBehind, isEntry, type Version } from "./entry.ts"
import { isNamed, putReport } from "./entry-rules.ts"
import type { ServerAddress } from "./postgres-address.ts"
import { type Ask, connect, type Server } from "./postgres-door.ts"
import { lockTenant, narrowedTo, TENANT } from "./postgres-finding.ts"
import { framesAt, IS_OF_FORGOTTEN, type Naming, telling, textArray } from "./postgres-frames.ts"
import { HALFVEC, makeWaitingIndexes } from "./postgres-halfvec.ts"
import {
  NEWEST_VERSION,
  SET_UP,
  TRANSCRIPT_ENTRIES,
  VECTOR_LENGTH,
  WANTED_VECTORS,
} from "./postgres-migrations.ts"
import { SEALED, type SealedRows } from "./postgres-sealing.ts"
import { SHARING, sharesAt } from "./postgres-sharing.ts"
import {
  mustBeOfMajor,
  mustHaveStep,
  readTables,
  SERVER_STEPS,
  type Tables,
  type TablesThere,
} from "./postgres-steps.ts"
import {
  dropUnreadable,
  replaceClear,
  type ServerWishes,
  type Unlocked,
  unlockServer,
} from "./postgres-unlock.ts"
import type { EntryQuery, FolderState, FoundEntry, SentVersion, Target } from "./target.ts"

/** ms for one call. */
const DEADLINE = 30_000
/** Bytes of an entry's words that are indexed: PostgreSQL takes 1 MB of them. */
const MOST_WORDS = 500_000

/** Times that, for what has frames in it: a batch of them takes a while on a slow line. */
const SLOWER = 2

/** Rows with ids that begin alike, of which some may be damaged. */
const ALIKE = 20

/** Of memory, to add to the index of words at once: with the 4 MB of most servers, it takes half as long again. */
const MERGING = 64

/**
 * @param isReader whether nothing is made or brought up to date there
 * @param writer name of this archive among those that put
 */
export async function openPostgresTarget(
  address: ServerAddress,
  deadline = DEADLINE,
  isReader = false,
  writer = "",
  wishes: ServerWishes = {},
): Promise<Target> {
  const server = connect(address, deadline)
  const { shown } = address
  let tables: Tables
  let unlocked: Unlocked | undefined
  try {
    tables = await (isReader ? tablesThere(server, shown) : prepareTables(server, address))
    unlocked = await unlockServer(server, tables, shown, wishes, isReader)
  } catch (error) {
    await server.close()
    throw error
  }
  const sealed = (): SealedRows | undefined => unlocked?.rows()
  const named: Naming = (kind, name) => sealed()?.name(kind, name) ?? name
  const isSealed = unlocked !== undefined
  const rowsOf = (entries: readonly Entry[]): Value[] =>
    entries.flatMap((entry) => rowOf(sealed()?.closed(entry) ?? entry, tables, isSealed))
  const months = new Set<string>()
  const prepared = new WeakMap<readonly Entry[], Value[]>()
  const slow = server.within(SLOWER * deadline)
  const putAs = (ask: Ask, by: string, entries: readonly Entry[], given = rowsOf(entries)) =>
    ask(putting(entries.length, tables), [named("writer", by), ...given])
  let replaced: FolderState["replaced"]
  if (unlocked?.isReplacing === true && !isReader) {
    try {
      replaced = await replaceClear(slow, unlocked.rows(), putAs)
      if (replaced.left === undefined) wishes.seen?.noteReplacing(tables.id, false)
    } catch (error) {
      await server.close()
      throw error
    }
  }
  return {
    id: unlocked?.id ?? tables.id,
    ...(unlocked && { folder: { encrypted: true, made: unlocked.made, ...(replaced && { replaced }) } }),
    isBlind: isSealed,
    frames: framesAt(slow, writer, sealed),
    shares: sharesAt(
      async (...call) => {
        mustHaveStep(SHARING.name, tables, shown)
        return server.ask(...call)
      },
      shown,
      isSealed,
    ),

    prepare(entries) {
      prepared.set(entries, rowsOf(entries))
    },

    async put(entries) {
      if (entries.length === 0) return putReport(0, 0, 0)
      const given = prepared.get(entries) ?? rowsOf(entries)
      // Of what is encrypted, nobody there knows the month. Among many users, an administrator makes them.
      const isByMonth = tables.isPartitioned && tables.isOwner && !isSealed
      const news = isByMonth ? monthsOf(entries).filter((month) => !months.has(month)) : []
      if (news.length > 0)
        await slow.ask(`SELECT ctxbridge.make_months(${textArray(1)})`, [JSON.stringify(news)])
      for (const month of news) months.add(month)
      const [counts] = await slow.transaction(async (ask) => {
        await lockTenant(ask, "SHARE", `set_config('work_mem', '${MERGING}MB', true)`)
        return putAs(ask, writer, entries, given)
      })
      const { stored, alive } = counts as unknown as { stored: number; alive: number }
      return putReport(entries.length, stored, entries.length - alive)
    },

    async find(query) {
      if (isSealed || !isComparable(query, tables)) return []
      const rows = (await server.ask(...finding(query, tables))).map(foundIn)
      return rows.sort(bestFirst).slice(0, query.limit)
    },

    async get(id) {
      if (!isNamed(id, id)) return undefined
      const rows = await server.ask(
        `SELECT id, key, summary, content, metadata, embedder, embedding::text AS embedding
         FROM ctxbridge.entries WHERE id >= $1 AND starts_with(id, $1) AND tenant = ${TENANT} ORDER BY id LIMIT ${ALIKE}`,
        [sealed()?.beginning(id) ?? id],
      )
      const found = isSealed
        ? rows.flatMap((row) => sealed()!.opened(row) ?? []).find((one) => isNamed(one.id, id))
        : rows.map(entryIn).find(isEntry)
      return found && { ...found, ...episodeOf(found.metadata) }
    },

    async forget({ ids = [], sessions = [], fills = [] }) {
      const names = [
        ...ids.map((name) => ({ kind: "id" as const, name })),
        ...sessions.map((name) => ({ kind: "session" as const, name })),
      ]
      const hasFrames = sessions.length + fills.length > 0
      const [row] = await (hasFrames ? slow : server).transaction(async (ask) => {
        await lockTenant(ask, "UPDATE")
        await telling(ask, names, hasFrames ? fills : [], named, sealed())
        const clear = replaced?.left === undefined ? [] : await ask(CLEAR_NAMES)
        const inClear = (column: string, names: readonly string[]): string[] =>
          clear.flatMap(({ [column]: one }) =>
            names.some((name) => one === name || String(one).startsWith(`${name}/`)) ? [String(one)] : [],
          )
        const [gone, owners] = [
          JSON.stringify([...ids.map((id) => named("id", id)), ...inClear("id", ids)]),
          JSON.stringify([
            ...sessions.map((session) => named("session", session)),
            ...inClear("session", sessions),
          ]),
        ]
        if (hasFrames) await ask(`SELECT ctxbridge.forget_frames(${textArray(1)})`, [owners])
        return ask(`SELECT ctxbridge.forget_entries(${textArray(1)}, ${textArray(2)}) AS gone`, [
          gone,
          owners,
        ])
      })
      return Number(row!["gone"])
    },

    async stats() {
      const [row] = await server.ask(
        `SELECT count(*)::int AS entries, count(DISTINCT session)::int AS sessions,
           (SELECT count(*)::int FROM ctxbridge.forgotten WHERE tenant = ${TENANT}) AS forgotten,
           ${unlocked?.clearRows ?? "0"} AS clear
         FROM ctxbridge.entries WHERE tenant = ${TENANT}`,
      )
      const { entries, sessions, forgotten, clear } = row as unknown as Record<string, number>
      const there = { entries: entries!, sessions: sessions!, forgotten: forgotten!, damaged: 0 }
      return clear === 0 ? there : { ...there, clear: clear! }
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
      const behind = [...sent]
        .map((one) => ({ one, key: named("key", one.key), id: named("id", one.id) }))
        .filter(({ one, key, id }) => isBehind(there.get(key), { id, messages: one.messages }))
      if (behind.length === 0) return []
      const dead = await server.ask(
        `SELECT e.key FROM jsonb_to_recordset($1::text::jsonb) AS e(key text, id text, session text)
         WHERE ${IS_FORGOTTEN}`,
        [
          JSON.stringify(
            behind.map(({ one, key, id }) => ({ key, id, session: named("session", one.session) })),
          ),
        ],
      )
      const keys = new Set(dead.map((row) => row["key"]))
      return behind.flatMap(({ one, key }) => (keys.has(key) ? [] : [one]))
    },

    async ownThere(machine, sessions) {
      const narrowed =
        sessions === undefined
          ? ""
          : `AND EXISTS (SELECT FROM jsonb_array_elements_text($3::text::jsonb) AS f(name)
               WHERE e.session = f.name OR starts_with(e.session, f.name || '/'))`
      const rows = await server.ask(
        // Rows that earlier versions have put do not say who did.
        `SELECT key, id, session, messages ${isSealed ? ", metadata, writer" : ""} FROM ctxbridge.entries e
         WHERE tenant = ${TENANT} AND (writer = $1::text OR ${
           isSealed ? "writer = $2::text" : "(writer IS NULL AND metadata ->> 'machine' = $2::text)"
         }) ${narrowed}`,
        [
          named("writer", writer),
          isSealed ? named("writer", "") : machine,
          ...(sessions === undefined ? [] : [JSON.stringify(sessions.map((one) => named("session", one)))]),
        ],
      )
      if (!isSealed) return rows as unknown as SentVersion[]
      return rows.flatMap((row) => {
        const { machine: by, ...one } = sealed()!.sent(row) ?? {}
        return "id" in one && (row["writer"] === named("writer", writer) || by === machine) ? [one] : []
      })
    },

    async forgottenThere() {
      const [row] = await server.ask(
        `SELECT count(*)::int AS forgotten FROM ctxbridge.forgotten WHERE tenant = ${TENANT}`,
      )
      return Number(row!["forgotten"])
    },

    async mend() {
      if (isSealed) return dropUnreadable(slow, sealed()!)
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

/** Of a user's rows that are still to be encrypted. */
const CLEAR_NAMES = `SELECT id, session FROM ctxbridge.entries WHERE tenant = ${TENANT} AND key < '${SEALED}'
  UNION SELECT NULL, session FROM ctxbridge.frames WHERE tenant = ${TENANT} AND writer < '${SEALED}'`

/** Whether the row `e` is forgotten by its id, or of such a session. */
const IS_FORGOTTEN = `(e.id IN (SELECT f.name FROM ctxbridge.forgotten f WHERE f.tenant = ${TENANT} AND f.kind = 'id')
  OR ${IS_OF_FORGOTTEN})`

/** Says which version of a turn is the later one, as `isLater` does. */
const rank = (of: string): string =>
  `(${of}.messages, ${of}.taken_back::int, ${of}.id, (${of}.embedding IS NOT NULL)::int)`

const COLUMNS = "key, id, session, project, started, messages, taken_back, summary, content, metadata"

/** Of what is given of an entry, by column. */
const typesOf = ({ vectors }: Tables): readonly string[] => [
  ..."text text text text text int boolean text text jsonb tsvector text[] text".split(" "),
  vectors ?? "real[]",
  "varbit",
]

/** Each value is a parameter of its own: as JSON, all of it would be written and read once more. */
function valuesOf(rows: number, tables: Tables): string {
  const types = typesOf(tables).map((type) => (type === "text" ? "text" : `text::${type}`))
  let n = 1
  return Array.from({ length: rows }, () => `(${types.map((type) => `$${++n}::${type}`).join()})`).join()
}

/** @param rows from 1 to 4,000, as a statement has at most 65,535 parameters */
const putting = (rows: number, tables: Tables): string => `
  WITH given (${COLUMNS}, words, about, embedder, embedding, signs) AS (
    VALUES ${valuesOf(rows, tables)}
  ), alive AS (
    SELECT * FROM given e WHERE NOT ${IS_FORGOTTEN}
  ), stored AS (
    INSERT INTO ctxbridge.entries AS old (${COLUMNS}, words, about, embedder, embedding, signs, writer)
    SELECT DISTINCT ON (key COLLATE "C") ${COLUMNS}, words, about, embedder, embedding, signs, $1::text FROM alive
    ORDER BY key COLLATE "C", messages DESC, taken_back DESC, id COLLATE "C" DESC, embedding IS NULL
    ON CONFLICT (tenant, key${tables.isPartitioned ? ", started" : ""}) DO UPDATE SET id = excluded.id, session = excluded.session, project = excluded.project,
      started = excluded.started, messages = excluded.messages, taken_back = excluded.taken_back,
      summary = excluded.summary, content = excluded.content, metadata = excluded.metadata, words = excluded.words,
      about = excluded.about, embedder = excluded.embedder, embedding = excluded.embedding, signs = excluded.signs,
      writer = excluded.writer, stored = now()
    WHERE ${rank("excluded")} > ${rank("old")}
    RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM alive) AS alive, (SELECT count(*)::int FROM stored) AS stored`

const monthsOf = (entries: readonly Entry[]): string[] => [
  ...new Set(entries.map(({ metadata }) => (metadata.timestamp ?? "").slice(0, 7))),
]

type Value = string | null

/** In the order of `typesOf`. */
function rowOf(entry: Entry, { vectors }: Tables, isSealed: boolean): Value[] {
  const { key, id, summary, content, metadata, vector } = entry
  // A column of pgvector has one length. What is of another is found by its words.
  const kept = vectors === undefined || vector?.values.length === VECTOR_LENGTH ? vector : undefined
  return [
    ...[key, id, metadata.sessionId, metadata.project, metadata.timestamp],
    ...[String(metadata.messages), String(metadata.takenBack), summary, content, JSON.stringify(metadata)],
    isSealed ? "" : indexed(content),
    `{${[...wordSet(summary)].map((word) => JSON.stringify(word)).join()}}`,
    kept?.embedder ?? null,
    kept === undefined ? null : numbersText(kept.values, vectors),
    kept === undefined || vectors !== undefined ? null : signsText(kept.values),
  ]
}

/** One for all that is sent. It remembers words, and takes a megabyte. */
let gatherer: WordGatherer | undefined

/** Words of letters and digits alone, as lexemes: none has to be quoted. */
function indexed(content: string): string {
  gatherer ??= new WordGatherer()
  const words = Buffer.from(gatherer.wordsIn(content))
  return words.toString("utf8", 0, words.length > MOST_WORDS ? words.lastIndexOf(" ", MOST_WORDS) : undefined)
}

const numbersText = (values: readonly number[], vectors: string | undefined): string =>
  vectors === undefined ? `{${values.join()}}` : `[${values.join()}]`

const signsText = (values: readonly number[]): string => values.map((value) => (value > 0 ? 1 : 0)).join("")

const entryIn = ({ embedder, embedding, ...rest }: Readonly<Record<string, unknown>>): unknown =>
  embedder === null ? rest : { ...rest, vector: { embedder, values: numbersIn(embedding) } }

const numbersIn = (text: unknown): number[] => String(text).slice(1, -1).split(",").map(Number)

const foundIn = ({ content, tenant, score, ...row }: Readonly<Record<string, unknown>>): FoundEntry =>
  ({
    ...row,
    // A vector of zeroes is as near to any other as no number says.
    score: Number(score) || 0,
    ...(content !== null && { content }),
    ...((tenant ?? null) !== null && { by: tenant }),
  }) as unknown as FoundEntry

/** Equal scores: the newest first. What others have put may be anything. */
const bestFirst = (a: FoundEntry, b: FoundEntry): number =>
  b.score - a.score || Number(startOf(b) > startOf(a)) - Number(startOf(b) < startOf(a))

const startOf = ({ metadata }: FoundEntry): string => String(metadata?.timestamp ?? "")

/** A column of pgvector has one length. */
const isComparable = (query: EntryQuery, { vectors }: Tables): boolean =>
  "words" in query || vectors === undefined || query.vector.values.length === VECTOR_LENGTH

/** The same score as in a folder, so that hits of both can be put together. What others share is asked for at once. */
function finding(query: EntryQuery, { vectors, steps }: Tables): [statement: string, parameters: string[]] {
  const narrowing = [narrowedTo(query), String(Math.max(1, Math.trunc(query.limit)))]
  const calling = (by: string, about: string): string => {
    const given = `_by_${by}(${about}, $3::text::jsonb, $4::text::integer)`
    const own = `SELECT *, NULL::text AS tenant FROM ctxbridge.find${given}`
    return steps.has(SHARING.name) ? `${own} UNION ALL SELECT * FROM ctxbridge.find_shared${given}` : own
  }
  if ("words" in query) {
    const wanted = [...wordSet(query.words)]
    const array = "ARRAY(SELECT jsonb_array_elements_text($1::text::jsonb))"
    const words = [JSON.stringify(wanted), wanted.map(lexeme).join(query.isAny ? " | " : " & ")]
    return [calling("words", `${array}, $2::text::tsquery`), [...words, ...narrowing]]
  }
  const { embedder, values } = query.vector
  const vector = [numbersText(values, vectors), embedder]
  return [calling("vector", "$1::text, $2::text"), [...vector, ...narrowing]]
}

const lexeme = (word: string): string => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`

/** @throws CtxError `target-newer`, `target-older` */
async function prepareTables(server: Server, { shown, isRuvector }: ServerAddress): Promise<Tables> {
  let there = await readTables(server.ask, shown)
  if (there === undefined || (there.isOwner && isBehindUs(there))) {
    await server.transaction(async (ask) => {
      if (isRuvector) await ask(`SET LOCAL ${WANTED_VECTORS} = 'ruvector'`)
      return ask(SET_UP)
    }, "as long as it takes")
    there = (await readTables(server.ask, shown))!
  }
  mustBeOfMajor(there, NEWEST_VERSION, shown)
  // What did not succeed is tried again next time.
  if (there.isOwner && there.steps.has(HALFVEC.name)) await makeWaitingIndexes(server).catch(() => {})
  if (there.wantsView) await server.ask(TRANSCRIPT_ENTRIES).catch(() => {})
  return there
}

const isBehindUs = ({ version, steps }: TablesThere): boolean =>
  version < NEWEST_VERSION ||
  (version === NEWEST_VERSION && SERVER_STEPS.some(({ name }) => !steps.has(name)))

/**
 * For whoever only reads.
 *
 * @throws CtxError `target-missing`, `target-newer`, `target-older`
 */
async function tablesThere(server: Server, shown: string): Promise<Tables> {
  const found = await readTables(server.ask, shown)
  if (found === undefined)
    throw new CtxError("target-missing", `${shown}: nothing has been sent there yet`, {
      hint: "ctxbridge sync makes the tables",
    })
  mustBeOfMajor(found, NEWEST_VERSION, shown)
  return found
}
