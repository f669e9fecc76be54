/** A data folder that cannot be written: hooks spool, commands report it, and everything moves over afterwards. */
import { rmSync } from "node:fs"
import { join } from "../../util/path.ts"
import type { Dice } from "../seeded-random.ts"
import type { GrowingSession } from "./growing-session.ts"
import { fillDisk, inTheWay, MOUNTS_REFUSED, readOnly, smallDisk } from "./own-disks.ts"
import type { Scale, TortureCase } from "./torture-report.ts"
import type { World } from "./torture-world.ts"

const SMALL = 4 << 20
/** Has room for all that a case writes, except the ballast. */
const LARGE = 64 << 20

interface Status {
  readonly spool?: readonly { readonly transcripts: number; readonly reason: unknown }[]
}

/** Calls hooks of all events on growing sessions, and checks what commands report. */
async function outage(
  world: World,
  dice: Dice,
  scale: Scale,
  sessions: readonly GrowingSession[],
): Promise<void> {
  for (let n = 0; n < scale.rounds; n++) {
    for (const session of sessions) await world.hook(world.anyEvent(dice), session.grow(dice.between(1, 4)))
  }
  for (const session of sessions) await world.hook("stop", session.grow(1))
  const { spool } = await world.asked<Status>(["status"])
  if (!spool?.some(({ transcripts, reason }) => transcripts > 0 && reason !== null)) {
    world.isFalse("status does not say what is spooled, and why")
  }
  const asked = await world.asked<{ error?: { code: string } }>(["import"], [1])
  if (asked.error !== undefined && asked.error.code !== "data-unwritable") {
    world.isFalse(`import said ${asked.error.code}`)
  }
}

async function begun(world: World): Promise<GrowingSession[]> {
  const sessions = [world.session().grow(3), world.session().grow(3)]
  for (const session of sessions) await world.hook("pre-compact", session)
  return [...sessions, world.session()]
}

/** An outage that begins with `obstruct`, and in which the host deletes a transcript: then only the spool has it. */
async function outageBy(
  obstruct: () => Disposable | undefined,
  world: World,
  dice: Dice,
  scale: Scale,
): Promise<string | undefined> {
  const sessions = await begun(world)
  await world.recover()
  using obstacle = obstruct()
  if (obstacle === undefined) return MOUNTS_REFUSED
  await outage(world, dice, scale, sessions)
  rmSync(sessions[0]!.path)
  sessions[0]!.generation++
  return undefined
}

export const full: TortureCase = {
  name: "disk full",
  async run(world, dice, scale) {
    if (!world.keep(smallDisk(world.disk, SMALL))) return MOUNTS_REFUSED
    return outageBy(() => fillDisk(world.disk), world, dice, scale)
  },
}

/** Hooks spool and archive while commands move things over, all at once. */
export const flapping: TortureCase = {
  name: "disk full on and off",
  async run(world, dice, { rounds }) {
    if (!world.keep(smallDisk(world.disk, LARGE))) return MOUNTS_REFUSED
    const sessions = await begun(world)
    const all = async (): Promise<void> => {
      const hooks = sessions.flatMap((session) =>
        [1, 2].map(() => world.hook(world.anyEvent(dice), session.grow(dice.between(1, 30)))),
      )
      // While the disk is full, a command may have to report it.
      await Promise.all([...hooks, world.command(["sessions", "--all-projects"], [0, 1])])
    }
    for (let n = 0; n < rounds; n++) {
      const ballast = fillDisk(world.disk)
      const working = all()
      await Bun.sleep(dice.between(0, 60))
      ballast[Symbol.dispose]()
      await working
      await all()
    }
    return undefined
  },
}

export const refused: TortureCase = {
  name: "read-only data folder",
  async run(world, dice, scale) {
    // The state folder is affected too, so only the temporary one is left.
    world.set("XDG_STATE_HOME", join(world.disk, "state"))
    if (!world.keep(smallDisk(world.disk, SMALL))) return MOUNTS_REFUSED
    return outageBy(() => readOnly(world.disk), world, dice, scale)
  },
}

export const blocked: TortureCase = {
  name: "a file in the data folder's place",
  run: (world, dice, scale) => outageBy(() => inTheWay(world.dataHome), world, dice, scale),
}

export const limited: TortureCase = {
  name: "file size limit",
  async run(world, dice, scale) {
    const sessions = await begun(world)
    await world.recover()
    for (let n = 0; n < scale.rounds; n++) {
      for (const session of sessions) {
        // In blocks of 512 bytes: some writes fit, others break off in the middle.
        const limit = `ulimit -f ${dice.between(0, 12)}; exec "$0" "$@"`
        const through = ["/bin/sh", "-c", limit]
        await world.hook(world.anyEvent(dice), session.grow(dice.between(1, 30)), { through })
      }
    }
  },
}
