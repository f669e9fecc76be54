/** The tables of a PostgreSQL backend, in a schema of our own, and how they are made. */
import { CtxError } from "../util/errors.ts"
import type { Ask, Server } from "./postgres-door.ts"

/** Numbers of a vector. */
export const VECTOR_LENGTH = 384
/** Advisory locks of ours: while tables are made, and between what puts and what forgets. */
const MIGRATING = 7_163_001
export const FORGETTING = 7_163_002

/**
 * A migration's position is its number: never change a released one, only add. `embedding` is the type of a vector,
 * `index` the class of operators for its index; undefined where the extension is missing.
 */
const MIGRATIONS: readonly ((embedding: string, index: string | undefined) => readonly string[])[] = [
  (embedding, index) => [
    `CREATE TABLE ctxbridge.entries (
       key        text COLLATE "C" PRIMARY KEY,
       id         text COLLATE "C" NOT NULL UNIQUE, -- SHA-256 of key and content
       session    text COLLATE "C" NOT NULL,
       project    text,
       started    text COLLATE "C",                 -- ISO 8601
       messages   integer NOT NULL,
       taken_back boolean NOT NULL,
       summary    text NOT NULL,
       content    text NOT NULL,
       metadata   jsonb NOT NULL,
       words      tsvector NOT NULL,                -- of the content, as ctxbridge splits it
       about      text[] NOT NULL,                  -- words of the summary
       embedder   text,                             -- what made the vector
       embedding  ${embedding},
       stored     timestamptz NOT NULL DEFAULT now()
     )`,
    "CREATE INDEX entries_words ON ctxbridge.entries USING gin (words)",
    "CREATE INDEX entries_session ON ctxbridge.entries (session, started)",
    // What must not be kept: an entry by its id, or a session with its subagents.
    `CREATE TABLE ctxbridge.forgotten (
       kind text NOT NULL CHECK (kind IN ('id', 'session')),
       name text COLLATE "C" NOT NULL,
       PRIMARY KEY (kind, name)
     )`,
    ...(index === undefined
      ? []
      : [
          // Extensions before 0.5 have no such index, and are only slower.
          `DO $$ BEGIN
             CREATE INDEX entries_embedding ON ctxbridge.entries USING hnsw (embedding ${index});
           EXCEPTION WHEN OTHERS THEN NULL; END $$`,
        ]),
  ],
  () => [
    `CREATE TABLE ctxbridge.frames (
       writer  text COLLATE "C" NOT NULL,           -- the archive that sent it
       copy    text COLLATE "C" NOT NULL,
       start   bigint NOT NULL,                     -- offset in the transcript
       session text COLLATE "C" NOT NULL,
       about   jsonb NOT NULL,
       frame   bytea NOT NULL,
       stored  timestamptz NOT NULL DEFAULT now(),
       PRIMARY KEY (writer, copy, start)
     )`,
    "CREATE INDEX frames_session ON ctxbridge.frames (session)",
    // Text that was taken out of lines: their hashes with a key, and the spans to fill.
    `CREATE TABLE ctxbridge.fills (
       session text COLLATE "C" NOT NULL,
       key     text COLLATE "C" NOT NULL,
       lines   jsonb NOT NULL,
       PRIMARY KEY (session, key)
     )`,
  ],
]

/** What the statements need to know of the tables that are there. */
export interface Tables {
  /** Names what is kept here. */
  readonly id: string
  /** Schema of the extension for vectors, quoted; undefined: they are arrays. */
  readonly vectors: string | undefined
}

/**
 * Makes the tables, or brings them up to date. One process does so at a time.
 *
 * @throws CtxError `target-newer`
 */
export async function prepareTables(server: Server, shown: string): Promise<Tables> {
  const ready = await readTables(server.ask, shown)
  if (ready?.version === MIGRATIONS.length) return ready
  await server.transaction(async (ask) => {
    await ask(`SELECT pg_advisory_xact_lock(${MIGRATING})`)
    const found = await readTables(ask, shown)
    if (found === undefined) {
      await ask("CREATE SCHEMA IF NOT EXISTS ctxbridge")
      await ask("CREATE TABLE ctxbridge.target (id text NOT NULL, version integer NOT NULL)")
      await ask("INSERT INTO ctxbridge.target VALUES (gen_random_uuid()::text, 0)")
      await ask(`DO $$ BEGIN
        IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
          CREATE EXTENSION IF NOT EXISTS vector;
        END IF;
      EXCEPTION WHEN OTHERS THEN NULL; END $$`)
    }
    const [extension] = await ask(
      `SELECT quote_ident(nspname) AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
       WHERE extname = 'vector'`,
    )
    const schema = extension?.["schema"] as string | undefined
    const type = schema === undefined ? "real[]" : `${schema}.vector(${VECTOR_LENGTH})`
    const index = schema === undefined ? undefined : `${schema}.vector_cosine_ops`
    for (const migration of MIGRATIONS.slice(found?.version ?? 0))
      for (const statement of migration(type, index)) await ask(statement)
    await ask(`UPDATE ctxbridge.target SET version = ${MIGRATIONS.length}`)
  })
  return (await readTables(server.ask, shown))!
}

async function readTables(
  ask: Ask,
  shown: string,
): Promise<(Tables & { readonly version: number }) | undefined> {
  // Not to_regclass, which may still remember that there was none before we waited for the lock.
  const [there] = await ask(
    `SELECT 1 AS is FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'ctxbridge' AND c.relname = 'target'`,
  )
  if (there === undefined) return undefined
  const [row] = await ask("SELECT id, version FROM ctxbridge.target")
  if (row === undefined) {
    throw new CtxError("target-damaged", `${shown}: the table ctxbridge.target is empty`, {
      hint: "DROP SCHEMA ctxbridge CASCADE there removes everything of ours; it is sent again then",
    })
  }
  const version = row["version"] as number
  if (version > MIGRATIONS.length) {
    throw new CtxError("target-newer", `${shown} was set up by a newer version of ctxbridge (${version})`, {
      hint: "upgrade ctxbridge on this machine",
    })
  }
  const [type] = await ask(
    `SELECT quote_ident(n.nspname) AS schema FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
       JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE a.attrelid = to_regclass('ctxbridge.entries') AND a.attname = 'embedding' AND t.typname = 'vector'`,
  )
  return { id: row["id"] as string, version, vectors: type?.["schema"] as string | undefined }
}
