/**
 * How much one PostgreSQL server holds, and what a team needs:
 * `bun bench/sizing.ts [--kinds real,small] [--real 100000] [--small 1000000] [--rounds 100] [--postgres BIN]
 * [--dir DIR] [--exe PATH] [--on URL] [--whole]`. An archive is made from a seed and sent with the compiled binary; then the server
 * copies its rows under other sessions, of 20 users over 24 months. Sizes and searches are measured in one table, and in
 * one that is partitioned by month, which the same rows are brought into. At the end stand the tables of docs/scaling.md.
 * `--whole` leaves out the latter. With `--on`, the server that runs at this address is used, and what is there from an earlier run is not made again.
 */
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import { serverAddress } from "../src/sync/targets/postgres-address.ts"
import { administerPostgres } from "../src/sync/targets/postgres-admin.ts"
import { ADMINISTRATOR_SCRIPT } from "../src/sync/targets/postgres-migrations.ts"
import { openPostgresTarget } from "../src/sync/targets/postgres-target.ts"
import type { EntryQuery } from "../src/sync/targets/target.ts"
import { installedPostgres, NO_VARIABLES, psql, startPostgres } from "../test/support/postgres.ts"
import { realTranscript } from "./seeded-real.ts"
import { seededTranscript } from "./seeded-transcript.ts"
import { common, middling, rare } from "./seeded-words.ts"

const { values } = parseArgs({
  options: {
    kinds: { type: "string", default: "real,small" },
    real: { type: "string", default: "100000" },
    small: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "100" },
    postgres: { type: "string", default: installedPostgres() ?? "" },
    dir: { type: "string", default: join(tmpdir(), "ctxbridge-sizing-bench") },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
    on: { type: "string", default: "" },
    whole: { type: "boolean", default: false },
  },
})
mkdirSync(values.dir, { recursive: true })
const dir = realpathSync(values.dir)
const exe = resolve(values.exe)
const programs = values.postgres

/** Turns of a session; users, months. */
const SESSION = 50
const USERS = 20
const MONTHS = 24
const FIRST_DAY = "2024-12-01"

/** Turns that are sent; the server copies them. */
const KINDS = {
  real: { sent: 4000, transcript: (n: number) => realTranscript(n, SESSION) },
  small: { sent: 10_000, transcript: (n: number) => seededTranscript(n, { turns: SESSION, calls: 1 }) },
} as const

type Kind = keyof typeof KINDS

/** As docs/scaling.md advises for 8 GB of memory. */
const SETTINGS = {
  ...{ fsync: "on", shared_buffers: "2GB", effective_cache_size: "6GB", work_mem: "64MB" },
  ...{ maintenance_work_mem: "1GB", max_wal_size: "8GB" },
}

const addressOf = (address: string, user: string, database: string): string =>
  address.replace("owner:", `${user}:`).replace(/[^/]*$/, database)

async function run(address: string, statements: string): Promise<string> {
  const { code, stdout, stderr } = await psql(programs, address, statements)
  if (code !== 0) throw new Error(stderr)
  return stdout
}

/** s */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

/** Sends as many turns as a kind wants, as the user `dev0`. */
async function send(kind: Kind, address: string): Promise<void> {
  const home = join(dir, kind)
  rmSync(home, { recursive: true, force: true })
  const folder = join(home, ".claude", "projects", "bench")
  mkdirSync(folder, { recursive: true })
  const { sent, transcript } = KINDS[kind]
  const paths = Array.from({ length: sent / SESSION }, (_, n) => {
    const { id, lines } = transcript(n)
    const path = join(folder, `${id}.jsonl`)
    writeFileSync(path, `${lines.join("\n")}\n`)
    return path
  })
  const place = {
    dataHome: join(home, "archive"),
    ...{ home, stateHome: join(home, "state"), secrets: FILTERED, exclude: [] },
  }
  if (!importTranscripts(place, paths, { dryRun: false, check: false }).ok) throw new Error("not imported")
  const env = { HOME: home, CTXBRIDGE_HOME: place.dataHome, XDG_STATE_HOME: place.stateHome, BUN_OPTIONS: "" }
  const child = Bun.spawn([exe, "sync", "--to", address], { env, cwd: dir, stdout: "ignore" })
  if ((await child.exited) !== 0) throw new Error("not sent")
  rmSync(home, { recursive: true })
}

/** Rows of a round of copies; each session has a word that no other has. */
const growing = (round: number, rounds: number, sent: number): string => `
  SET work_mem = '64MB';
  INSERT INTO ctxbridge.entries (tenant, key, id, session, project, started, messages, taken_back, summary, content,
    metadata, words, about, writer)
  SELECT 'dev' || g % ${USERS}, key, encode(sha256(convert_to(key, 'UTF8')), 'hex'), of, path, began, messages, taken_back,
    summary, content, metadata || jsonb_build_object('sessionId', of, 'project', path, 'timestamp', began, 'ended', began),
    words || array_to_tsvector(ARRAY['only' || g]), about, 'bench'
  FROM (
    SELECT *, format('transcript:%s:%s:%s', of, n % ${SESSION}, began) AS key FROM (
      SELECT b.n, b.messages, b.taken_back, b.summary, b.content, b.metadata, b.words, b.about, g,
        md5(g::text) AS of, '/home/dev/project-' || g / ${USERS} % ${USERS} AS path,
        to_char(timestamp '${FIRST_DAY}' + interval '${MONTHS} months' * (g::float8 * ${SESSION} / ${sent * rounds})
          + interval '1 minute' * (n % ${SESSION}), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS began
      FROM base b, LATERAL (SELECT ${round} * ${sent / SESSION} + n / ${SESSION} AS g) s ORDER BY b.n OFFSET 0) r
  ) r`

/** Sets up a database with so many rows, but for the last round, unless it is there. */
async function grow(kind: Kind, address: string, rounds: number): Promise<void> {
  const { sent } = KINDS[kind]
  const name = address.replace(/.*\//, "")
  const server = addressOf(address, "owner", "postgres")
  if ((await run(server, `SELECT 1 FROM pg_database WHERE datname = '${name}'`)) === "1") return
  await run(server, `CREATE DATABASE ${name}`)
  await run(address, ADMINISTRATOR_SCRIPT)
  await run(
    address,
    `DO $$ BEGIN FOR n IN 0..${USERS - 1} LOOP
       IF to_regrole('dev' || n) IS NULL THEN EXECUTE format('CREATE ROLE dev%s LOGIN PASSWORD ''sesame''', n); END IF;
       EXECUTE format('GRANT ctxbridge_user TO dev%s', n);
     END LOOP; END $$`,
  )
  await send(kind, addressOf(address, "dev0", name))
  // The index of words is made at once: row by row, it takes most of the time. Nobody cleans up beside it: while that
  // goes on, what is added only piles up.
  await run(
    address,
    `CREATE TABLE base AS SELECT row_number() OVER (ORDER BY session, started) - 1 AS n, * FROM ctxbridge.entries;
     TRUNCATE ctxbridge.entries, ctxbridge.tenants;
     ALTER TABLE ctxbridge.entries SET (autovacuum_enabled = off);
     CREATE TABLE kept AS SELECT indexdef FROM pg_indexes WHERE indexname = 'entries_words';
     DROP INDEX ctxbridge.entries_words`,
  )
  for (let round = 0; round < rounds - 1; round++) await run(address, growing(round, rounds, sent))
  await run(address, "DO $$ BEGIN EXECUTE (SELECT indexdef FROM kept); END $$")
}

/** Kinds of searches; n tells one from another. */
const SEARCHES: Readonly<Record<string, (n: number, newest: string) => EntryQuery>> = {
  "a word of one session": (n) => ({ words: `only${USER + USERS * n}`, limit: 10 }),
  "a rare word": (n) => ({ words: rare(n), limit: 10 }),
  "two middling words": (n) => ({ words: `${middling(n % 40)} ${middling((n * 7) % 60)}`, limit: 10 }),
  "a word that most turns have": (n) => ({ words: common(n), limit: 10 }),
  "three such words": (n) => ({ words: `${common(n)} ${common(n + 1)} ${common(n + 2)}`, limit: 10 }),
  "two such words, in one project": (n) => ({
    words: `${common(n)} ${common(n + 1)}`,
    project: `/home/dev/project-${n % USERS}`,
    limit: 10,
  }),
  "a rare word, in one month": (n, newest) => ({ words: rare(n), ...monthOf(n, newest), limit: 10 }),
  "two common words, in one month": (n, newest) => ({
    words: `${common(n)} ${common(n + 1)}`,
    ...monthOf(n, newest),
    limit: 10,
  }),
  "the newest of a project": (n) => ({ words: "", project: `/home/dev/project-${n % USERS}`, limit: 10 }),
}

/** Who searches. */
const USER = 3

/** The nth month before the newest turn. */
function monthOf(n: number, newest: string): { since: string; until: string } {
  const from = new Date(newest)
  from.setUTCDate(1)
  from.setUTCMonth(from.getUTCMonth() - (n % MONTHS))
  const since = from.toISOString().slice(0, 7)
  from.setUTCMonth(from.getUTCMonth() + 1)
  return { since, until: from.toISOString().slice(0, 7) }
}

interface Searched {
  /** ms */
  readonly p50: number
  readonly p95: number
  /** Hits in the mean. */
  readonly hits: number
}

/** By kind of search, as one of the users; the last is of all of them. */
async function search(address: string): Promise<Record<string, Searched>> {
  const to = serverAddress(addressOf(address, `dev${USER}`, address.replace(/.*\//, "")), NO_VARIABLES)
  const target = await openPostgresTarget(to, 60_000, true)
  const newest = await run(address, "SELECT max(started) FROM ctxbridge.entries")
  const results: Record<string, Searched> = {}
  const all: number[] = []
  for (const [name, query] of Object.entries(SEARCHES)) {
    const times: number[] = []
    let hits = 0
    for (let n = -3; n < Number(values.rounds); n++) {
      const start = performance.now()
      const found = await target.find(query(Math.max(0, n), newest))
      if (n < 0) continue
      times.push(performance.now() - start)
      hits += found.length
    }
    all.push(...times)
    results[name] = { ...ofAll(times), hits: hits / times.length }
  }
  await target.close()
  return { ...results, "all of these": { ...ofAll(all), hits: Number.NaN } }
}

function ofAll(times: readonly number[]): { p50: number; p95: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)]!
  return { p50: at(0.5), p95: at(0.95) }
}

/** Bytes a turn, by what takes them. */
type Sizes = Readonly<Record<string, number>>

async function measureSizes(address: string): Promise<Sizes> {
  const lines = await run(
    address,
    `WITH parts AS (SELECT oid, reltoastrelid FROM pg_class WHERE relnamespace = 'ctxbridge'::regnamespace AND relkind = 'r'
         AND relname ~ '^entries'),
       turns AS (SELECT count(*)::float8 AS n FROM ctxbridge.entries)
     SELECT 'table', sum(pg_relation_size(oid)) / n FROM parts, turns GROUP BY n
     UNION ALL SELECT 'long values', sum(pg_total_relation_size(reltoastrelid)) / n FROM parts, turns GROUP BY n
     UNION ALL SELECT CASE WHEN indexdef ~ 'gin' THEN 'index of words' ELSE 'other indexes' END,
       sum(pg_relation_size(format('ctxbridge.%I', indexname)::regclass)) / n FROM turns, pg_indexes
       WHERE schemaname = 'ctxbridge' AND tablename ~ '^entries_' OR schemaname = 'ctxbridge' AND tablename = 'entries'
       GROUP BY 1, n`,
  )
  return Object.fromEntries(
    lines
      .split("\n")
      .map((line) => line.split("|"))
      .map(([name, bytes]) => [name!, Math.round(Number(bytes))]),
  )
}

interface Measured {
  /** Rows a second that the server takes with all indexes. */
  readonly rate: number
  readonly sizes: Sizes
  readonly searches: Readonly<Record<string, Searched>>
  /** s until the oldest month is gone, and until its room is free. */
  readonly removing: number
  readonly cleaning: number
}

/** @param month that is the first one afterwards */
async function measure(
  kind: Kind,
  address: string,
  round: number,
  rounds: number,
  month: number,
): Promise<Measured> {
  const { sent } = KINDS[kind]
  const rate = sent / (await timed(() => run(address, growing(round, rounds, sent))))
  await run(address, "VACUUM ctxbridge.entries")
  await run(address, "CHECKPOINT")
  const sizes = await measureSizes(address)
  const searches = await search(address)
  const day = new Date(FIRST_DAY)
  day.setUTCMonth(day.getUTCMonth() + month)
  const days = Math.floor((Date.now() - day.getTime()) / 86_400_000)
  const admin = await administerPostgres(serverAddress(address, NO_VARIABLES))
  let gone = 0
  const removing = await timed(async () => {
    gone = await admin.expire(false, { role: undefined, days })
  })
  await admin.close()
  const cleaning = await timed(() => run(address, "VACUUM ctxbridge.entries"))
  console.error(`${kind}: removed ${gone} turns`)
  return { rate, sizes, searches, removing, cleaning }
}

const row = (...cells: readonly (string | number)[]): void => console.log(`| ${cells.join(" | ")} |`)
const kb = (bytes: number): string => (bytes / 1000).toFixed(bytes < 10_000 ? 2 : 1)
const ms = (value: number): string => (value < 10 ? value.toFixed(1) : Math.round(value).toString())
const sum = (sizes: Sizes): number => Object.values(sizes).reduce((total, size) => total + size, 0)

function printMeasured(columns: Readonly<Record<string, Measured>>): void {
  const all = Object.values(columns)
  row("measured", ...Object.keys(columns))
  row("---", ...all.map(() => "---:"))
  for (const name of Object.keys(all[0]!.sizes))
    row(`${name}, kB a turn`, ...all.map(({ sizes }) => kb(sizes[name]!)))
  row("all, kB a turn", ...all.map(({ sizes }) => kb(sum(sizes))))
  row("turns added, a second", ...all.map(({ rate }) => Math.round(rate)))
  for (const name of Object.keys(all[0]!.searches))
    row(
      `${name}: p50, p95 (hits)`,
      ...all.map(({ searches }) => {
        const { p50, p95, hits } = searches[name]!
        return `${ms(p50)}, ${ms(p95)} ms${Number.isNaN(hits) ? "" : ` (${hits.toFixed(1)})`}`
      }),
    )
  row("removing a month, s", ...all.map(({ removing }) => removing.toFixed(1)))
  row("and cleaning up, s", ...all.map(({ cleaning }) => cleaning.toFixed(1)))
}

/** Assumed: a developer's turns on a working day, working days a year, and hours of a day in which they are sent. */
const TURNS = 80
const DAYS = 250
const HOURS = 8

/** What a team needs in a year, from what was measured with turns of real length. */
function printComputed({ sizes, rate, searches }: Measured, rows: number): void {
  const teams = [20, 200, 2000]
  const yearly = teams.map((team) => team * TURNS * DAYS)
  const perSecond = yearly.map((turns) => turns / DAYS / HOURS / 3600)
  const gb = (bytes: number): string => Math.round(bytes / 1e9).toLocaleString("en")
  row("computed", ...teams.map((team) => `${team.toLocaleString("en")} people`))
  row("---", ...teams.map(() => "---:"))
  row("turns a year", ...yearly.map((turns) => turns.toLocaleString("en")))
  row("disk, GB", ...yearly.map((turns) => gb(turns * sum(sizes))))
  const indexes = sizes["index of words"]! + sizes["other indexes"]!
  row("of these, indexes, GB", ...yearly.map((turns) => gb(turns * indexes)))
  row("turns a second", ...perSecond.map((turns) => turns.toFixed(2)))
  row("of what the server takes", ...perSecond.map((turns) => `${((turns / rate) * 100).toFixed(1)} %`))
  // All users' turns with a word are looked at, so a search takes at most as many times as long as there are more of them.
  for (const name of ["a rare word", "a word that most turns have", "all of these"])
    row(`${name}: p95, at most`, ...yearly.map((turns) => `${ms((searches[name]!.p95 * turns) / rows)} ms`))
}

const own = values.on === "" ? await startPostgres(programs, undefined, SETTINGS) : undefined
const columns: Record<string, Measured> = {}
for (const kind of values.kinds.split(",") as Kind[]) {
  const { sent } = KINDS[kind]
  const rounds = Math.ceil(Number(values[kind]) / sent)
  const rows = rounds * sent
  const address = addressOf(own?.address ?? values.on, "owner", `${kind}${rows}`)
  await grow(kind, address, rounds)
  const name = `${rows.toLocaleString("en")} ${kind}`
  const whole = await measure(kind, address, rounds - 1, rounds, 1)
  columns[name] = whole
  if (!values.whole) {
    const took = await timed(async () => {
      const admin = await administerPostgres(serverAddress(address, NO_VARIABLES))
      await admin.migrate(false, true, true)
      await admin.close()
    })
    console.error(`${kind}: brought into a table for each month in ${took.toFixed(1)} s`)
    columns[`${name}, by month`] = await measure(kind, address, rounds, rounds + 1, 2)
  }
  printMeasured(columns)
  if (kind === "real") printComputed(whole, rows)
}
await own?.[Symbol.asyncDispose]()
process.exit(0)
