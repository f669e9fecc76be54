/** A data folder that cannot be written: hooks spool, commands report it, and everything moves over afterwards. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { codeOf } from "../../../base/errors.ts"
import { renameSync } from "../../../base/fs.ts"
import { dirname, join } from "../../../base/path.ts"
import type { Dice } from "../seeded-random.ts"
import type { Scale, TortureCase } from "./torture-report.ts"
import type { GrowingSession, World } from "./torture-world.ts"

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

/** An outage that begins with `obstruct`, and in which Claude Code deletes a transcript: then only the spool has it. */
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

/*
 * Disks of our own: small ones that fill up, and folders that cannot be written, in a private mount namespace. No one
 * else sees what is mounted in it, its mounts disappear when its last process ends, for whatever reason, and it also lets
 * users other than root mount.
 */

const mounted = (...args: readonly string[]): boolean =>
  Bun.spawnSync(["mount", ...args], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exitCode === 0

const has = (command: string): boolean => Bun.which(command) !== null

/** Mounts a file system of this many bytes on `folder`; undefined when that is not allowed. */
export function smallDisk(folder: string, bytes: number): Disposable | undefined {
  if (!has("mount") || !mounted("-t", "tmpfs", "-o", `size=${bytes},mode=700`, "tmpfs", folder))
    return undefined
  return { [Symbol.dispose]: () => void Bun.spawnSync(["umount", "-l", folder]) }
}

/** Makes the file system in `folder` read-only, until disposed. */
function readOnly(folder: string): Disposable | undefined {
  // Only the mount is changed: users other than root may not change the file system, even one of their own.
  if (!mounted("-o", "remount,bind,ro", folder)) return undefined
  return { [Symbol.dispose]: () => void mounted("-o", "remount,bind,rw", folder) }
}

/** Fills the disk to its last byte. */
export function fillDisk(folder: string): Disposable {
  const file = join(folder, "ballast")
  for (let size = 1 << 20; size >= 1; size >>= 1) {
    for (;;) {
      try {
        writeFileSync(file, new Uint8Array(size), { flag: "a" })
      } catch (error) {
        if (codeOf(error) !== "ENOSPC") throw error
        break
      }
    }
  }
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
}

/** Puts a file in a folder's place and moves the folder aside until disposed. */
function inTheWay(path: string): Disposable {
  const aside = `${path}.aside`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error
  }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, "in the way")
  return {
    [Symbol.dispose]: () => {
      rmSync(path)
      try {
        renameSync(aside, path)
      } catch (error) {
        if (codeOf(error) !== "ENOENT") throw error
      }
    },
  }
}

export const MOUNTS_REFUSED = "no file system can be mounted here"

/** Words to put before a command to run it in such a namespace; undefined when that is impossible. */
export function enclosure(): readonly string[] | undefined {
  const unshare = Bun.which("unshare")
  if (unshare === null) return undefined
  const own = process.getuid?.() === 0 ? [unshare, "--mount"] : [unshare, "--map-root-user", "--mount"]
  const { exitCode } = Bun.spawnSync([...own, "true"], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  })
  return exitCode === 0 ? own : undefined
}
