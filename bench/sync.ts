/**
 * What a sync with PostgreSQL costs, beside `COPY` of the same rows into the same indexes in the same run:
 * `bun bench/sync.ts [--turns 3000] [--sizes real|small] [--rounds 3] [--postgres BIN] [--dir DIR] [--exe PATH]`. With `real`,
 * turns have 35 KB of content in the mean and 10 KB in the median, as in real sessions. The archive is made from a seed
 * and kept in DIR. No vectors: what makes them is measured elsewhere.
 */
import { existsSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import { serverAddress } from "../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../src/sync/targets/postgres-target.ts"
import { installedPostgres, NO_VARIABLES, psql, startPostgres } from "../test/support/postgres.ts"
import { realTranscript } from "./seeded-real.ts"
import { seededTranscript } from "./seeded-transcript.ts"
import { common, middling, rare } from "./seeded-words.ts"

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "3000" },
    sizes: { type: "string", default: "real" },
    rounds: { type: "string", default: "3" },
    postgres: { type: "string", default: installedPostgres() ?? "" },
    dir: { type: "string", default: join(tmpdir(), "ctxbridge-sync-bench") },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
  },
})
mkdirSync(values.dir, { recursive: true })
const dir = realpathSync(values.dir)
const exe = resolve(values.exe)
const programs = values.postgres

/** Turns of a session, and sessions whose transcripts are on disk at a time. */
const SESSION = 50
const AT_ONCE = 50

const transcript = (n: number, turns: number): { id: string; lines: string[] } =>
  values.sizes === "real" ? realTranscript(n, turns) : seededTranscript(n, { turns, calls: 2 })

/** Takes sessions into an archive. */
function take(home: string, sessions: readonly (readonly [n: number, turns: number])[]): void {
  const folder = join(home, ".claude", "projects", "bench")
  mkdirSync(folder, { recursive: true })
  const place = {
    dataHome: join(home, "archive"),
    ...{ home, stateHome: join(home, "state"), secrets: FILTERED, exclude: [] },
  }
  const paths = sessions.map(([n, turns]) => {
    const { id, lines } = transcript(n, turns)
    const path = join(folder, `${id}.jsonl`)
    writeFileSync(path, `${lines.join("\n")}\n`)
    return path
  })
  const report = importTranscripts(place, paths, { dryRun: false, check: false })
  if (!report.ok) throw new Error(JSON.stringify(report.files.find(({ error }) => error !== undefined)))
  rmSync(folder, { recursive: true })
}

/** Makes an archive with this many turns, unless it exists. */
function archive(turns: number): string {
  const home = join(dir, `${values.sizes}-${turns}`)
  const done = join(home, "done")
  if (existsSync(done)) return home
  rmSync(home, { recursive: true, force: true })
  const sessions = Array.from(
    { length: Math.ceil(turns / SESSION) },
    (_, n) => [n, Math.min(SESSION, turns - n * SESSION)] as const,
  )
  for (let at = 0; at < sessions.length; at += AT_ONCE) take(home, sessions.slice(at, at + AT_ONCE))
  writeFileSync(done, "")
  return home
}

interface Ran {
  /** s */
  readonly wall: number
  readonly cpu: number
  /** MB */
  readonly memory: number
  readonly report: Record<string, unknown>
}

async function sync(home: string, address: string, ...options: string[]): Promise<Ran> {
  const env = {
    ...{ HOME: home, CTXBRIDGE_HOME: join(home, "archive"), BUN_OPTIONS: "", BUN_BE_BUN: "" },
    XDG_STATE_HOME: join(home, "state"),
  }
  const start = performance.now()
  const command = values.exe.endsWith(".ts") ? ["bun", exe] : [exe]
  const child = Bun.spawn([...command, "sync", "--json", "--to", address, ...options], {
    ...{ env: { ...env, PATH: process.env["PATH"] }, cwd: dir, stdout: "pipe", stderr: "inherit" },
  })
  const report = JSON.parse(await new Response(child.stdout).text())
  await child.exited
  const { cpuTime, maxRSS } = child.resourceUsage()!
  return {
    wall: (performance.now() - start) / 1000,
    cpu: Number(cpuTime.total) / 1e6,
    memory: Math.round(maxRSS / (1 << 20)),
    report,
  }
}

async function run(address: string, statements: string): Promise<string> {
  const { code, stdout, stderr } = await psql(programs, address, statements)
  if (code !== 0) throw new Error(stderr)
  return stdout
}

async function seconds(address: string, statements: string): Promise<number> {
  const start = performance.now()
  await run(address, statements)
  return (performance.now() - start) / 1000
}

/** A file that the server may write. */
const besideData = async (address: string): Promise<string> =>
  (await run(address, "SHOW data_directory")).replace(/data$/, "rows")

/** s that `COPY` takes for the rows that are there, into a table with the same indexes. */
async function copied(address: string): Promise<number> {
  const file = await besideData(address)
  await run(
    address,
    `DROP SCHEMA IF EXISTS copied CASCADE;
     CREATE SCHEMA copied;
     CREATE TABLE copied.entries (LIKE ctxbridge.entries INCLUDING ALL);
     COPY ctxbridge.entries TO '${file}';
     CHECKPOINT`,
  )
  const took = await seconds(address, `COPY copied.entries FROM '${file}'`)
  await run(address, "DROP SCHEMA copied CASCADE")
  return took
}

/** ms, 19 of 20 searches by words. */
async function searched(address: string): Promise<string> {
  const target = await openPostgresTarget(serverAddress(address, NO_VARIABLES), 60_000, true)
  const times: number[] = []
  for (let n = 0; n < 60; n++)
    for (const words of [
      rare(n),
      `${middling(n % 40)} ${middling((n * 7) % 60)}`,
      `${rare(n)} ${common(n % 9)}`,
    ]) {
      const start = performance.now()
      await target.find({ words, limit: 10 })
      times.push(performance.now() - start)
    }
  await target.close()
  times.sort((a, b) => a - b)
  return times[Math.floor(times.length * 0.95)]!.toFixed(1)
}

const middle = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1]!

const turns = Number(values.turns)
const home = archive(turns)
const first: (Ran & { readonly copy: number })[] = []
for (let round = 1; round <= Number(values.rounds); round++) {
  rmSync(join(home, "archive", "sync"), { recursive: true, force: true })
  await using server = await startPostgres(programs, undefined, { fsync: "on", max_wal_size: "8GB" })
  const ran = await sync(home, server.address)
  const copy = await copied(server.address)
  first.push({ ...ran, copy })
  console.log(
    `first sync of ${ran.report["turns"]} turns: ${ran.wall.toFixed(2)} s, COPY ${copy.toFixed(2)} s, ratio ${(ran.wall / copy).toFixed(2)}; ` +
      `client ${((ran.cpu * 1000) / turns).toFixed(2)} ms of CPU a turn, ${ran.memory} MB`,
  )
  if (round < Number(values.rounds)) continue
  const size = await psql(
    programs,
    server.address,
    "SELECT avg(octet_length(content))::int, percentile_cont(0.5) WITHIN GROUP (ORDER BY octet_length(content))::int, pg_size_pretty(pg_total_relation_size('ctxbridge.entries')) FROM ctxbridge.entries",
  )
  console.log(`content mean, median; table: ${size.stdout}`)
  // What has just been written to counts as changing.
  await Bun.sleep(2500)
  await sync(home, server.address)
  const quiet: number[] = []
  for (let n = 0; n < 5; n++) quiet.push((await sync(home, server.address)).wall)
  console.log(`no change: ${middle(quiet).toFixed(2)} s`)
  const news: number[] = []
  for (let n = 0; n < 5; n++) {
    take(home, [[1_000_000 + Math.floor(statSync(join(home, "archive", "sync")).mtimeMs % 1e6) * 10 + n, 1]])
    news.push((await sync(home, server.address)).wall)
  }
  console.log(`one new turn: ${middle(news).toFixed(2)} s`)
  console.log(`searches: 95 % within ${await searched(server.address)} ms`)
  const sent = await sync(home, server.address, "--frames")
  const fresh = join(dir, "fetching")
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh)
  const fetched = await sync(fresh, server.address, "--pull")
  const out = await seconds(server.address, `COPY ctxbridge.frames TO '${await besideData(server.address)}'`)
  console.log(
    `transcripts: sent in ${sent.wall.toFixed(2)} s, fetched and indexed in ${fetched.wall.toFixed(2)} s ` +
      `(${((fetched.cpu * 1000) / turns).toFixed(2)} ms of CPU a turn, ${fetched.memory} MB), COPY of them out ${out.toFixed(2)} s`,
  )
}
console.log(
  `median: ratio ${middle(first.map(({ wall, copy }) => wall / copy)).toFixed(2)}, ` +
    `${((middle(first.map(({ cpu }) => cpu)) * 1000) / turns).toFixed(2)} ms of CPU a turn, at most ${Math.max(...first.map(({ memory }) => memory))} MB`,
)
process.exit(0)
