/**
 * A database that is unusable while hooks continue. The vault takes everything, and the views catch up by themselves.
 */
import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs"
import { databasePath, openDatabase, SCHEMA_VERSION } from "../../archive/database.ts"
import type { Dice } from "../seeded-random.ts"
import type { GrowingSession } from "./growing-session.ts"
import type { TortureCase } from "./torture-report.ts"
import type { World } from "./torture-world.ts"

const PAGE = 4096

async function begun(world: World, turns = 20): Promise<GrowingSession[]> {
  const sessions = [world.session().grow(turns), world.session().grow(turns)]
  for (const session of sessions) await world.hook("pre-compact", session)
  await world.recover()
  return sessions
}

async function goOn(
  world: World,
  dice: Dice,
  rounds: number,
  sessions: readonly GrowingSession[],
): Promise<void> {
  for (let n = 0; n < rounds; n++) {
    for (const session of sessions) await world.hook(world.anyEvent(dice), session.grow(1))
  }
}

/** Repeatedly damages a file that no one has open; each time it must be repaired automatically. */
function damaging(
  name: string,
  damage: (world: World, dice: Dice, session: GrowingSession) => Promise<void> | void,
): TortureCase {
  return {
    name,
    async run(world, dice, { rounds }) {
      const sessions = await begun(world)
      for (let n = 0; n < Math.ceil(rounds / 2); n++) {
        await damage(world, dice, sessions[0]!)
        await goOn(world, dice, 2, sessions)
        await world.recover()
      }
    },
  }
}

function overwrite(file: string, position: number, length: number): void {
  const fd = openSync(file, "r+")
  try {
    writeSync(fd, new Uint8Array(length).fill(0xa5), 0, length, position)
  } finally {
    closeSync(fd)
  }
}

/** Content that is only in the log would hide the damage. */
function withoutLog(world: World): string {
  const file = databasePath(world.dataHome)
  const db = openDatabase(world.dataHome, { wait: 5000 })
  db.run("PRAGMA wal_checkpoint(TRUNCATE)")
  db.close()
  return file
}

export const header = damaging("corrupt header", (world) => overwrite(withoutLog(world), 0, 100))

export const page = damaging("corrupt page", (world, dice) => {
  const file = withoutLog(world)
  const fd = openSync(file, "r")
  const pages = Math.floor(fstatSync(fd).size / PAGE)
  closeSync(fd)
  overwrite(file, dice.between(1, pages - 1) * PAGE, PAGE)
})

/** A power failure: the end of the log, or half of it, did not reach the disk. */
export const log = damaging("truncated WAL", async (world, dice, session) => {
  // The log of a process that was killed, with what it committed.
  await world.hook("pre-compact", session.grow(30))
  world.killEverything()
  const file = `${databasePath(world.dataHome)}-wal`
  if (!existsSync(file)) return
  const fd = openSync(file, "r+")
  try {
    ftruncateSync(fd, dice.between(0, fstatSync(fd).size))
  } finally {
    closeSync(fd)
  }
  rmSync(`${databasePath(world.dataHome)}-shm`, { force: true })
})

export const missingDatabase = damaging("missing database", (world) => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(databasePath(world.dataHome) + suffix, { force: true })
})

export const locked: TortureCase = {
  name: "locked database",
  async run(world, dice) {
    const sessions = await begun(world)
    const db = openDatabase(world.dataHome, { wait: 5000 })
    db.run("BEGIN IMMEDIATE")
    await goOn(world, dice, 2, sessions)
    db.run("ROLLBACK")
    db.close()
  },
}

export const newer: TortureCase = {
  name: "newer schema",
  async run(world, dice, { rounds }) {
    const sessions = await begun(world)
    // Kept open, since we could not reopen it either.
    const db = openDatabase(world.dataHome, { wait: 5000 })
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    await goOn(world, dice, rounds, sessions)
    await world.command(["rebuild"], [1])
    await world.command(["sessions", "--all-projects"])
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    db.close()
  },
}
