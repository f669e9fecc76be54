/**
 * An index of vectors at half their precision, which is half as large and finds more: those that it takes for the nearest
 * are compared as a whole. It is made, and the former one dropped, outside of any transaction, so that nobody who puts or
 * finds waits for it; until then, the former one is used. Pure, but for the calls.
 */
import type { Server } from "./postgres-door.ts"
import { FIND_BY_HALVES, HALVED, HAS_HALVED } from "./postgres-finding.ts"

const INDEX = `ctxbridge.entries USING hnsw ((${HALVED}) @vectors@.halfvec_cosine_ops)`

/** How often it is tried, and seconds in between. */
const ATTEMPTS = 30
const PAUSE = 0.1

/**
 * Waits for nobody, and keeps nobody waiting: what is used all the time stays until the next time.
 *
 * @param otherwise what is said then
 */
const dropping = (index: string, otherwise = ""): string => `DO $drop$ BEGIN
  FOR attempt IN 1..${ATTEMPTS} LOOP
    BEGIN
      LOCK TABLE ctxbridge.entries IN ACCESS EXCLUSIVE MODE NOWAIT;
      DROP INDEX IF EXISTS ctxbridge.${index};
      RETURN;
    EXCEPTION WHEN lock_not_available THEN PERFORM pg_sleep(${PAUSE});
    END;
  END LOOP;
  ${otherwise}
END $drop$`

/** There can be no other of its name beside it. */
const IN_THE_WAY = `RAISE EXCEPTION 'an index of vectors that was left half-done cannot be removed while somebody is at the turns'
    USING ERRCODE = 'lock_not_available';`

const waiting = (statements: string): string => `CREATE OR REPLACE FUNCTION ctxbridge.waiting_indexes()
  RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $waiting$
  ${statements}
$waiting$`

/**
 * Left half-done by somebody who was ended, it is made anew; while somebody is at it, nobody else begins. Of what
 * another role makes, a server tells the process only, and its locks: users cannot have these.
 */
const WAITING = `SELECT s.statement FROM (VALUES
    (1, to_regclass('ctxbridge.entries_halfvec') IS NOT NULL AND NOT ${HAS_HALVED}, $one$${dropping("entries_halfvec", IN_THE_WAY)}$one$),
    (2, NOT ${HAS_HALVED}, format('CREATE INDEX %s entries_halfvec ON %s',
      CASE (SELECT relkind FROM pg_class WHERE oid = 'ctxbridge.entries'::regclass) WHEN 'r' THEN 'CONCURRENTLY' END, $two$${INDEX}$two$)),
    (3, to_regclass('ctxbridge.entries_embedding') IS NOT NULL, $three$${dropping("entries_embedding")}$three$)
  ) AS s(n, is_due, statement)
  WHERE s.is_due AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p JOIN pg_locks l ON l.pid = p.pid AND l.database = p.datid
    WHERE l.relation = 'ctxbridge.entries'::regclass AND l.mode IN ('ShareLock', 'ShareUpdateExclusiveLock'))
  ORDER BY s.n`

/** A step of `SERVER_STEPS`. Without pgvector, or with one before 0.7, it only says that nothing waits. */
export const HALFVEC = {
  name: "halfvec",
  brings:
    "searches by meaning among very many turns find more of the nearest, through an index of half the size",
  statements: [
    ...FIND_BY_HALVES,
    waiting("SELECT ''::text WHERE false"),
    waiting(WAITING),
    // New tables have it at once.
    `DO $index$ BEGIN
  IF NOT EXISTS (SELECT FROM ctxbridge.entries) THEN CREATE INDEX entries_halfvec ON ${INDEX}; END IF;
END $index$`,
  ],
}

/** Memory of one process, since several share theirs in a way that containers have hardly any of. */
const SESSION = `SELECT set_config('max_parallel_maintenance_workers', '0', false),
  set_config('maintenance_work_mem', greatest(pg_size_bytes(current_setting('maintenance_work_mem')), 268435456) / 1024 || 'kB', false)`

/** What the administrator's script says after its transaction: psql runs what a question answers. */
export const WAITING_BY_PSQL = `${SESSION} \\gset
SELECT * FROM ctxbridge.waiting_indexes() \\gexec`

/** ms. */
const HOURS = 6 * 3_600_000

/** For whoever owns the tables, where the step is there. */
export async function makeWaitingIndexes(server: Server): Promise<void> {
  const statements = await server.ask("SELECT w AS sql FROM ctxbridge.waiting_indexes() w")
  if (statements.length === 0) return
  await server.ask(SESSION)
  for (const { sql } of statements) await server.within(HOURS).ask(String(sql))
  await server.ask("RESET ALL")
}
