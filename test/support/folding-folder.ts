/** A folder in which names are the same in any letters, as on a Mac: there any folder, elsewhere `folding-server.ts`. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const FOLDING_REFUSED = "nobody but root may mount a file system of its own, with /dev/fuse"

/** undefined: none can be made here. */
export async function foldingFolder(): Promise<({ readonly path: string } & Disposable) | undefined> {
  const root = mkdtempSync(join(tmpdir(), "ctxbridge-Folding-"))
  const remove = (): void => rmSync(root, { recursive: true, force: true })
  if (existsSync(join(root, "..", root.toUpperCase()))) return { path: root, [Symbol.dispose]: remove }
  const [behind, path] = [join(root, "behind"), join(root, "here")]
  for (const folder of [behind, path]) mkdirSync(folder)
  const server = Bun.spawn([process.execPath, join(import.meta.dir, "folding-server.ts"), behind, path], {
    stdio: ["ignore", "pipe", "ignore"],
  })
  const { value } = await server.stdout.getReader().read()
  if (value === undefined) {
    remove()
    return undefined
  }
  const unmount = (): void => {
    // Lazily: a process that is being killed may still have a file open.
    Bun.spawnSync(["umount", "-l", path])
    remove()
  }
  return { path, [Symbol.dispose]: unmount }
}
