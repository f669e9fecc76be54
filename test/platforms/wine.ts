/** Wine, made ready to run a Bun program (docs/releasing.md says what it needs). */
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"

const SHIM = join(import.meta.dir, "wine-bcryptprimitives.c")

/** Where the packages of Debian and of others put it; undefined: there is none. */
export const wine = (): string | undefined =>
  ["/usr/lib/wine/wine64", Bun.which("wine64"), Bun.which("wine")].find(
    (path): path is string => typeof path === "string" && existsSync(path),
  )

/** @param prefix folder of the Windows to be; absolute */
export function wineEnvironment(prefix: string): Record<string, string> {
  return { ...(process.env as Record<string, string>), WINEPREFIX: prefix, WINEDEBUG: "-all", DISPLAY: "" }
}

/** Makes the folder, unless it is there. Throws what a tool says. */
export function prepareWine(program: string, prefix: string): void {
  const system = join(prefix, "drive_c", "windows", "system32")
  const shim = join(system, "bcryptprimitives.dll")
  if (existsSync(shim)) return
  const ran = (command: string[]): void => {
    const { exitCode, stderr } = Bun.spawnSync(command, { env: wineEnvironment(prefix) })
    if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`)
  }
  mkdirSync(prefix, { recursive: true })
  ran([program, "wineboot", "-i"])
  ran([program, "winecfg", "-v", "win10"])
  ran(["x86_64-w64-mingw32-gcc-win32", "-shared", "-o", shim, SHIM, "-ladvapi32"])
}
