/**
 * What a PostgreSQL target costs: `bun bench/backends.ts [--turns 100000] [--kinds debian,pgvector] [--rounds N]
 * [--grow 1000000] [--dir DIR] [--exe PATH]`. An archive of this many turns with vectors is made from a seed and kept in DIR, sent with
 * the compiled binary to an empty server, sent again, and searched there. `debian` is an installed PostgreSQL with its
 * own settings, `pgvector` is PGlite, one process of WebAssembly. With `--grow`, the server copies its rows until it has so
 * many, and is searched again.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { folderOfModel, installedModel, manifestFile, modelFolder } from "../src/find/embed/model-files.ts"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import { serverAddress } from "../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../src/sync/targets/postgres-target.ts"
import type { EntryQuery, Target } from "../src/sync/targets/target.ts"
import { open } from "../src/views/open.ts"
import { packVectors } from "../src/views/vectors.ts"
import { TINY, writeModel } from "../test/support/onnx-model.ts"
import {
  installedPostgres,
  NO_VARIABLES,
  psql,
  startPglite,
  startPostgres,
} from "../test/support/postgres.ts"
import { seededTranscript } from "./seeded-transcript.ts"
import { Topics } from "./seeded-vectors.ts"
import { common, middling, rare } from "./seeded-words.ts"

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "100000" },
    kinds: { type: "string", default: "debian,pgvector" },
    rounds: { type: "string", default: "20" },
    grow: { type: "string", default: "" },
    dir: { type: "string", default: join(tmpdir(), "ctxbridge-backends-bench") },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
  },
})
mkdirSync(values.dir, { recursive: true })
const dir = realpathSync(values.dir)
const exe = resolve(values.exe)

/** Turns of a session, and sessions whose transcripts are on disk at a time. */
const SESSION = 100
const AT_ONCE = 100
const topics = new Topics(1)

/** Makes an archive with this many turns and a vector for each, unless it exists. */
function archive(turns: number): string {
  const home = join(dir, `turns-${turns}`)
  const dataHome = join(home, "archive")
  const done = join(home, "done")
  if (existsSync(done)) return home
  rmSync(home, { recursive: true, force: true })
  const folder = join(home, ".claude", "projects", "bench")
  const place = { dataHome, home, stateHome: join(home, "state"), secrets: FILTERED, exclude: [] }
  for (let from = 0; from < turns / SESSION; from += AT_ONCE) {
    mkdirSync(folder, { recursive: true })
    const paths: string[] = []
    for (let n = from; n < Math.min(turns / SESSION, from + AT_ONCE); n++) {
      const { id, lines } = seededTranscript(n, { turns: Math.min(SESSION, turns - n * SESSION), calls: 2 })
      const path = join(folder, `${id}.jsonl`)
      writeFileSync(path, `${lines.join("\n")}\n`)
      paths.push(path)
    }
    const report = importTranscripts(place, paths, { dryRun: false, check: false })
    if (!report.ok) throw new Error(JSON.stringify(report.files.find(({ error }) => error !== undefined)))
    rmSync(folder, { recursive: true })
    console.error(`${from + paths.length} of ${turns / SESSION} sessions`)
  }
  embed(dataHome)
  writeFileSync(done, "")
  return home
}

/** A model, and vectors that it could have made. */
function embed(dataHome: string): void {
  const made = join(modelFolder(dataHome), "made")
  const manifest = writeModel(made, TINY, "bench")
  renameSync(made, folderOfModel(dataHome, manifest))
  writeFileSync(manifestFile(dataHome), JSON.stringify(manifest))
  const { embedder } = installedModel(dataHome)!
  const dice = new Dice(7)
  using db = open(dataHome, "write", 10_000)
  const insert = db.query(
    "INSERT INTO vectors (turn, embedder, dimension, last, vectors) VALUES (?, ?, 384, ?, ?)",
  )
  db.transaction(() => {
    for (const { id, last } of db
      .query<{ id: number; last: number }, []>("SELECT id, last FROM turns")
      .all()) {
      const vector = topics.near(dice)
      const scale = Math.max(...vector.map(Math.abs)) / 127
      const data = Int8Array.from(vector, (value) => Math.round(value / scale))
      insert.run(id, embedder, last, packVectors([{ message: 0, scale, data }], 384))
    }
  })()
}

interface Ran {
  readonly wall: number
  readonly cpu: number
  readonly report: Record<string, unknown>
}

async function sync(home: string, address: string): Promise<Ran> {
  const env = { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), BUN_OPTIONS: "", BUN_BE_BUN: "" }
  const start = performance.now()
  const child = Bun.spawn([exe, "sync", "--json", "--to", address], {
    env,
    cwd: dir,
    stdout: "pipe",
    stderr: "inherit",
  })
  const report = JSON.parse(await new Response(child.stdout).text())
  await child.exited
  const cpu = Number(child.resourceUsage()!.cpuTime.total) / 1e6
  return { wall: (performance.now() - start) / 1000, cpu, report }
}

/** What people ask: a name, a few words, very common words; within a project and everywhere; by meaning. */
function queries(embedder: string): Record<string, (n: number) => EntryQuery> {
  const dice = new Dice(99)
  const project = "/home/dev/project-3"
  const vector = () => ({ embedder, values: [...topics.near(dice)] })
  return {
    "a rare word": (n) => ({ words: rare(n), limit: 10 }),
    "two middling words": (n) => ({ words: `${middling(n % 40)} ${middling((n * 7) % 60)}`, limit: 10 }),
    "a rare and a common word": (n) => ({ words: `${rare(n)} ${common(n % 9)}`, limit: 10 }),
    "a common word": (n) => ({ words: common(n % 9), limit: 10 }),
    "three common words": (n) => ({
      words: `${common(n % 5)} ${common(5 + (n % 5))} ${common(11)}`,
      limit: 10,
    }),
    "two common words, one project": (n) => ({ words: `${common(n % 9)} ${common(10)}`, project, limit: 10 }),
    "by meaning": () => ({ vector: vector(), limit: 10 }),
    "by meaning, one project": () => ({ vector: vector(), project, limit: 10 }),
  }
}

/** ms of CPU that the server has used for its connections with ctxbridge; undefined where it cannot be told. */
async function serverCpu(address: string | undefined): Promise<number | undefined> {
  if (address === undefined) return undefined
  const statement = "SELECT pid FROM pg_stat_activity WHERE application_name = 'ctxbridge'"
  const { stdout } = await psql(programs!, address, statement)
  // The first number is ns on a processor.
  const used = stdout
    .split("\n")
    .map((pid) => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]))
  return used.reduce((sum, ns) => sum + ns, 0) / 1e6
}

/** @param address of a server whose processes can be seen */
async function measure(backend: Target, embedder: string, address: string | undefined): Promise<void> {
  const all: number[] = []
  // Connects again, if it had nothing to do for long.
  await backend.stats()
  for (const [name, query] of Object.entries(queries(embedder))) {
    const times: number[] = []
    let found = 0
    const before = await serverCpu(address)
    for (let n = -3; n < Number(values.rounds); n++) {
      const start = performance.now()
      found += (await backend.find(query(n + 3))).length
      if (n >= 0) times.push(performance.now() - start)
    }
    times.sort((a, b) => a - b)
    all.push(...times)
    const after = await serverCpu(address)
    const mean = ((after ?? 0) - (before ?? 0)) / (times.length + 3)
    const cpu = after === undefined ? "" : `mean CPU of the server ${mean.toFixed(1)} ms`
    console.log(
      `  ${name.padEnd(30)} median ${at(times, 0.5)}  p95 ${at(times, 0.95)} ms  ${cpu}  (${found} found)`,
    )
  }
  all.sort((a, b) => a - b)
  console.log(`  ${"all of them".padEnd(30)} median ${at(all, 0.5)}  p95 ${at(all, 0.95)} ms`)
}

/** Bytes of the table with its long values, and of each index. */
const SIZES = `SELECT c.relname, pg_size_pretty(CASE WHEN c.relkind = 'r' THEN pg_table_size(c.oid)
    ELSE pg_relation_size(c.oid) END) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'ctxbridge' AND c.relname LIKE 'entries%' ORDER BY c.relkind DESC, c.relname`

/** Copies rows under other keys and in other sessions. Building the index of words anew is faster than adding to it. */
const growing = (have: number, wanted: number): string => `
  SET maintenance_work_mem = '1GB';
  DROP INDEX ctxbridge.entries_words;
  INSERT INTO ctxbridge.entries (tenant, key, id, session, project, started, messages, taken_back, summary, content,
    metadata, words, about, embedder, embedding, signs)
  SELECT tenant, key || '-${wanted}-' || n, encode(sha256((id || '${wanted}' || n)::bytea), 'hex'), session || '-' || n, project,
    started, messages, taken_back, summary, content, metadata, words, about, embedder, embedding, signs
  FROM ctxbridge.entries, generate_series(1, ${Math.round(wanted / have) - 1}) n;
  CREATE INDEX entries_words ON ctxbridge.entries USING gin (words, about);
  VACUUM ANALYZE ctxbridge.entries;`

const at = (sorted: readonly number[], share: number): string =>
  sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(1)

const turns = Number(values.turns)
const home = archive(turns)
const programs = installedPostgres()
for (const kind of values.kinds.split(",")) {
  if (kind === "debian" && programs === undefined) {
    console.log("debian: left out, because no PostgreSQL is installed")
    continue
  }
  rmSync(join(home, "archive", "sync"), { recursive: true, force: true })
  await using server =
    kind === "debian"
      ? await startPostgres(programs!, undefined, { fsync: "on" })
      : await startPglite({ vectors: true })
  console.log(`\n${kind}, ${turns} turns`)
  const first = await sync(home, server.address)
  const rate = (turns / first.wall).toFixed(0)
  console.log(
    `  first sync   ${first.wall.toFixed(1)} s, ${rate} rows/s, CPU of the client ${first.cpu.toFixed(1)} s`,
  )
  const second = await sync(home, server.address)
  console.log(
    `  second sync  ${second.wall.toFixed(2)} s, ${second.report["turns"]} turns sent, CPU ${second.cpu.toFixed(2)} s`,
  )
  const backend = await openPostgresTarget(serverAddress(server.address, NO_VARIABLES), 600_000)
  await measure(
    backend,
    installedModel(join(home, "archive"))!.embedder,
    kind === "debian" ? server.address : undefined,
  )
  if (kind === "debian")
    console.log((await psql(programs!, server.address, SIZES)).stdout.replaceAll(/^/gm, "  "))
  let have = turns
  for (const wanted of kind === "debian" ? values.grow.split(",").filter(Boolean).map(Number) : []) {
    const start = performance.now()
    const { code, stderr } = await psql(programs!, server.address, growing(have, wanted))
    if (code !== 0) throw new Error(stderr)
    console.log(`\ngrown to ${wanted} turns in ${((performance.now() - start) / 1000).toFixed(0)} s`)
    have = wanted
    await measure(backend, installedModel(join(home, "archive"))!.embedder, server.address)
    console.log((await psql(programs!, server.address, SIZES)).stdout.replaceAll(/^/gm, "  "))
  }
  await backend.close()
}
process.exit(0)
