/**
 * Imports a large history and shows what limits the speed: `bun bench/import.ts --data DIR [--size 2G] [--work DIR]`.
 *
 * The transcripts below DIR are copied repeatedly, with different session ids each time, until they reach the size.
 * They are imported on one core, then on two, where a child captures ahead, and in the end interrupted twice: all three
 * must give the same. Run by hand: it takes minutes and five times the size in the work folder, which is emptied before
 * and afterwards.
 */
import { Database } from "bun:sqlite"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { percent } from "../src/base/text.ts"
import { stretchesFrom } from "../src/vault/reader.ts"
import { vaultFiles } from "../src/vault/vault-files.ts"

const ROOT = join(import.meta.dir, "..")
const MB = 1e6
/** Programs that the import is compared with, on a sample of the data. */
const YARDSTICKS = [
  "cat",
  "sha256sum",
  "zstd -1 -c -q --single-thread",
  "zstd -3 -c -q --single-thread",
  "gzip -c",
]
const SAMPLE = 100 * MB

interface Measured {
  readonly seconds: number
  /** Of all processes together. */
  readonly cpuSeconds: number
  readonly peakMB: number
}

/** Copies all transcripts below `from` repeatedly; each round replaces every UUID by its own. */
function copyData(from: string, to: string, size: number): number {
  const files = readdirSync(from, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  )
  if (files.length === 0) throw new Error(`no transcripts below ${from}`)
  let bytes = 0
  for (let round = 0; bytes < size; round++) {
    const mark = round.toString(16).padStart(8, "0")
    const own = (text: string): string =>
      text
        .replace(/\b[0-9a-f]{8}(?=(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)/g, (head) => mixed(head, round))
        .replace(/\b(msg_|toolu_|req_)(?=[A-Za-z0-9]{8})/g, `$1${mark}`)
    for (const name of files) {
      if (bytes >= size) break
      const text = own(readFileSync(join(from, name), "utf8"))
      const path = own(name)
      const target = join(
        to,
        path === name ? join(`copy-${mark}`, name.replace(/(\.jsonl)$/, `-${mark}$1`)) : path,
      )
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, text)
      bytes += Buffer.byteLength(text)
    }
  }
  return bytes
}

const mixed = (head: string, round: number): string =>
  ((Number.parseInt(head, 16) ^ Math.imul(round, 0x9e3779b1)) >>> 0).toString(16).padStart(8, "0")

async function measured(
  argv: readonly string[],
  env: Record<string, string>,
  cores = "0",
): Promise<Measured> {
  const started = performance.now()
  const child = Bun.spawn(["taskset", "-c", cores, ...argv], {
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  })
  let peakKB = 0
  // Polled, because the peak that the kernel reports at the end is at least that of the parent process.
  while (child.exitCode === null) {
    peakKB = Math.max(
      peakKB,
      [child.pid, ...childrenOf(child.pid)].reduce((sum, pid) => sum + memoryOf(pid), 0),
    )
    await Promise.race([child.exited, Bun.sleep(20)])
  }
  const usage = child.resourceUsage()
  if (child.exitCode !== 0 || usage === undefined)
    throw new Error(`${argv.join(" ")}: exit ${child.exitCode}`)
  return {
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: Number(usage.cpuTime.total) / 1e6,
    peakMB: (peakKB * 1024) / MB,
  }
}

const readOr = (path: string, otherwise: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return otherwise
  }
}

function childrenOf(pid: number): number[] {
  const threads = existsSync(`/proc/${pid}/task`) ? readdirSync(`/proc/${pid}/task`) : []
  const listed = threads.map((thread) => readOr(`/proc/${pid}/task/${thread}/children`, ""))
  return listed.flatMap((line) => line.trim().split(" ").filter(Boolean).map(Number))
}

/** KB of memory, of which what it shares with others counts in part. */
const memoryOf = (pid: number): number =>
  Number(/^Pss:\s*(\d+)/m.exec(readOr(`/proc/${pid}/smaps_rollup`, ""))?.[1] ?? 0)

/** Kills the process once the vault holds `bytes`; returns how many it then holds. */
async function interrupted(
  argv: readonly string[],
  env: Record<string, string>,
  dataHome: string,
  bytes: number,
  signal: NodeJS.Signals,
): Promise<number> {
  const child = Bun.spawn([...argv], { env, stdin: "ignore", stdout: "ignore" })
  const held = (): number => vaultFiles(dataHome).reduce((sum, file) => sum + file.bytes, 0)
  while (child.exitCode === null && held() < bytes) await Bun.sleep(50)
  child.kill(signal)
  await child.exited
  return held()
}

/** SHA-256 of each copy's content, by name. */
function contents(dataHome: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const { copy } of vaultFiles(dataHome)) {
    const hash = createHash("sha256")
    for (const { content } of stretchesFrom(join(dataHome, "vault", copy), 0)) hash.update(content)
    found.set(copy, hash.digest("hex"))
  }
  return found
}

const TABLES = [
  "sessions",
  "turns",
  "messages",
  "tool_calls",
  "files",
  "usage",
  "notes",
  "facts",
  "boundaries",
  "lineage",
]
/** Columns that only reflect the order in which rows were made, and names of copies. */
const ORDER = new Set([
  "id",
  "turn",
  "transcript",
  "project",
  "use",
  "result",
  "copy_id",
  "handle",
  "indexed",
  "since",
  "latest",
])

/** For each table, the number of rows and a hash that does not depend on their order. */
function rowsOf(dataHome: string): Record<string, string> {
  const db = new Database(join(dataHome, "archive.db"), { readonly: true })
  const found: Record<string, string> = {}
  for (const table of TABLES) {
    let sum = 0n
    let count = 0
    for (const row of db.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).iterate()) {
      const kept = Object.entries(row).filter(
        ([name]) => !ORDER.has(name) || (name === "id" && typeof row[name] === "string"),
      )
      sum = BigInt.asUintN(
        64,
        sum + Bun.hash.xxHash64(JSON.stringify(kept, (_, v) => (typeof v === "bigint" ? String(v) : v))),
      )
      count++
    }
    found[table] = `${count} ${sum.toString(16)}`
  }
  found["words"] = wordsOf(db)
  db.close()
  return found
}

/** The same for the words of each message. */
function wordsOf(db: Database): string {
  const keys = new Map(
    db
      .query<{ id: number; key: string }, []>("SELECT id, CAST(key AS TEXT) AS key FROM messages")
      .all()
      .map(({ id, key }) => [id, key]),
  )
  db.run("CREATE VIRTUAL TABLE temp.every_word USING fts5vocab(main, words, instance)")
  let sum = 0n
  let count = 0
  const all = db.query<{ term: string; doc: number }, []>("SELECT term, doc FROM temp.every_word")
  for (const { term, doc } of all.iterate()) {
    sum = BigInt.asUintN(64, sum + Bun.hash.xxHash64(`${term} ${keys.get(doc)}`))
    count++
  }
  return `${count} ${sum.toString(16)}`
}

function same(a: string, b: string): string[] {
  const [left, right] = [contents(a), contents(b)]
  const names = new Set([...left.keys(), ...right.keys()])
  const different = [...names].filter((name) => left.get(name) !== right.get(name))
  const [before, after] = [rowsOf(a), rowsOf(b)]
  const tables = [...TABLES, "words"].filter((table) => before[table] !== after[table])
  return [
    ...different.slice(0, 5).map((name) => `copy ${name} differs`),
    ...tables.map((table) => `${table}: ${before[table]} against ${after[table]}`),
  ]
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      data: { type: "string" },
      size: { type: "string", default: "2G" },
      work: { type: "string", default: join(tmpdir(), "ctxbridge-bench-import") },
      exe: { type: "string", default: join(ROOT, "dist", "ctxbridge") },
    },
  })
  const size = Number.parseFloat(values.size) * { G: 1e9, M: 1e6, K: 1e3 }[values.size.at(-1) as "G"]
  if (values.data === undefined || !(size > 0) || !existsSync(values.exe)) {
    console.error("bun bench/import.ts --data DIR [--size 2G] [--work DIR] [--exe FILE]")
    return 64
  }
  const work = resolve(values.work)
  rmSync(work, { recursive: true, force: true })
  try {
    return await bench(resolve(values.data), size, work, resolve(values.exe))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function bench(from: string, size: number, work: string, exe: string): Promise<number> {
  const data = join(work, "projects")
  const bytes = copyData(from, data, size)
  const environment = (name: string): Record<string, string> => {
    mkdirSync(join(work, name), { recursive: true })
    return {
      PATH: process.env["PATH"] ?? "",
      HOME: join(work, name),
      CTXBRIDGE_HOME: join(work, name, "archive"),
    }
  }
  const argv = [exe, "import", "--quiet", data]
  const show = (name: string, of: number, { seconds, cpuSeconds, peakMB }: Measured): void => {
    const rate = (time: number): string => (of / MB / time).toFixed(0).padStart(5)
    const peak = peakMB > 0 ? `  peak ${peakMB.toFixed(0)} MB` : ""
    console.log(
      `${name.replace(/ -c.*/, "").padEnd(28)} ${rate(seconds)} MB/s  ${rate(cpuSeconds)} MB/CPU-s${peak}`,
    )
  }
  console.log(`${(bytes / MB).toFixed(0)} MB, on one core except where two are named`)
  const env = environment("whole")
  const sample = join(work, "sample")
  const sampled = copyData(from, sample, Math.min(bytes, SAMPLE))
  const each = ["sh", "-c", `find "$0" -name '*.jsonl' -print0 | xargs -0 -n 50 "$@" >/dev/null`, sample]
  for (const yardstick of YARDSTICKS) {
    show(yardstick, sampled, { ...(await measured([...each, ...yardstick.split(" ")], env)), peakMB: 0 })
  }
  const whole = await measured(argv, env)
  show("ctxbridge import", bytes, whole)
  const dataHome = join(work, "whole", "archive")
  const held = vaultFiles(dataHome).reduce((sum, file) => sum + file.bytes, 0)
  console.log(
    `vault ${(held / MB).toFixed(0)} MB, views ${(statSync(join(dataHome, "archive.db")).size / MB).toFixed(0)} MB`,
  )
  show("again, nothing new", bytes, await measured(argv, env))
  const two = await measured(argv, environment("two"), "0,1")
  show("ctxbridge import, two cores", bytes, two)
  const twoDifferences = same(dataHome, join(work, "two", "archive"))
  console.log(
    twoDifferences.length === 0 ? "on two cores, the result is the same" : twoDifferences.join("\n"),
  )
  show("ctxbridge rebuild", bytes, await measured([exe, "rebuild"], environment("two")))

  const torn = environment("torn")
  const tornHome = join(work, "torn", "archive")
  for (const [share, signal] of [
    [0.25, "SIGINT"],
    [0.6, "SIGKILL"],
  ] as const) {
    const at = await interrupted(argv, torn, tornHome, held * share, signal)
    console.log(`${signal} with ${percent(at / held)} in the vault`)
  }
  await measured(argv, torn)
  const differences = same(dataHome, tornHome)
  console.log(differences.length === 0 ? "interrupted twice, the result is the same" : differences.join("\n"))
  const missed = [
    ...(bytes / MB / two.seconds < 40 ? ["40 MB/s on two cores"] : []),
    ...(Math.max(whole.peakMB, two.peakMB) > 350 ? ["350 MB of memory"] : []),
    ...(differences.length + twoDifferences.length > 0 ? ["the same result"] : []),
  ]
  console.log(missed.length === 0 ? "all targets met" : `missed: ${missed.join(", ")}`)
  return missed.length === 0 ? 0 : 1
}

process.exitCode = await main()
