/** A root folder in which there is nothing but some programs and the libraries they load. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"

/** The files that the loader maps for a program. */
function librariesOf(program: string): string[] {
  const { stdout, exitCode } = Bun.spawnSync(["ldd", program], { stderr: "ignore" })
  if (exitCode !== 0) return []
  return [...String(stdout).matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map(([, path]) => path!)
}

/** @param programs paths; each is `/bin/<its name>` there */
export function makeRoot(root: string, programs: Readonly<Record<string, string>>): void {
  for (const folder of ["bin", "dev", "home", "proc", "tmp"])
    mkdirSync(join(root, folder), { recursive: true })
  for (const [name, path] of Object.entries(programs)) {
    copyFileSync(path, join(root, "bin", name))
    chmodSync(join(root, "bin", name), 0o755)
    addLibraries(root, path)
  }
}

export function addLibraries(root: string, program: string): void {
  for (const library of librariesOf(program)) {
    if (existsSync(join(root, library))) continue
    mkdirSync(join(root, dirname(library)), { recursive: true })
    copyFileSync(library, join(root, library))
    chmodSync(join(root, library), 0o755)
  }
}

/** busybox under all these names. */
export function addApplets(root: string, names: readonly string[]): void {
  for (const name of names) symlinkSync("busybox", join(root, "bin", name))
}

/** Mounts what the kernel offers, in a namespace that ends with the program, and makes the folder its root. */
const ENTER =
  'for f in proc dev; do mount --rbind /$f "$0/$f" || exit 125; done; PATH=$PATH:/usr/sbin exec chroot "$0" "$@"'

/** @returns words before a command that make `root` its root; undefined where that is not allowed */
export function intoRoot(root: string): readonly string[] | undefined {
  const ways = [[], ["--user", "--map-root-user"]].map((more) => [
    "unshare",
    ...more,
    "--mount",
    "sh",
    "-c",
    ENTER,
    root,
  ])
  return ways.find((way) => {
    try {
      // There are no programs yet, which chroot tells by its exit code.
      return Bun.spawnSync([...way, "/none"], { stderr: "ignore" }).exitCode === 127
    } catch {
      return false
    }
  })
}
