/** The background job makes vectors: of everything, with one embedder, and again after a kill, a growth or a rebuild. */
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Glob } from "bun"
import { HASHED_ID, hashedVector } from "../../src/find/embed/hashed-words.ts"
import { semanticSearch } from "../../src/find/embed/semantic-search.ts"
import { VECTOR_HEAD } from "../../src/views/vectors.ts"
import { run, start } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const source = tempFolder()
beforeAll(() => {
  writeModel(source.path, TINY, "tiny")
})
afterAll(() => source[Symbol.dispose]())

const cli = async (machine: Machine, ...args: string[]) => {
  const ran = await run(args, { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
}

const install = (machine: Machine) =>
  cli(machine, "model", "install", "--from", source.path, "--manifest", join(source.path, "manifest.json"))

/** Sessions of ten turns each, all different. */
async function filled(sessions: number): Promise<Machine> {
  const machine = new Machine()
  for (let n = 0; n < sessions; n++) {
    const session = machine.session()
    for (let turn = 0; turn < 10; turn++)
      session.turn(`question ${n} about subject ${turn}`, [], `answer ${n} ${turn}`)
    session.flush()
  }
  await cli(machine, "import")
  return machine
}

interface Row {
  readonly handle: string
  readonly embedder: string
  readonly isCurrent: number
  readonly count: number
  readonly keys: string
  readonly data: string
}

/** Vectors under names that a rebuild keeps. */
function vectors(machine: Machine): Row[] {
  const db = new Database(join(machine.dataHome, "archive.db"))
  try {
    // The job may be writing.
    db.run("PRAGMA busy_timeout = 20000")
    const rows = db
      .query<{ handle: string; embedder: string; isCurrent: number; vectors: Uint8Array }, []>(
        `SELECT t.handle, v.embedder, v.last = t.last AS isCurrent, v.vectors
         FROM vectors v JOIN turns t ON t.id = v.turn ORDER BY t.handle, v.embedder`,
      )
      .all()
    const key = db.query<{ key: string }, [number]>(
      "SELECT CAST(key AS TEXT) AS key FROM messages WHERE id = ?",
    )
    return rows.map(({ vectors, ...row }) => {
      const width = VECTOR_HEAD + 384
      const starts = Array.from({ length: vectors.length / width }, (_, n) => n * width)
      const view = new DataView(vectors.buffer, vectors.byteOffset)
      return {
        ...row,
        count: starts.length,
        keys: starts.map((at) => key.get(view.getUint32(at, true))?.key).join(),
        data: starts.map((at) => Buffer.from(vectors.subarray(at + 4, at + width)).toString("hex")).join(),
      }
    })
  } finally {
    db.close()
  }
}

const embedders = (machine: Machine): string[] => [
  ...new Set(vectors(machine).map(({ embedder }) => embedder)),
]

/** Runs jobs until every turn has vectors of one embedder: another job may be at work, and then ours ends at once. */
async function embedded(machine: Machine, turns: number, embedder: RegExp): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    await cli(machine, "__job")
    const rows = vectors(machine)
    return rows.length === turns && rows.every((row) => embedder.test(row.embedder) && row.isCurrent === 1)
  }
  await until(isDone, 90_000, "every turn to be embedded")
  await machine.idle()
}

const TINY_ID = /^tiny-[0-9a-f]{8}$/

describe("the background job", () => {
  test("it hashes words without a model, embeds again with one, and keeps only one kind", async () => {
    using machine = await filled(5)
    await cli(machine, "__job")
    const hashed = vectors(machine)
    expect(hashed).toHaveLength(50)
    expect(hashed.every(({ count, isCurrent }) => count === 2 && isCurrent === 1)).toBe(true)
    expect(embedders(machine)).toEqual([HASHED_ID])
    await install(machine)
    await embedded(machine, 50, TINY_ID)
    const anew = vectors(machine)
    expect(anew.map(({ keys }) => keys)).toEqual(hashed.map(({ keys }) => keys))
    // Each text has another vector.
    expect(new Set(anew.map(({ data }) => data)).size).toBe(50)
    const status = await run(["model", "status", "--json"], { env: machine.env })
    expect(JSON.parse(status.stdout)).toMatchObject({ model: "tiny", vectors: { turns: 50, embedded: 50 } })
  })

  test("a search by meaning puts the message with the query's words first", async () => {
    using machine = await filled(3)
    await cli(machine, "__job")
    using db = machine.views()
    const query = { embedder: HASHED_ID, values: hashedVector("question 2 about subject 7") }
    const [first] = semanticSearch(db, query, { limit: 5 })
    const row = db
      .query<{ prompt: string }, [number]>("SELECT prompt FROM turns WHERE id = ?")
      .get(first!.turn)
    expect(row?.prompt).toBe("question 2 about subject 7")
    expect(first!.score).toBeGreaterThan(0.98)
  })

  test("killed repeatedly, it continues where it was; the vectors are those of one run", async () => {
    using machine = await filled(12)
    await install(machine)
    await embedded(machine, 120, TINY_ID)
    const whole = vectors(machine)
    const wipe = (): void => {
      const db = new Database(join(machine.dataHome, "archive.db"))
      db.run("DELETE FROM vectors")
      db.close()
    }
    wipe()
    for (let kills = 0, seen = 0; kills < 3; kills++) {
      const { child, ended } = start(["__job"], { env: machine.env, cwd: machine.cwd })
      await until(() => vectors(machine).length > seen || child.exitCode !== null, 60_000, "the next cycle")
      child.kill("SIGKILL")
      await ended
      const now = vectors(machine).length
      expect(now).toBeGreaterThanOrEqual(seen)
      seen = now
    }
    await embedded(machine, 120, TINY_ID)
    expect(vectors(machine)).toEqual(whole)
  })

  test("a turn that grows is embedded again, and the others are left alone", async () => {
    using machine = new Machine()
    const session = machine.session().turn("first question").user("second question").flush()
    await cli(machine, "import")
    await cli(machine, "__job")
    const before = vectors(machine)
    expect(before.map(({ count }) => count).sort()).toEqual([1, 2])
    session.say("an answer after all").flush()
    await cli(machine, "import")
    await cli(machine, "__job")
    const after = vectors(machine)
    expect(after.map(({ count }) => count).sort()).toEqual([2, 2])
    expect(after.every(({ isCurrent }) => isCurrent === 1)).toBe(true)
  })

  test("rebuild keeps the vectors and computes none again", async () => {
    using machine = await filled(3)
    await install(machine)
    await embedded(machine, 30, TINY_ID)
    const before = vectors(machine)
    await cli(machine, "rebuild")
    expect(vectors(machine)).toEqual(before)
    // What a copy does not hold any more has no vectors either.
    const db = new Database(join(machine.dataHome, "archive.db"))
    db.run("UPDATE messages SET key = key + 1 WHERE turn = 1")
    db.close()
    await cli(machine, "rebuild")
    expect(vectors(machine)).toHaveLength(29)
  })

  test("a different model under the same name gets its own vectors", async () => {
    using machine = await filled(1)
    await install(machine)
    await embedded(machine, 10, TINY_ID)
    const [first] = embedders(machine)
    using other = tempFolder()
    writeModel(other.path, TINY, "tiny", 2)
    const manifest = join(other.path, "manifest.json")
    await cli(machine, "model", "install", "--from", other.path, "--manifest", manifest)
    const isOther = async (): Promise<boolean> => {
      await cli(machine, "__job")
      const all = embedders(machine)
      return all.length === 1 && all[0] !== first
    }
    await until(isOther, 90_000, "the other model's vectors")
  })

  test("switched off, it makes no vectors", async () => {
    using machine = await filled(1)
    const ran = await run(["__job"], { env: { ...machine.env, CTXBRIDGE_EMBED: "0" }, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(vectors(machine)).toEqual([])
  })

  test("an import is embedded by a job that it starts, where a model is installed", async () => {
    using machine = new Machine()
    await install(machine)
    await machine.idle()
    machine.session().turn("Why is the kiln cold?", [], "The damper was open.").flush()
    await cli(machine, "import")
    await machine.idle()
    expect(embedders(machine)).toEqual([expect.stringMatching(TINY_ID)])
  })

  test("an import beside a damaged model is complete and says so", async () => {
    using machine = new Machine()
    await install(machine)
    await machine.idle()
    for (const path of new Glob("**/manifest.json").scanSync({ cwd: machine.dataHome, absolute: true }))
      writeFileSync(path, "{")
    machine.session().turn("Why is the kiln cold?").flush()
    const ran = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("Turns in the archive: 0 before, 1 now")
  })

  test("the end of a session is embedded by the job that its hook started, and no process remains", async () => {
    using machine = new Machine()
    const session = machine.session().turn("hello there").flush()
    for (let round = 0; round < 10; round++) {
      const ends = Array.from({ length: 5 }, () => machine.hook("session-end", session, { reason: "other" }))
      for (const ran of await Promise.all(ends))
        expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
    }
    await until(() => machine.processes().length <= 1, 60_000, "all but one job to end")
    await machine.idle()
    expect(vectors(machine)).toHaveLength(1)
    const log = join(machine.dataHome, "state", "ctxbridge.log")
    expect(existsSync(log) ? readFileSync(log, "utf8") : "").toBe("")
  })
})
