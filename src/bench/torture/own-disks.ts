/**
 * Disks of our own: small ones that fill up, and folders that cannot be written, in a private mount namespace. No one
 * else sees what is mounted in it, its mounts disappear when its last process ends, for whatever reason, and it also lets
 * users other than root mount.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { codeOf } from "../../util/errors.ts"
import { renameSync } from "../../util/fs.ts"
import { dirname, join } from "../../util/path.ts"

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
export function readOnly(folder: string): Disposable | undefined {
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
export function inTheWay(path: string): Disposable {
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
