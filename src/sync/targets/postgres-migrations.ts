/**
 * The tables of a PostgreSQL backend, as SQL that finds out by itself what is missing. A client runs it when the tables
 * are older than it is; an administrator runs it, with roles, for many users. Pure.
 */
import { FIND_BY_ARRAY, FIND_BY_VECTOR, FIND_BY_WORDS, signsOf, TENANT } from "./postgres-finding.ts"
import { WAITING_BY_PSQL } from "./postgres-halfvec.ts"
import { PARTITIONED, SERVER_STEPS, type ServerStep } from "./postgres-steps.ts"

/** Numbers of a vector. */
export const VECTOR_LENGTH = 384
/** The setting that names the extension for vectors. */
export const WANTED_VECTORS = "ctxbridge.vectors"
/** Advisory lock while tables are made or changed. */
const MIGRATING = 7_163_001
/** How often it is tried, and seconds in between. */
const ATTEMPTS = 100
const PAUSE = 0.1

/** What an entry has in every version. */
const ENTRY = `
  key        text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL, -- SHA-256 of key and content
  session    text COLLATE "C" NOT NULL,
  project    text,
  started    text COLLATE "C",          -- ISO 8601
  messages   integer NOT NULL,
  taken_back boolean NOT NULL,
  summary    text NOT NULL,
  content    text NOT NULL,
  metadata   jsonb NOT NULL,
  words      tsvector NOT NULL,         -- of the content, as ctxbridge splits it
  about      text[] NOT NULL,           -- words of the summary
  embedder   text,                      -- what made the vector
  embedding  @embedding@,
  stored     timestamptz NOT NULL DEFAULT now()`

/** What must not be kept: an entry by its id, or a session with its subagents. */
const FORGOTTEN = `
  kind text NOT NULL CHECK (kind IN ('id', 'session')),
  name text COLLATE "C" NOT NULL`

/** Extensions before 0.5 have no such index, and are only slower. */
const VECTOR_INDEX = `DO $index$ BEGIN
  CREATE INDEX entries_embedding ON ctxbridge.entries USING @index@;
EXCEPTION WHEN OTHERS THEN NULL; END $index$`

/** Not every server is built with it. */
const FASTER_COMPRESSION = `DO $lz4$ BEGIN
  ALTER TABLE ctxbridge.entries ALTER COLUMN content SET COMPRESSION lz4, ALTER COLUMN words SET COMPRESSION lz4;
EXCEPTION WHEN OTHERS THEN NULL; END $lz4$`

const COLUMNS =
  "key, id, session, project, started, messages, taken_back, summary, content, metadata, words, about, embedder, embedding, stored"

const OWNED = `tenant text COLLATE "C" NOT NULL DEFAULT ${TENANT},`

/** Everybody reads and writes the rows of his own, and no others. */
export const ownRows = (table: string): string[] => [
  `ALTER TABLE ctxbridge.${table} ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY own ON ctxbridge.${table} USING (tenant = ${TENANT}) WITH CHECK (tenant = ${TENANT})`,
]

/** The planner's estimates, which EXPLAIN shows to everybody, must not say what others have. */
const withoutStatistics = (table: string, columns: string): string =>
  `ALTER TABLE ctxbridge.${table} ${columns
    .split(", ")
    .map((column) => `ALTER COLUMN ${column} SET STATISTICS 0`)
    .join(", ")}`

/** What is no list, or no number in it, counts nothing: a row that somebody damaged must not fail the others'. */
const tokens = (kind: string): string =>
  `(SELECT sum(CASE jsonb_typeof(u -> '${kind}') WHEN 'number' THEN (u ->> '${kind}')::numeric END)
      FROM jsonb_array_elements(CASE jsonb_typeof(metadata -> 'usage') WHEN 'array' THEN metadata -> 'usage' ELSE '[]' END) u)`

/** Our turns under the names of leafhill-persistent-memory's table, for programs that know those. */
export const CONVERSATIONS = `CREATE OR REPLACE VIEW ctxbridge.conversations WITH (security_barrier) AS
  SELECT id, session AS session_id, 'turn'::text AS role, content, project, stored AS created_at,
    'turn'::text AS entry_type, NULL::bigint AS raw_id, metadata -> 'usage' -> 0 ->> 'model' AS model,
    ${tokens("input")} AS input_tokens, ${tokens("output")} AS output_tokens,
    ${tokens("cacheCreation")} AS cache_creation_tokens, ${tokens("cacheRead")} AS cache_read_tokens,
    started AS message_timestamp
  FROM ctxbridge.entries WHERE tenant = ${TENANT}`

/** And under those of the design documents' table. A convenience: whoever may not make it goes without. */
export const TRANSCRIPT_ENTRIES = `CREATE OR REPLACE VIEW ctxbridge.transcript_entries WITH (security_barrier) AS
  SELECT id, key, content, 'episodic'::text AS type, 'transcript-archive'::text AS namespace,
    jsonb_build_array('transcript', 'compaction', session) || coalesce(metadata -> 'toolNames', '[]') AS tags,
    metadata || jsonb_build_object('summary', summary) AS metadata, 'private'::text AS access_level,
    (extract(epoch FROM stored) * 1000)::bigint AS created_at, metadata ->> 'contentHash' AS content_hash,
    session AS session_id, metadata -> 'chunkIndex' AS chunk_index, summary
  FROM ctxbridge.entries WHERE tenant = ${TENANT}`

/** Whether the tenant is in a team. One that was dropped has nobody. */
const inTeam = (team: string): string =>
  `EXISTS (SELECT FROM pg_catalog.pg_roles r
    WHERE r.rolname = ${team} AND pg_catalog.pg_has_role(session_user, r.oid, 'member'))`

const IS_TEXT = (name: string, orNull = ""): string =>
  `coalesce(jsonb_typeof(metadata -> '${name}') IN ('string'${orNull}), false)`

const IS_TEXTS = (name: string): string =>
  `coalesce(jsonb_typeof(metadata -> '${name}') = 'array', false)
      AND NOT jsonb_path_exists(metadata, 'strict $.${name}[*] ? (@.type() != "string")', silent => true)`

/** Whether a row is an entry, as `isEntry` says, and its columns are what the entry says. */
const SOUND = `id = encode(sha256(convert_to(key || E'\\n' || content, 'UTF8')), 'hex')
    AND metadata ->> 'messages' = messages::text AND metadata ->> 'sessionId' = session
    AND metadata ->> 'takenBack' = taken_back::text AND jsonb_typeof(metadata -> 'takenBack') = 'boolean'
    AND jsonb_typeof(metadata -> 'messages') = 'number' AND jsonb_typeof(metadata -> 'chunkIndex') = 'number'
    AND metadata ->> 'chunkIndex' ~ '^-?[0-9]+$'
    AND ${IS_TEXT("sessionId")}
    AND ${["timestamp", "ended", "project"].map((name) => IS_TEXT(name, ", 'null'")).join(" AND ")}
    AND (NOT metadata ? 'machine' OR ${IS_TEXT("machine")})
    AND ${["toolNames", "filePaths"].map(IS_TEXTS).join(" AND ")}`

/** Deleting is done for the tenant: with the right to delete, one could lock the table, and stop everybody. */
const removing = (name: string, parameters: string, from: string, which: string): string =>
  `CREATE FUNCTION ctxbridge.${name}(${parameters}) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $remove$
DECLARE
  gone integer;
BEGIN
  DELETE FROM ctxbridge.${from} e WHERE tenant = ${TENANT} AND (${which});
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $remove$`

/** Whether the session of the row `e` is one of these, or a subagent of it. */
const IS_OF_SESSIONS = `EXISTS (SELECT FROM unnest(sessions) f(name)
      WHERE e.session = f.name OR starts_with(e.session, f.name || '/'))`

/**
 * A migration's position is its number: never change a released one, only add. `@embedding@` is the type of a vector;
 * `@index@` its index's method, column and class of operators, `@distance@` its operator, and `@vectors@` the schema of
 * pgvector, if that has `halfvec`. A statement with one of the latter is left out where there is none. `@owner@` is the role
 * that the tables belong to, quoted.
 */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE ctxbridge.entries (${ENTRY},
  PRIMARY KEY (key),
  UNIQUE (id)
)`,
    "CREATE INDEX entries_words ON ctxbridge.entries USING gin (words)",
    "CREATE INDEX entries_session ON ctxbridge.entries (session, started)",
    `CREATE TABLE ctxbridge.forgotten (${FORGOTTEN},
  PRIMARY KEY (kind, name)
)`,
    VECTOR_INDEX,
  ],
  // Tenants. What is there belongs to whoever made the tables. They are made anew, so that no statistics stay.
  [
    "ALTER TABLE ctxbridge.target ADD COLUMN owner text",
    "UPDATE ctxbridge.target SET owner = @owner@",
    "ALTER TABLE ctxbridge.entries RENAME TO former_entries",
    `CREATE TABLE ctxbridge.entries (
  ${OWNED}${ENTRY},
  signs      varbit,                    -- of a vector that is an array
  size       integer GENERATED ALWAYS AS (length(words)) STORED
)`,
    // Numbers of a vector cannot be compressed, and trying costs more than keeping them.
    "ALTER TABLE ctxbridge.entries ALTER COLUMN embedding SET STORAGE EXTERNAL",
    FASTER_COMPRESSION,
    `INSERT INTO ctxbridge.entries (tenant, ${COLUMNS}) SELECT @owner@, ${COLUMNS} FROM ctxbridge.former_entries`,
    // Fails for a column of pgvector, which needs none.
    `DO $signs$ BEGIN
  UPDATE ctxbridge.entries SET signs = ${signsOf("embedding")};
EXCEPTION WHEN undefined_function THEN NULL; END $signs$`,
    "DROP TABLE ctxbridge.former_entries",
    // All that is unique has the tenant in it, so that no row is in the way of somebody else's.
    "ALTER TABLE ctxbridge.entries ADD PRIMARY KEY (tenant, key)",
    // Not unique: where several put the same turn at once, ON CONFLICT minds one unique index only, and fails at others.
    "CREATE INDEX entries_id ON ctxbridge.entries (id, tenant)",
    "CREATE INDEX entries_session ON ctxbridge.entries (tenant, session, started)",
    "CREATE INDEX entries_project ON ctxbridge.entries (tenant, project)",
    // Without visits to the table, which is a hundred times as large.
    `CREATE INDEX entries_signs ON ctxbridge.entries (tenant, embedder) INCLUDE (signs, key) WHERE signs IS NOT NULL`,
    "CREATE INDEX entries_words ON ctxbridge.entries USING gin (words, about)",
    VECTOR_INDEX,
    "ALTER TABLE ctxbridge.forgotten RENAME TO former_forgotten",
    `CREATE TABLE ctxbridge.forgotten (
  ${OWNED}${FORGOTTEN}
)`,
    "INSERT INTO ctxbridge.forgotten SELECT @owner@, kind, name FROM ctxbridge.former_forgotten",
    "DROP TABLE ctxbridge.former_forgotten",
    "ALTER TABLE ctxbridge.forgotten ADD PRIMARY KEY (tenant, kind, name)",
    // Projects of a tenant, by their paths, that the members of a role may read.
    `CREATE TABLE ctxbridge.shared (
  ${OWNED}
  project text NOT NULL,
  team text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, project, team)
)`,
    withoutStatistics("entries", `tenant, ${COLUMNS}, signs, size`),
    withoutStatistics("forgotten", "tenant, kind, name"),
    withoutStatistics("shared", "tenant, project, team"),
    ...["entries", "forgotten", "shared"].flatMap(ownRows),
    `CREATE POLICY shared ON ctxbridge.shared FOR SELECT USING (${inTeam("team")})`,
    `CREATE POLICY shared ON ctxbridge.entries FOR SELECT USING ((tenant, project) IN
  (SELECT s.tenant, s.project FROM ctxbridge.shared s WHERE ${inTeam("s.team")}))`,
    CONVERSATIONS,
    FIND_BY_WORDS,
    FIND_BY_ARRAY,
    FIND_BY_VECTOR,
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ctxbridge FROM PUBLIC",
  ],
  // Bytes of vaults. They are never shared: a team is shown turns.
  [
    `CREATE TABLE ctxbridge.frames (
  ${OWNED}
  writer  text COLLATE "C" NOT NULL,    -- the archive that sent it
  copy    text COLLATE "C" NOT NULL,
  start   bigint NOT NULL,              -- offset in the transcript
  session text COLLATE "C" NOT NULL,
  about   jsonb NOT NULL,
  frame   bytea NOT NULL,
  stored  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, writer, copy, start)
)`,
    "CREATE INDEX frames_session ON ctxbridge.frames (tenant, session)",
    // Text that was taken out of lines: their hashes with a key, and the spans to fill.
    `CREATE TABLE ctxbridge.fills (
  ${OWNED}
  session text COLLATE "C" NOT NULL,
  key     text COLLATE "C" NOT NULL,
  lines   jsonb NOT NULL,
  PRIMARY KEY (tenant, session, key)
)`,
    withoutStatistics("frames", "tenant, writer, copy, start, session, about, frame, stored"),
    withoutStatistics("fills", "tenant, session, key, lines"),
    ...["frames", "fills"].flatMap(ownRows),
  ],
  // A search in one project looks at nothing but the index, too: without statistics, the planner takes either way.
  [
    "DROP INDEX ctxbridge.entries_signs",
    `CREATE INDEX entries_signs ON ctxbridge.entries (tenant, embedder, project) INCLUDE (signs, key)
  WHERE signs IS NOT NULL`,
    FIND_BY_ARRAY,
    FIND_BY_VECTOR,
  ],
  // What somebody shares is seen by those who have agreed to it, which nobody can yet. Rows know who put them.
  [
    "DROP POLICY shared ON ctxbridge.entries",
    "DROP POLICY shared ON ctxbridge.shared",
    `ALTER TABLE ctxbridge.entries ADD COLUMN writer text COLLATE "C"`,
    withoutStatistics("entries", "writer"),
    // Whoever counts looks at nothing but this. All three are alike for most rows, so it is small.
    "CREATE INDEX entries_writer ON ctxbridge.entries (tenant, writer, messages)",
    // A lock on one's own row, which nobody else sees. Anybody could take an advisory one.
    `CREATE TABLE ctxbridge.locks (
  ${OWNED}
  PRIMARY KEY (tenant)
)`,
    withoutStatistics("locks", "tenant"),
    ...ownRows("locks"),
    removing(
      "forget_entries",
      "ids text[], sessions text[]",
      "entries",
      `e.id = ANY (ids) OR ${IS_OF_SESSIONS}`,
    ),
    removing("mend_entries", "", "entries", `(${SOUND}) IS NOT TRUE`),
    removing("forget_frames", "sessions text[]", "frames", IS_OF_SESSIONS),
    removing("drop_frames", "by text, copies text[]", "frames", "e.writer = by AND e.copy = ANY (copies)"),
    CONVERSATIONS,
    FIND_BY_WORDS,
    FIND_BY_ARRAY,
    FIND_BY_VECTOR,
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ctxbridge FROM PUBLIC",
  ],
]

export const NEWEST_VERSION = MIGRATIONS.length

/** Runs the statements unless that is done, and notes that it is. */
const unlessDone = (isLacking: string, statements: readonly string[], noting: string): string => `
  IF ${isLacking} THEN
    FOREACH statement IN ARRAY ARRAY[
${statements.map((statement) => `$sql$${statement}$sql$`).join(",\n")}
    ] LOOP
      CONTINUE WHEN (distance IS NULL AND statement ~ '@distance@') OR (index IS NULL AND statement ~ '@index@')
        OR (vectors IS NULL AND statement ~ '@vectors@');
      statement := replace(replace(statement, '@embedding@', embedding), '@owner@', quote_literal(owner));
      statement := replace(replace(statement, '@index@', coalesce(index, '')), '@distance@', coalesce(distance, ''));
      EXECUTE replace(statement, '@vectors@', coalesce(vectors, ''));
    END LOOP;
    ${noting};
  END IF;
`

const migration = (statements: readonly string[], n: number): string =>
  unlessDone(
    `version < ${n + 1}`,
    statements,
    `UPDATE ctxbridge.target SET version = ${n + 1} + version / ${PARTITIONED} * ${PARTITIONED}`,
  )

const step = ({ name, brings, statements }: ServerStep): string =>
  unlessDone(
    `NOT EXISTS (SELECT FROM ctxbridge.steps WHERE name = '${name}')`,
    [...statements, "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ctxbridge FROM PUBLIC"],
    `INSERT INTO ctxbridge.steps (name) VALUES ('${name}');
    RAISE NOTICE 'ctxbridge: % is there now: %', '${name}', '${brings}'`,
  )

/**
 * Makes the tables, or brings them up to date. One process does so at a time. Changes nothing where all is done, and
 * nothing of a newer major.
 */
export const SET_UP = `DO $ctxbridge$
#variable_conflict use_column
DECLARE
  version integer;
  statement text;
  owner text;
  -- pgvector, unless somebody asks for the other one by name.
  wanted text := CASE current_setting('${WANTED_VECTORS}', true) WHEN 'ruvector' THEN 'ruvector' ELSE 'vector' END;
  kept oid;
  embedding text;
  index text;
  distance text;
  refusal text;
  vectors text;
BEGIN
  -- While there is nothing to lock, anybody may have this one: then they are made without waiting any longer.
  IF to_regnamespace('ctxbridge') IS NULL OR NOT EXISTS (SELECT FROM pg_class
      WHERE relnamespace = to_regnamespace('ctxbridge') AND relname = 'target') THEN
    FOR attempt IN 1..${ATTEMPTS} LOOP
      EXIT WHEN pg_try_advisory_xact_lock(${MIGRATING});
      PERFORM pg_sleep(${PAUSE});
    END LOOP;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'ctxbridge') THEN
    CREATE SCHEMA ctxbridge;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = 'ctxbridge' AND c.relname = 'target') THEN
    CREATE TABLE ctxbridge.target (id text NOT NULL, version integer NOT NULL);
    INSERT INTO ctxbridge.target VALUES (gen_random_uuid()::text, 0);
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE EXTENSION %I SCHEMA public', wanted);
      EXCEPTION WHEN OTHERS THEN refusal := SQLERRM;
      END;
    END IF;
  END IF;
  -- Users may read this table, so none of them can have a lock in the way of this one.
  LOCK TABLE ctxbridge.target IN EXCLUSIVE MODE;
  SELECT t.version, pg_get_userbyid(c.relowner) FROM ctxbridge.target t, pg_class c
    WHERE c.oid = t.tableoid INTO version, owner;
  IF version / ${PARTITIONED} = 1 THEN
    version := version - ${PARTITIONED};
  END IF;
  -- What is there keeps its type, whatever extensions have come since.
  SELECT atttypid FROM pg_attribute WHERE attrelid = to_regclass('ctxbridge.entries') AND attname = 'embedding' INTO kept;
  -- Only what belongs to an extension: anybody may have made a type of that name. The index of ruvector is left alone: with
  -- version 0.3.0, a query that takes it does not see all rows.
  SELECT format('%I.%I(${VECTOR_LENGTH})', n.nspname, t.typname),
      CASE WHEN o.opcname IS NOT NULL THEN format('hnsw (embedding %I.%I)', n.nspname, o.opcname) END,
      format('OPERATOR(%I.<=>)', n.nspname),
      CASE WHEN EXISTS (SELECT FROM pg_type h JOIN pg_depend hd ON hd.classid = 'pg_type'::regclass AND hd.objid = h.oid
        WHERE h.typname = 'halfvec' AND h.typnamespace = n.oid AND hd.deptype = 'e' AND hd.refobjid = d.refobjid
          AND t.typname = 'vector') THEN quote_ident(n.nspname) END
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
      JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
      LEFT JOIN pg_opclass o ON o.opcintype = t.oid AND o.opcname = t.typname || '_cosine_ops'
        AND o.opcmethod = (SELECT oid FROM pg_am WHERE amname = 'hnsw') AND t.typname = 'vector'
    WHERE t.typname IN ('ruvector', 'vector') AND CASE WHEN kept IS NULL THEN t.typname = wanted ELSE t.oid = kept END
    LIMIT 1 INTO embedding, index, distance, vectors;
  IF embedding IS NULL AND kept IS NULL AND wanted = 'ruvector' THEN
    RAISE EXCEPTION '%', concat_ws(': ', 'the extension ruvector is not there', refusal)
      USING ERRCODE = 'CTX03', HINT = 'CREATE EXTENSION ruvector, or do not ask for it';
  END IF;
  embedding := coalesce(embedding, 'real[]');
  IF version > ${NEWEST_VERSION} THEN
    RAISE EXCEPTION 'these tables have version %, and this script knows version ${NEWEST_VERSION}', version
      USING HINT = 'print it with a newer ctxbridge';
  END IF;
${MIGRATIONS.map(migration).join("")}
  IF to_regclass('ctxbridge.steps') IS NULL THEN
    CREATE TABLE ctxbridge.steps (name text COLLATE "C" PRIMARY KEY, done timestamptz NOT NULL DEFAULT now());
  END IF;
${SERVER_STEPS.map(step).join("")}
  -- Unlike pgvector, ruvector takes a vector of any length into its column. One of another would fail all who may read it.
  IF embedding LIKE '%.ruvector(%' AND NOT EXISTS (SELECT FROM pg_constraint
      WHERE conrelid = 'ctxbridge.entries'::regclass AND conname = 'entries_length') THEN
    EXECUTE format('ALTER TABLE ctxbridge.entries ADD CONSTRAINT entries_length CHECK (%s = ${VECTOR_LENGTH})',
      replace(embedding, '(${VECTOR_LENGTH})', '_dims(embedding)'));
  END IF;
END $ctxbridge$`

/** Columns of entries that a later version of a turn changes. */
const UPDATED = `${COLUMNS.replace(/^key, /, "")}, signs, writer`

/** What the administrator's script says, as one transaction. */
export const ADMINISTRATOR_STATEMENTS = `DO $roles$
DECLARE
  other text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ctxbridge_owner') THEN
    CREATE ROLE ctxbridge_owner NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ctxbridge_user') THEN
    CREATE ROLE ctxbridge_user NOLOGIN;
  END IF;
  -- Since version 16, whoever made a role is a member who may do nothing with it.
  IF NOT pg_has_role(current_user, 'ctxbridge_owner', 'usage') THEN
    GRANT ctxbridge_owner TO CURRENT_USER;
  END IF;
  SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'ctxbridge'
    AND pg_get_userbyid(nspowner) NOT IN ('ctxbridge_owner', current_user) INTO other;
  IF other IS NOT NULL THEN
    RAISE EXCEPTION 'the schema ctxbridge belongs to %', other USING HINT = 'who made it may have left something in it '
      'that reads what others write. If you trust it: ALTER SCHEMA ctxbridge OWNER TO CURRENT_USER, and run this again';
  END IF;
END $roles$;

${SET_UP};

${TRANSCRIPT_ENTRIES};

-- Nobody logs in as the owner, whom the rules for rows do not bind. What is his is left alone: changing it would wait for
-- everybody who is at it, and keep others waiting.
DO $owner$
DECLARE
  object text;
BEGIN
  FOR object IN
    SELECT 'SCHEMA ctxbridge' FROM pg_namespace WHERE nspname = 'ctxbridge' AND nspowner <> 'ctxbridge_owner'::regrole
    UNION ALL SELECT format('TABLE %s', oid::regclass) FROM pg_class
      WHERE relnamespace = 'ctxbridge'::regnamespace AND relkind IN ('r', 'p', 'v') AND relowner <> 'ctxbridge_owner'::regrole
    UNION ALL SELECT format('FUNCTION %s', oid::regprocedure) FROM pg_proc
      WHERE pronamespace = 'ctxbridge'::regnamespace AND proowner <> 'ctxbridge_owner'::regrole
  LOOP
    EXECUTE format('ALTER %s OWNER TO ctxbridge_owner', object);
  END LOOP;
END $owner$;

GRANT USAGE ON SCHEMA ctxbridge TO ctxbridge_user;
GRANT SELECT ON ctxbridge.target, ctxbridge.steps, ctxbridge.conversations, ctxbridge.transcript_entries TO ctxbridge_user;
-- By columns, and never DELETE: with a right to the whole table, one user could lock it for all others.
REVOKE UPDATE, DELETE ON ctxbridge.entries, ctxbridge.frames, ctxbridge.fills FROM ctxbridge_user;
GRANT SELECT, INSERT, UPDATE (${UPDATED}) ON ctxbridge.entries TO ctxbridge_user;
GRANT SELECT, INSERT ON ctxbridge.forgotten, ctxbridge.frames TO ctxbridge_user;
GRANT SELECT, INSERT, UPDATE (lines) ON ctxbridge.fills TO ctxbridge_user;
GRANT SELECT, INSERT, UPDATE (tenant) ON ctxbridge.locks TO ctxbridge_user;
GRANT SELECT, INSERT, DELETE ON ctxbridge.shared TO ctxbridge_user;
${SERVER_STEPS.flatMap(({ rights = [] }) => rights.map((right) => `${right};\n`)).join("")}GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ctxbridge TO ctxbridge_user;
`

/** What an administrator runs once, and after an upgrade. It may be run again at any time. */
export const ADMINISTRATOR_SCRIPT = `-- Tables of ctxbridge for many users, who read and write only what is their own. Run it in the database that is meant
-- for it, as a role that may create roles: ctxbridge server init --print | psql -v ON_ERROR_STOP=1 DATABASE
-- Users need not upgrade at once: older programs of version ${NEWEST_VERSION} go on with what they know, and newer ones are told
-- which of these steps they lack until it is run: ${SERVER_STEPS.map(({ name }) => name).join(", ") || "none yet"}.
-- Then, for each user: GRANT ctxbridge_user TO alice;
SET search_path = pg_catalog, pg_temp; -- or functions that somebody has left in public would be called

BEGIN;

${ADMINISTRATOR_STATEMENTS}
COMMIT;

-- Beside what users do, for whom nothing is locked; by psql, since no function could.
${WAITING_BY_PSQL}
`
