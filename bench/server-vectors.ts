/**
 * What a search by meaning at PostgreSQL with pgvector finds and takes: `bun bench/server-vectors.ts [--turns 10000,25000,50000]
 * [--queries 40] [--postgres BIN]`. Three functions of the server take turns with each query: one that compares all, the one
 * with the former index of whole vectors, and the one with that of half the precision; each at every size, also where
 * it would not be asked. Vectors are made from a seed. One tenth of the turns is of one project and the rest of another.
 */
import { parseArgs } from "node:util"
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { serverAddress } from "../src/sync/targets/postgres-address.ts"
import { connect } from "../src/sync/targets/postgres-door.ts"
import { FIND_BY_HALVES, FIND_BY_VECTOR, HALVED } from "../src/sync/targets/postgres-finding.ts"
import { ADMINISTRATOR_SCRIPT } from "../src/sync/targets/postgres-migrations.ts"
import { NO_VARIABLES, postgresVersions, psql, startPostgres } from "../test/support/postgres.ts"
import { EMBEDDER, seededRows, startOf } from "./seeded-rows.ts"
import { Topics } from "./seeded-vectors.ts"

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "10000,25000,50000" },
    noise: { type: "string", default: "0.6" },
    queries: { type: "string", default: "40" },
    postgres: { type: "string", default: postgresVersions().at(-1)?.[1] ?? "" },
  },
})
const programs = values.postgres
const topics = new Topics(1, Number(values.noise))
const dice = new Dice(99)
/** Rows of one statement. */
const BATCH = 5000

await using server = await startPostgres(programs, undefined, { shared_buffers: "512MB" })
const run = async (statements: string): Promise<string> => {
  const { code, stdout, stderr } = await psql(programs, server.address, statements)
  if (code !== 0) throw new Error(stderr)
  return stdout
}

const INDEXES = {
  former: "hnsw (embedding public.vector_cosine_ops)",
  halved: `hnsw ((${HALVED.replaceAll("@vectors@", "public")}) public.halfvec_cosine_ops)`,
}

/** A function of the server under another name, which goes one of its ways however many rows there are. */
const named = (name: string, text: string, candidates: string): string =>
  text
    .replace("ctxbridge.find_by_vector", `ctxbridge.${name}_by_vector`)
    .replace(/candidates <= \d+/, candidates)
    .replaceAll("@embedding@", "public.vector(384)")
    .replaceAll("@distance@", "OPERATOR(public.<=>)")
    .replaceAll("@vectors@", "public")

await run(`${ADMINISTRATOR_SCRIPT}
  CREATE ROLE alice LOGIN PASSWORD 'sesame';
  ${named("exact", FIND_BY_VECTOR, "true")};
  ${named("former", FIND_BY_VECTOR, "false")};
  ${named("halved", FIND_BY_HALVES[2]!, "false")};
  GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ctxbridge TO ctxbridge_user;
  GRANT ctxbridge_user TO alice;
  SELECT extversion FROM pg_extension WHERE extname = 'vector'`).then((told) =>
  console.log(`pgvector ${told}`),
)
const alice = connect(serverAddress(server.address.replace("owner:", "alice:"), NO_VARIABLES), 600_000)

const at = (times: readonly number[], share: number): string =>
  times
    .toSorted((a, b) => a - b)
    [Math.floor(share * (times.length - 1))]!.toFixed(0)
    .padStart(5)

async function measure(name: string, narrowed: Readonly<Record<string, string>>): Promise<void> {
  const ways = ["exact", "former", "halved"].map((way) => ({ way, times: [] as number[], hits: 0 }))
  for (let n = -2; n < Number(values.queries); n++) {
    const sought = `[${[...topics.near(dice)].join()}]`
    let nearest = new Set<unknown>()
    for (const one of ways) {
      const start = performance.now()
      const found = await alice.ask(
        `SELECT key FROM ctxbridge.${one.way}_by_vector($1::text, $2::text, $3::text::jsonb, 10)`,
        [sought, EMBEDDER, JSON.stringify(narrowed)],
      )
      if (n < 0) continue
      one.times.push(performance.now() - start)
      if (one.way === "exact") nearest = new Set(found.map(({ key }) => key))
      one.hits += found.filter(({ key }) => nearest.has(key)).length
    }
  }
  for (const { way, times, hits } of ways) {
    const recall = ((10 * hits) / times.length).toFixed(1).padStart(5)
    console.log(
      `  ${name.padEnd(26)} ${way.padEnd(7)} recall@10 ${recall} %  median ${at(times, 0.5)}  p95 ${at(times, 0.95)} ms`,
    )
  }
}

let have = 0
for (const turns of values.turns.split(",").map(Number)) {
  await run(
    "DROP INDEX IF EXISTS ctxbridge.entries_embedding, ctxbridge.entries_halfvec, ctxbridge.former, ctxbridge.halved",
  )
  for (; have < turns; have += BATCH)
    await run(seededRows(topics, { tenant: "alice", from: have, to: Math.min(turns, have + BATCH) }))
  await run("VACUUM ctxbridge.entries")
  console.log(`\n${turns} turns`)
  for (const [name, index] of Object.entries({ embedding: INDEXES.former, halfvec: INDEXES.halved })) {
    const start = performance.now()
    await run(`SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0;
      CREATE INDEX CONCURRENTLY entries_${name} ON ctxbridge.entries USING ${index}`)
    const size = await run(`SELECT pg_size_pretty(pg_relation_size('ctxbridge.entries_${name}'))`)
    console.log(`  entries_${name}: ${size}, made in ${((performance.now() - start) / 1000).toFixed(0)} s`)
  }
  await measure("all", {})
  await measure("the project with most", { project: "/src/usual" })
  await measure("the project with a tenth", { project: "/src/rare" })
  await measure("the later half", { since: startOf(turns / 2) })
  await measure("with a tool, a third", { tool: "edit" })
}
await alice.close()
