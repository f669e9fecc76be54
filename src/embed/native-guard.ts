/**
 * Native code can crash the whole process, for instance on a processor that lacks an instruction. Each process that
 * loads it leaves a mark until it has computed something; after three marks of dead processes, WebAssembly is used
 * instead.
 */
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { isMissing } from "../util/errors.ts"
import { mkdirSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { isAlive } from "../util/process-alive.ts"

const MARK = "loading-native-"
/** One or two of them may have been killed by someone. */
const TOO_MANY = 3

export const isNativeTrusted = (stateHome: string): boolean => deaths(stateHome) < TOO_MANY

/** How many processes have died while loading it since it last worked. */
export const deaths = (stateHome: string): number =>
  marks(stateHome).filter((name) => !isAlive(Number(name.slice(MARK.length)))).length

/** Forgets those deaths, for instance because the files that caused them were replaced. */
export function forgiveDeaths(stateHome: string): void {
  for (const name of marks(stateHome)) rmSync(join(stateHome, name), { force: true })
}

/** Runs `work`, which loads the native library and uses it for the first time. */
export async function guarded<T>(stateHome: string, work: () => Promise<T>): Promise<T> {
  const own = join(stateHome, `${MARK}${process.pid}`)
  mkdirSync(stateHome, { recursive: true, mode: 0o700 })
  writeFileSync(own, "", { mode: 0o600 })
  try {
    const result = await work()
    // It works, so it did not kill the others.
    forgiveDeaths(stateHome)
    return result
  } finally {
    rmSync(own, { force: true })
  }
}

function marks(stateHome: string): string[] {
  try {
    return readdirSync(stateHome).filter((name) => name.startsWith(MARK))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
