/** `ctxbridge bench torture` finds nothing, and would find what there is. CTXBRIDGE_TORTURE=full runs it at full length. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, mkdtempSync, realpathSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CASES, countFaults } from "../../src/cli/bench/torture/run-cases.ts"
import type { TortureReport } from "../../src/cli/bench/torture/torture-report.ts"
import { World } from "../../src/cli/bench/torture/torture-world.ts"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { open } from "../../src/views/open.ts"
import { binary, run } from "../support/binary.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const FULL = process.env["CTXBRIDGE_TORTURE"] === "full"

describe("the matrix", () => {
  let report: TortureReport
  let code: number

  beforeAll(async () => {
    const ran = await run(["bench", "torture", "--json", ...(FULL ? [] : ["--quick"])], {
      env: { HOME: "/nonexistent" },
    })
    code = ran.code
    report = JSON.parse(ran.stdout) as TortureReport
  }, 600_000)

  for (const { name } of CASES) {
    test(name, () => {
      const one = report.cases.find((result) => result.name === name)!
      if (one.skipped !== null) {
        console.warn(`skipped: ${name}: ${one.skipped}`)
        return
      }
      expect(one).toMatchObject({
        lostLines: 0,
        lostTurns: 0,
        duplicates: 0,
        falseMessages: 0,
        badExits: 0,
        problems: [],
      })
      expect(one.turns).toBeGreaterThan(0)
      expect(one.runs).toBeGreaterThan(3)
    })
  }

  test("its exit code tells whether all is well", () => {
    expect({ ok: report.ok, code }).toEqual({ ok: true, code: 0 })
    expect(report.cases.find(({ name }) => name === "kill -9")!.killed).toBeGreaterThanOrEqual(
      report.scale.kills,
    )
  })
})

test("bench torture: unknown cases and seeds are usage errors", async () => {
  for (const args of [
    ["--only", "no such case"],
    ["--seed", "0"],
    ["--seed", "x"],
  ]) {
    const ran = await run(["bench", "torture", ...args], { env: { HOME: "/nonexistent" } })
    expect(ran).toMatchObject({ code: 64, stdout: "" })
  }
})

describe("counting faults", () => {
  const worldOf = (exe: string): World =>
    new World(exe, realpathSync(mkdtempSync(join(tmpdir(), "ctxbridge-judge-"))))

  /** Two sessions, archived; then `plant`. */
  async function judged(plant: (world: World) => void) {
    const world = worldOf(binary())
    try {
      for (const session of [world.session(), world.session()]) await world.hook("stop", session.grow(3))
      await world.recover()
      plant(world)
      return await countFaults(world)
    } finally {
      world.remove()
    }
  }

  const copyOf = (world: World): string =>
    vaultFile(world.dataHome, vaultPath(world.sessions[0]!.path, world.home))

  test("finds nothing when nothing is wrong", async () => {
    const { turns, ...faults } = await judged(() => {})
    expect(turns).toBe(6)
    expect(faults).toEqual({ lostLines: 0, lostTurns: 0, duplicates: 0, falseMessages: 0, badExits: 0 })
  })

  test("finds lines that are in no copy", async () => {
    const faults = await judged((world) => {
      const copy = copyOf(world)
      truncateSync(copy, statSync(copy).size - 200)
    })
    expect(faults.lostLines).toBe(12)
  })

  test("finds turns that are missing from the views, and duplicates", async () => {
    const faults = await judged((world) => {
      const db = open(world.dataHome, "write")
      const [first, second] = world.sessions
      db.run("DELETE FROM turns WHERE session = ? AND seq = 1", [first!.id])
      db.run(
        "UPDATE turns SET prompt = (SELECT prompt FROM turns t WHERE t.session = ?1 AND t.seq = 2) WHERE session = ?1 AND seq = 1",
        [second!.id],
      )
      db.close()
    })
    expect(faults).toMatchObject({ lostLines: 0, lostTurns: 2, duplicates: 1 })
  })

  test("finds wrong exit codes, output and claims", async () => {
    const world = worldOf("/bin/false")
    try {
      const exe = join(world.root, "liar")
      writeFileSync(
        exe,
        '#!/bin/sh\necho "ctxbridge: 9 turns of this session are archived"\n[ "$2" != stop ]\n',
      )
      chmodSync(exe, 0o700)
      const liar = new World(exe, realpathSync(mkdtempSync(join(world.root, "liar-"))))
      const session = liar.session().grow(1)
      await liar.hook("stop", session)
      expect({ ...liar }).toMatchObject({ badExits: 1, falseMessages: 2 })
      await liar.hook("pre-compact", session)
      expect({ ...liar }).toMatchObject({ badExits: 1, falseMessages: 3 })
      await liar.hook("session-start", session)
      expect(liar.falseMessages).toBeGreaterThan(3)
    } finally {
      world.remove()
    }
  })
})
