/** A model that changes while a job is at work. */
import type { Database } from "bun:sqlite"
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { HASHED_ID } from "../../src/find/embed/hashed-words.ts"
import { installModel, removeModel } from "../../src/find/embed/install-model.ts"
import { installedModel } from "../../src/find/embed/model-files.ts"
import { MODEL_FILE, parseManifest } from "../../src/find/embed/model-manifest.ts"
import { Embedding } from "../../src/job/embedding.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const sources = { first: tempFolder(), second: tempFolder() }
type Name = keyof typeof sources
beforeAll(() => {
  writeModel(sources.first.path, TINY, "tiny", 1)
  writeModel(sources.second.path, TINY, "tiny", 2)
})
afterAll(() => {
  for (const source of Object.values(sources)) source[Symbol.dispose]()
})

const TURNS = 45

const cli = async (machine: Pick<Machine, "env" | "cwd">, ...args: readonly string[]) => {
  const ran = await run(args, { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  return ran.stdout
}

async function filled(): Promise<Machine> {
  const machine = new Machine()
  const session = machine.session()
  for (let n = 0; n < TURNS; n++) session.turn(`question about subject ${n}`, [], `answer ${n}`)
  session.flush()
  await cli({ cwd: machine.cwd, env: { ...machine.env, CTXBRIDGE_EMBED: "0" } }, "import")
  await machine.idle()
  return machine
}

async function install(machine: Machine, name: Name): Promise<string> {
  const { path } = sources[name]
  const manifest = parseManifest(readFileSync(join(path, "manifest.json"), "utf8"))
  await installModel({ dataHome: machine.dataHome, manifest, from: path, dryRun: false })
  return installedModel(machine.dataHome)!.embedder
}

interface Row {
  readonly turn: number
  readonly embedder: string
  readonly vectors: Uint8Array
}

const rowsIn = (db: Database): Row[] =>
  db.query<Row, []>("SELECT turn, embedder, vectors FROM vectors ORDER BY turn, embedder").all()

/** @returns what made the vectors, each once */
const makers = (db: Database): string[] => [...new Set(rowsIn(db).map(({ embedder }) => embedder))]

function jobOf(machine: Machine, until: () => boolean = () => false): Embedding {
  return new Embedding({ dataHome: machine.dataHome, stateHome: join(machine.dataHome, "state") }, until)
}

/**
 * A job that was at work when a model was installed, removed or replaced went on with what it had begun with, and ended; a
 * model whose file had changed on the disk made vectors under its name, and `model status` found nothing wrong.
 */
test("a model that is installed, replaced and removed while a job is at work counts at once", async () => {
  using machine = await filled()
  using db = machine.views()
  const job = jobOf(machine)
  expect(await job.step(db)).toBe(true)
  expect(makers(db)).toEqual([HASHED_ID])
  const first = await install(machine, "first")
  expect(await job.step(db)).toBe(true)
  expect(makers(db).sort()).toEqual([HASHED_ID, first].sort())
  const second = await install(machine, "second")
  expect(second).not.toBe(first)
  while (await job.step(db));
  expect(makers(db)).toEqual([second])
  const made = rowsIn(db)
  expect(made).toHaveLength(TURNS)
  // What another process makes of the same model.
  db.run("DELETE FROM vectors")
  await cli(machine, "__job")
  expect(rowsIn(db)).toEqual(made)
  removeModel(machine.dataHome, false)
  while (await job.step(db));
  expect(makers(db)).toEqual([HASHED_ID])
  expect(rowsIn(db)).toHaveLength(TURNS)
})

test("a model that is removed between two turns counts at once, too", async () => {
  using machine = await filled()
  using db = machine.views()
  const first = await install(machine, "first")
  let turns = 0
  const job = jobOf(machine, () => {
    if (++turns === 3) removeModel(machine.dataHome, false)
    return false
  })
  expect(await job.step(db)).toBe(true)
  expect(rowsIn(db).map(({ embedder }) => embedder)).toEqual([first, first, first])
})

test("`model remove` has the vectors made anew without it", async () => {
  using machine = await filled()
  await cli(
    machine,
    "model",
    "install",
    "--from",
    sources.first.path,
    "--manifest",
    join(sources.first.path, "manifest.json"),
  )
  await machine.idle()
  await cli(machine, "model", "remove")
  await machine.idle()
  using db = machine.views()
  expect(makers(db)).toEqual([HASHED_ID])
})

test("a model whose file has changed makes no vectors, and it is told why it is not used", async () => {
  using machine = await filled()
  await install(machine, "first")
  const { folder } = installedModel(machine.dataHome)!
  const file = join(folder, MODEL_FILE)
  const bytes = readFileSync(file)
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(file, bytes)
  await cli(machine, "__job")
  using db = machine.views()
  expect(makers(db)).toEqual([HASHED_ID])
  const problem = async () => JSON.parse(await cli(machine, "model", "status", "--json")).problem
  expect(await problem()).toBe(`${MODEL_FILE} in ${folder}: not as installed`)
  truncateSync(file, 1000)
  expect(await problem()).toBe("its files are missing or of another size")
  const found = JSON.parse(await cli(machine, "search", "--mode", "semantic", "subject 7", "--json"))
  expect(found.note).toStartWith("the model is not used")
  rmSync(join(folder, "..", "manifest.json"))
  expect(await problem()).toBeNull()
})
