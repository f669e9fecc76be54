/** Vectors that a disk has damaged. */
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { databasePath } from "../../src/views/database.ts"
import { VECTOR_HEAD } from "../../src/views/vectors.ts"
import { run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const WIDTH = VECTOR_HEAD + 384

type Damage = (row: { dimension: number; vectors: Uint8Array }) => {
  dimension?: number
  vectors?: Uint8Array
}

const scaled =
  (scale: number): Damage =>
  ({ vectors }) => {
    const copy = vectors.slice()
    for (let at = 4; at < copy.length; at += WIDTH) new DataView(copy.buffer).setFloat32(at, scale, true)
    return { vectors: copy }
  }

const KINDS: readonly [string, Damage][] = [
  ["half a vector", ({ vectors }) => ({ vectors: vectors.slice(0, WIDTH - 100) })],
  ["fewer bytes than a head", ({ vectors }) => ({ vectors: vectors.slice(0, 3) })],
  ["another dimension", () => ({ dimension: 16 })],
  ["a dimension that leads nowhere", () => ({ dimension: -VECTOR_HEAD })],
  ["a scale that is no number", scaled(Number.NaN)],
  ["an endless scale", scaled(Number.POSITIVE_INFINITY)],
  ["a scale far too large", scaled(3e20)],
  ["a scale below zero", scaled(-0.004)],
]

interface Row {
  readonly turn: number
  readonly dimension: number
  readonly vectors: Uint8Array
}

const opened = (machine: Machine): Database & Disposable => {
  const db = new Database(databasePath(machine.dataHome))
  db.run("PRAGMA busy_timeout = 20000")
  return db as Database & Disposable
}

function rows(machine: Machine): Row[] {
  using db = opened(machine)
  return db.query<Row, []>("SELECT turn, dimension, vectors FROM vectors ORDER BY turn").all()
}

/** Damages the vectors of the turn that is about walruses. */
function damage(machine: Machine, how: Damage): void {
  using db = opened(machine)
  const row = db
    .query<Row, []>(
      "SELECT v.turn, v.dimension, v.vectors FROM vectors v JOIN turns t ON t.id = v.turn WHERE t.prompt LIKE '%walrus%'",
    )
    .get()!
  const { dimension, vectors } = { ...row, ...how(row) }
  db.query("UPDATE vectors SET dimension = ?, vectors = ? WHERE turn = ?").run(dimension, vectors, row.turn)
}

const cli = (machine: Machine, ...args: readonly string[]) =>
  run(args, { env: machine.env, cwd: machine.cwd })

const PROMPTS = [
  "The walrus sleeps on the ice.",
  "Ermines run through the snow.",
  "A heron stands in the reeds.",
]

async function embedded(machine: Machine): Promise<void> {
  await until(
    async () => {
      await cli(machine, "__job")
      return rows(machine).length === PROMPTS.length
    },
    30_000,
    "vectors of every turn",
  )
  await machine.idle()
}

async function filled(): Promise<Machine> {
  const machine = new Machine()
  const session = machine.session()
  for (const prompt of PROMPTS) session.turn(prompt, [], "Yes.")
  session.flush()
  expect(await cli(machine, "import")).toMatchObject({ code: 0, stderr: "" })
  await embedded(machine)
  return machine
}

/**
 * Vectors that a disk had damaged were compared as they were: a scale gone wild came first in every search by meaning, half a
 * vector ended restores and `rebuild`, and nothing ever made them anew.
 */
describe.each(KINDS)("a vector that is damaged: %s", (_name, how) => {
  test("is left out by a search, kept out of new views, and made anew", async () => {
    using machine = await filled()
    const before = rows(machine)
    damage(machine, how)
    const found = await cli(machine, "search", "--mode", "semantic", "ermines in the snow", "--json")
    expect(found).toMatchObject({ code: 0, stderr: "" })
    const { hits } = JSON.parse(found.stdout)
    expect(hits[0].snippet).toContain("Ermines")
    for (const { score } of hits) expect(score).toBeLessThanOrEqual(1)
    // Nothing else is alike.
    const asked = await cli(machine, "search", "--mode", "semantic", "walrus on ice", "--json")
    expect({ code: asked.code, error: JSON.parse(asked.stdout).error.code }).toEqual({
      code: 3,
      error: "not-found",
    })
    // Looked for once a day.
    rmSync(join(machine.dataHome, "state", "swept", "vectors"))
    expect(await cli(machine, "__job")).toMatchObject({ code: 0, stderr: "" })
    await embedded(machine)
    expect(rows(machine)).toEqual(before)
    damage(machine, how)
    expect(await cli(machine, "rebuild")).toMatchObject({ code: 0, stderr: "" })
  })
})
