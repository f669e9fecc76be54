/**
 * Copies in the vault that somebody empties, cuts, changes or removes, and a transcript that is cut short while nobody
 * reads it. What Claude Code still has must come back; of what it has not, everybody must say that it is lost.
 */

import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { dirname } from "../../../base/path.ts"
import { vaultFile, vaultPath } from "../../../vault/layout.ts"
import { databasePath, SCHEMA_VERSION } from "../../../views/database.ts"
import { open } from "../../../views/open.ts"
import type { Dice } from "../seeded-random.ts"
import type { TortureCase } from "./torture-report.ts"
import type { GrowingSession, World } from "./torture-world.ts"

const copyOf = (world: World, { path }: GrowingSession): string =>
  vaultFile(world.dataHome, vaultPath(path, world.home))

/** Two sessions that are archived, in several frames, and in the views. */
async function archived(world: World, dice: Dice): Promise<readonly [GrowingSession, GrowingSession]> {
  const sessions = [world.session(), world.session()] as const
  for (let n = 0; n < 3; n++)
    for (const session of sessions) await world.hook("stop", session.grow(dice.between(1, 20)))
  await world.recover()
  await world.command(["import"])
  return sessions
}

/** Checks that the damage is told, has it mended in one of the ways that there are, and checks that too. */
async function mended(world: World, dice: Dice, session: GrowingSession): Promise<void> {
  const { ok } = await world.asked<{ ok?: boolean }>(["verify"], [0, 1])
  if (ok !== false) world.isFalse("verify said that all is well")
  const ways = [["import"], ["doctor", "--fix"], ["import", "--check"]] as const
  const way = dice.pick(ways)
  // What else it finds on this machine is not about the vault.
  await world.command(way, way[0] === "doctor" ? [0, 1] : [0])
  const after = await world.asked<{ ok?: boolean }>(["verify"], [0, 1])
  if (after.ok !== true) world.isFalse(`${way.join(" ")} did not mend the copy of ${session.id}`)
}

const WAYS_TO_VANISH: readonly ((file: string) => void)[] = [
  (file) => unlinkSync(file),
  (file) => truncateSync(file, 0),
  (file) => truncateSync(file, Math.floor(statSync(file).size / 2)),
  (file) => rmSync(dirname(file), { recursive: true }),
]

export const vanished: TortureCase = {
  name: "vanished copy",
  async run(world, dice, { rounds }) {
    const [there, gone] = await archived(world, dice)
    for (let n = 0; n < rounds; n++) {
      dice.pick(WAYS_TO_VANISH)(copyOf(world, there))
      await mended(world, dice, there)
      await world.hook("stop", there.grow(1))
    }
    await lost(world, dice, gone)
  },
}

interface Verify {
  readonly transcripts?: readonly { readonly state: string; readonly problems: readonly string[] }[]
}

/** Neither Claude Code nor the vault has it, until its copy comes back from a backup. */
async function lost(world: World, dice: Dice, session: GrowingSession): Promise<void> {
  const file = copyOf(world, session)
  const backup = readFileSync(file)
  const transcript = readFileSync(session.path)
  rmSync(session.path)
  dice.pick(WAYS_TO_VANISH.slice(0, 2))(file)
  for (const step of ["at once", "after a rebuild"]) {
    const { transcripts = [] } = await world.asked<Verify>(["verify"], [1])
    const said = transcripts.filter(({ state }) => state === "lost").flatMap(({ problems }) => problems)
    if (!said.some((problem) => problem.includes(session.id)))
      world.isFalse(`verify did not name ${session.id}, ${step}`)
    await world.command(["rebuild"], [1])
    await world.command(["show", session.id])
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, backup)
  await world.command(["verify"])
  writeFileSync(session.path, transcript)
}

export const flipped: TortureCase = {
  name: "flipped bit",
  async run(world, dice, { rounds }) {
    const sessions = await archived(world, dice)
    for (let n = 0; n < rounds; n++) {
      const session = dice.pick(sessions)
      const file = copyOf(world, session)
      const bytes = readFileSync(file)
      bytes[dice.between(0, bytes.length - 1)]! ^= 1 << dice.between(0, 7)
      writeFileSync(file, bytes)
      await mended(world, dice, session)
      // No event for which a job is started: that might have mended the next damage before anybody has looked.
      await world.hook("stop", session.grow(1))
    }
  },
}

export const cutShort: TortureCase = {
  name: "truncated transcript",
  async run(world, dice, { rounds }) {
    const sessions = await archived(world, dice)
    for (let n = 0; n < rounds; n++) {
      const session = dice.pick(sessions)
      session.generation++
      truncateSync(session.path, dice.between(0, statSync(session.path).size))
      // Half a line, which Claude Code goes on behind.
      if (dice.chance(0.5)) session.grow(1)
      await world.hook(world.anyEvent(dice), session)
      if (dice.chance(0.5)) await world.command(["import"])
      await world.hook("stop", session.grow(1))
      if (!existsSync(copyOf(world, session))) world.isFalse(`there is no copy of ${session.id}`)
    }
  },
}

/*
 * A database that is unusable while hooks continue. The vault takes everything, and the views catch up by themselves.
 */

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
  const db = open(world.dataHome, "write")
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
    const db = open(world.dataHome, "write")
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
    const db = open(world.dataHome, "write")
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    await goOn(world, dice, rounds, sessions)
    await world.command(["rebuild"], [1])
    await world.command(["sessions", "--all-projects"])
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`)
    db.close()
  },
}
