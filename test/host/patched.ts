/** A client of its own that a test may change: the cache's files stay as they are. */
import { rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { Client } from "./clients.ts"
import { CACHE } from "./from-npm.ts"
import type { World } from "./world.ts"
import { ctxbridge } from "./world.ts"

export interface OwnClient extends Client {
  /** Its cli.js. */
  readonly file: string
  dispose(): void
}

let count = 0

/** With hard links to the files in the cache, as some package managers install. */
export function ownClient({ version, command }: Client): OwnClient {
  const [node, file] = command as [string, string]
  const folder = join(CACHE, `own-${process.pid}-${count++}`)
  const { exitCode, stderr } = Bun.spawnSync(["cp", "-al", dirname(file), folder])
  if (exitCode !== 0) throw new Error(stderr.toString())
  const own = join(folder, basename(file))
  const dispose = () => rmSync(folder, { recursive: true, force: true })
  return { version, command: [node, own], file: own, dispose }
}

/** Runs `ctxbridge prune patch` on its cli.js. */
export const patch = (world: World, { file }: Pick<OwnClient, "file">, ...args: string[]) =>
  ctxbridge(world, ["prune", "patch", "--target", file, ...args])
