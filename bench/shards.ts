/**
 * What works when the entries are spread over two PostgreSQL servers: `bun bench/shards.ts [--turns 4000]`. A third
 * database has them as one table, partitioned by a hash of the session, whose partitions are tables of the two servers
 * (postgres_fdw). Says of each thing that a backend does whether it works there. Needs an installed PostgreSQL.
 */
import { parseArgs } from "node:util"
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { entryOf } from "../src/sync/targets/entry.ts"
import { serverAddress } from "../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../src/sync/targets/postgres-target.ts"
import { installedPostgres, NO_VARIABLES, psql, startPostgres } from "../test/support/postgres.ts"
import { Topics } from "./seeded-vectors.ts"
import { common, rare, sentence } from "./seeded-words.ts"

const { values } = parseArgs({ options: { turns: { type: "string", default: "4000" } } })
const programs = installedPostgres()
if (programs === undefined) throw new Error("no PostgreSQL is installed")

await using one = await startPostgres(programs)
await using two = await startPostgres(programs)
const addressOf = (server: typeof one, database: string): string =>
  server.address.replace(/[a-z]+$/, database)
const open = (server: typeof one, database: string) =>
  openPostgresTarget(serverAddress(addressOf(server, database), NO_VARIABLES))

const dice = new Dice(5)
const topics = new Topics(1)
const entries = Array.from({ length: Number(values.turns) }, (_, n) => {
  const content = sentence(dice, 180)
  return entryOf({
    summary: content.slice(0, 200),
    content,
    metadata: {
      sessionId: `session-${Math.floor(n / 50)}`,
      chunkIndex: (n % 50) + 1,
      timestamp: "2026-01-01T00:00:00.000Z",
      ended: null,
      project: `/srv/project-${n % 20}`,
      toolNames: [],
      filePaths: [],
      messages: 2,
      takenBack: false,
    },
    vector: { embedder: "bench", values: [...topics.near(dice)] },
  })
})

for (const server of [one, two]) {
  await server.run("CREATE DATABASE shard")
  await (await open(server, "shard")).close()
}
await one.run("CREATE DATABASE whole")
await (await open(one, "whole")).close()

const partition = (server: typeof one, n: number): string => {
  const { port, username, password } = new URL(server.address)
  return `
    CREATE SERVER shard_${n} FOREIGN DATA WRAPPER postgres_fdw
      OPTIONS (host '127.0.0.1', port '${port}', dbname 'shard', async_capable 'true', use_remote_estimate 'true');
    CREATE USER MAPPING FOR ${username} SERVER shard_${n} OPTIONS (user '${username}', password '${password}');
    CREATE FOREIGN TABLE ctxbridge.entries_${n} PARTITION OF ctxbridge.entries
      FOR VALUES WITH (MODULUS 2, REMAINDER ${n}) SERVER shard_${n} OPTIONS (schema_name 'ctxbridge', table_name 'entries');`
}
const spread = await psql(
  programs,
  addressOf(one, "whole"),
  `CREATE EXTENSION postgres_fdw;
   ALTER TABLE ctxbridge.entries RENAME TO former;
   CREATE TABLE ctxbridge.entries (LIKE ctxbridge.former INCLUDING DEFAULTS INCLUDING GENERATED) PARTITION BY HASH (session);
   DROP TABLE ctxbridge.former;
   ${partition(one, 0)} ${partition(two, 1)}`,
)
if (spread.code !== 0) throw new Error(spread.stderr)

const whole = await open(one, "whole")
async function tried(what: string, act: () => Promise<unknown>): Promise<void> {
  const start = performance.now()
  const result = await act().then(
    (value) => `works: ${JSON.stringify(value)}`,
    (error: Error) => `does not: ${error.message.replace(/^postgres:\S+ /, "")}`,
  )
  console.log(`${what.padEnd(34)} ${(performance.now() - start).toFixed(0).padStart(5)} ms  ${result}`)
}

await tried("put through the whole", () => whole.put(entries.slice(0, 50)))
// Which of the two is the whole's own decision, so that it finds them where it looks for them.
const sessions = [...new Set(entries.map(({ metadata }) => metadata.sessionId))]
const { stdout } = await psql(
  programs,
  addressOf(one, "whole"),
  `SELECT s FROM unnest('{${sessions.join()}}'::text[]) s WHERE satisfies_hash_partition('ctxbridge.entries'::regclass, 2, 0, s)`,
)
const first = new Set(stdout.split("\n"))
const shards = await Promise.all([open(one, "shard"), open(two, "shard")])
const share = (n: number) => entries.filter(({ metadata }) => first.has(metadata.sessionId) === (n === 0))
await tried("put at each server, both at once", () =>
  Promise.all(
    shards.map(async (shard, n) => {
      let stored = 0
      for (let at = 0; at < share(n).length; at += 500)
        stored += (await shard.put(share(n).slice(at, at + 500))).stored
      return stored
    }),
  ),
)
await tried("put again at each server", () =>
  Promise.all(shards.map((shard, n) => shard.put(share(n).slice(0, 500)))),
)
await psql(programs, addressOf(one, "whole"), "ANALYZE ctxbridge.entries")
await tried("stats of the whole", () => whole.stats())
const counted = async (found: Promise<readonly unknown[]>) => (await found).length
for (const [name, words] of [
  ["a rare word", rare(3)],
  ["a common word", common(2)],
] as const) {
  await tried(`find ${name}, whole`, () => counted(whole.find({ words, limit: 10 })))
  await tried(`find ${name}, each server`, () =>
    Promise.all(shards.map((shard) => counted(shard.find({ words, limit: 10 })))),
  )
}
const { vector } = entries[7]!
await tried("find by meaning, whole", () => counted(whole.find({ vector: vector!, limit: 10 })))
await tried("find by meaning, each server", () =>
  Promise.all(shards.map((shard) => counted(shard.find({ vector: vector!, limit: 10 })))),
)
await tried("get through the whole", async () => (await whole.get(entries[7]!.id))?.id === entries[7]!.id)
await tried("forget through the whole", () =>
  whole.forget({ sessions: ["session-1"], ids: [entries[7]!.id] }),
)
await tried(
  "put of that at its server",
  async () => await shards[first.has("session-1") ? 0 : 1]!.put([entries[60]!]),
)
await tried("forget at each server", () =>
  Promise.all(shards.map((shard) => shard.forget({ sessions: ["session-1"] }))),
)
const explained = await psql(
  programs,
  addressOf(one, "whole"),
  `EXPLAIN (VERBOSE, COSTS OFF) SELECT key FROM ctxbridge.entries WHERE tenant = session_user::text AND words @@ '${rare(3)}'`,
)
console.log(explained.stdout)
await Promise.all([whole, ...shards].map((backend) => backend.close()))
