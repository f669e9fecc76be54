/**
 * A server's turns in one table a month, for administrators who want to remove the old ones by dropping their table. What
 * is unique in partitions has the month's column in it, so older programs cannot put anything there: the version is one
 * that they refuse. A key ends with the time that its turn began, so a turn of one key is always of one month. Pure, but
 * for what drops months.
 */
import { codeOf, isCtxError } from "../../base/errors.ts"
import type { Server } from "./postgres-door.ts"
import { ENTRY_BYTES } from "./postgres-limits.ts"
import {
  ADMINISTRATOR_STATEMENTS,
  CONVERSATIONS,
  ownRows,
  TRANSCRIPT_ENTRIES,
} from "./postgres-migrations.ts"
import { PARTITIONED } from "./postgres-steps.ts"

/** Months that have their table ahead of time. */
const AHEAD = 12

/** Months that get a table of their own, however wrong somebody's clock is: there must not be thousands of them. */
const IS_MONTH = (month: string): string =>
  `(${month} ~ '^20[2-9][0-9]-(0[1-9]|1[0-2])$' AND ${month} <= to_char(now() + interval '${AHEAD} months', 'YYYY-MM'))`

/** Makes the table of a `month`, and lets the rows that are in it already be of all. */
const makeMonth = (filling = ""): string => `
    name := 'entries_' || replace(month, '-', '_');
    later := to_char((month || '-01')::date + interval '1 month', 'YYYY-MM');
    EXECUTE format('CREATE TABLE ctxbridge.%I (LIKE ctxbridge.entries INCLUDING ALL)', name);
    ${hidden("name")}
    ${filling}
    EXECUTE format('ALTER TABLE ctxbridge.entries ATTACH PARTITION ctxbridge.%I FOR VALUES FROM (%L) TO (%L)', name, month, later);`

/** The planner must not say what others have; and whoever is let at one month by mistake sees nothing. */
const hidden = (name: string): string => `EXECUTE (
      SELECT format('ALTER TABLE ctxbridge.%I ENABLE ROW LEVEL SECURITY, ', ${name})
        || string_agg(format('ALTER COLUMN %I SET STATISTICS 0', attname), ', ')
      FROM pg_attribute WHERE attrelid = 'ctxbridge.entries'::regclass AND attnum > 0 AND NOT attisdropped);`

/**
 * Keeps everybody waiting until the transaction ends, so only who may do what the owner may makes months; older programs
 * call it for anybody. What has no table goes with the turns that say no month, also where somebody keeps it from being made.
 */
const MAKE_MONTHS = `CREATE OR REPLACE FUNCTION ctxbridge.make_months(wanted text[]) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $months$
DECLARE
  month text;
  later text;
  name text;
BEGIN
  IF NOT pg_has_role(session_user, current_user, 'usage') THEN RETURN; END IF;
  FOR month IN SELECT DISTINCT w FROM unnest(wanted || ARRAY(
      SELECT to_char(now() + make_interval(months => n), 'YYYY-MM') FROM generate_series(0, ${AHEAD}) n)) w WHERE ${IS_MONTH("w")} ORDER BY 1 LOOP
    CONTINUE WHEN to_regclass('ctxbridge.entries_' || replace(month, '-', '_')) IS NOT NULL;
    BEGIN${makeMonth()}
    EXCEPTION WHEN lock_not_available THEN EXIT;
      WHEN check_violation OR duplicate_table OR unique_violation THEN NULL;
    END;
  END LOOP;
END $months$`

/** Rows that say no month, or one that could not be made. */
const OTHERS = "entries_other"

/**
 * Brings all rows into the tables of their months. Run again, it does so with what has been left among the others. What
 * counts rows is there only afterwards: they stay as many.
 */
export const PARTITIONING = `DO $partition$
DECLARE
  path text := current_setting('search_path');
  source text := '${OTHERS}';
  made text[] := '{}';
  columns text;
  month text;
  later text;
  name text;
  statement text;
BEGIN
  LOCK TABLE ctxbridge.target IN EXCLUSIVE MODE;
  LOCK TABLE ctxbridge.entries IN ACCESS EXCLUSIVE MODE;
  -- Definitions have the names of schemas then.
  PERFORM set_config('search_path', 'pg_catalog, pg_temp', true);
  IF (SELECT version < ${PARTITIONED} FROM ctxbridge.target) THEN
    IF current_setting('server_version_num')::integer < 150000 THEN
      RAISE EXCEPTION 'tables by month need PostgreSQL 15';
    END IF;
    made := ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index
        WHERE indrelid = 'ctxbridge.entries'::regclass AND NOT indisunique ORDER BY indexrelid)
      || ARRAY(SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = 'ctxbridge.entries'::regclass AND NOT tgisinternal ORDER BY tgname);
    source := 'former_entries';
    DROP VIEW IF EXISTS ctxbridge.conversations, ctxbridge.transcript_entries;
    ALTER TABLE ctxbridge.entries RENAME TO former_entries;
    CREATE TABLE ctxbridge.entries (LIKE ctxbridge.former_entries INCLUDING DEFAULTS INCLUDING GENERATED
      INCLUDING STORAGE INCLUDING COMPRESSION) PARTITION BY RANGE (started);
    CREATE TABLE ctxbridge.${OTHERS} (LIKE ctxbridge.entries INCLUDING ALL);
    ${hidden(`'${OTHERS}'`)}
    UPDATE ctxbridge.target SET version = version + ${PARTITIONED};
  END IF;
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = 'ctxbridge.entries'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' INTO columns;
  FOR month IN EXECUTE format('SELECT DISTINCT left(started, 7) FROM ctxbridge.%I ORDER BY 1', source) LOOP
    CONTINUE WHEN ${IS_MONTH("month")} IS NOT TRUE;${makeMonth(`
    EXECUTE format('INSERT INTO ctxbridge.%I (%s) SELECT %2$s FROM ctxbridge.%I WHERE started >= %L AND started < %L',
      name, columns, source, month, later);
    IF source = '${OTHERS}' THEN
      EXECUTE format('DELETE FROM ctxbridge.${OTHERS} WHERE started >= %L AND started < %L', month, later);
    END IF;`)}
  END LOOP;
  IF source <> '${OTHERS}' THEN
    EXECUTE format('INSERT INTO ctxbridge.${OTHERS} (%s) SELECT %1$s FROM ctxbridge.former_entries
      WHERE (${IS_MONTH("left(started, 7)").replaceAll("'", "''")}) IS NOT TRUE', columns);
    ALTER TABLE ctxbridge.entries ATTACH PARTITION ctxbridge.${OTHERS} DEFAULT;
    DROP TABLE ctxbridge.former_entries;
    CREATE UNIQUE INDEX entries_key ON ctxbridge.entries (tenant, key, started) NULLS NOT DISTINCT;
    FOREACH statement IN ARRAY made || ARRAY[
${[...ownRows("entries"), CONVERSATIONS, TRANSCRIPT_ENTRIES, MAKE_MONTHS, "REVOKE EXECUTE ON FUNCTION ctxbridge.make_months FROM PUBLIC"].map((one) => `$sql$${one}$sql$`).join(",\n")}
    ] LOOP
      EXECUTE statement;
    END LOOP;
    ${hidden("'entries'")}
  END IF;
  PERFORM set_config('search_path', path, true);
END $partition$`

/** After the administrator's script; rights are given anew. */
export const PARTITIONING_SCRIPT = `-- One table for each month. Older programs refuse it, and say that they must be upgraded.
BEGIN;

${PARTITIONING};

${ADMINISTRATOR_STATEMENTS}
DO $$BEGIN PERFORM ctxbridge.make_months('{}'); END$$;
COMMIT;
`

/** Those that will be needed, before anybody waits for them. Where an older program made the function, it is made anew. */
export async function makeMonths(server: Server): Promise<void> {
  await server.ask(MAKE_MONTHS)
  await server.ask("SELECT ctxbridge.make_months('{}')")
}

/** s that dropping a month waits for whoever is at it; else its rows are deleted one by one. */
const PATIENCE = 10
/** SQLSTATEs of a wait that is over: for a lock, and for one that waits for us. */
const BUSY = ["55P03", "40P01"]

/**
 * Drops the months of which nothing may be kept, also where nothing is in them, and notes their turns as forgotten.
 *
 * @param due query of the `days` of all rules, and of `tenant` and `id` of what is too old, in the table that it is given;
 *   its only parameter is `rules`
 * @returns turns
 */
export async function dropMonths(
  server: Server,
  due: (table: string) => string,
  rules: string,
): Promise<number> {
  const months = await server.ask(
    `${due("ctxbridge.entries")} SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'ctxbridge.entries'::regclass AND c.relname ~ '^entries_[0-9]{4}_[0-9]{2}$' AND c.relname COLLATE "C"
       < to_char(now() - make_interval(days => (SELECT min(days) FROM rules)), '"entries_"YYYY_MM') COLLATE "C" ORDER BY 1`,
    [rules],
  )
  let gone = 0
  for (const table of months.map(({ name }) => `ctxbridge.${name}`)) {
    const counting = `${due(table)} SELECT (SELECT count(*)::int FROM due) AS due, (SELECT count(*)::int FROM ${table}) AS all`
    const isAllDue = ([row]: Awaited<ReturnType<Server["ask"]>>): boolean => row!["due"] === row!["all"]
    if (!isAllDue(await server.ask(counting, [rules]))) continue
    try {
      gone += await server.transaction(async (ask) => {
        await ask(`SET LOCAL lock_timeout = '${PATIENCE}s'`)
        await ask(`LOCK TABLE ctxbridge.entries, ${table} IN ACCESS EXCLUSIVE MODE`)
        // What has come meanwhile.
        const counted = await ask(counting, [rules])
        if (!isAllDue(counted)) return 0
        await ask(`INSERT INTO ctxbridge.forgotten (tenant, kind, name) SELECT tenant, 'id', id FROM ${table}
          ON CONFLICT DO NOTHING`)
        await ask(`UPDATE ctxbridge.tenants t SET bytes = greatest(0, t.bytes - g.bytes)
          FROM (SELECT tenant, sum(${ENTRY_BYTES})::bigint AS bytes FROM ${table} GROUP BY tenant) g WHERE g.tenant = t.tenant`)
        await ask(`DROP TABLE ${table}`)
        return Number(counted[0]!["all"])
      }, "as long as it takes")
    } catch (error) {
      if (!isCtxError(error) || !BUSY.includes(codeOf(error.cause))) throw error
    }
  }
  return gone
}
