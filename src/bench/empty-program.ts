/** The baseline: an empty program compiled with the same runtime as ctxbridge. */
import { existsSync, writeFileSync } from "node:fs"
import { CtxError } from "../util/errors.ts"
import { join } from "../util/path.ts"

/**
 * Compiles an empty program with the Bun inside `exe` (a compiled ctxbridge, or bun itself). With BUN_BE_BUN=1 the
 * binary becomes the bun command and copies its own runtime, so neither bun nor a network is needed. Takes about half a
 * second and 110 MB in `dir`, which must be a folder of the caller's own, since Bun reads settings from the working
 * directory.
 *
 * @returns the path of the binary
 */
export function buildEmpty(exe: string, dir: string): string {
  const source = join(dir, "empty.ts")
  const binary = join(dir, process.platform === "win32" ? "empty.exe" : "empty")
  writeFileSync(source, "export {}\n")
  const build = Bun.spawnSync(
    [
      exe,
      "build",
      source,
      "--compile",
      "--production",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      `--outfile=${binary}`,
    ],
    {
      cwd: dir,
      env: { BUN_BE_BUN: "1", HOME: dir, TMPDIR: dir },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    },
  )
  if (build.exitCode !== 0 || !existsSync(binary)) {
    const said = build.stderr.toString().trim().split("\n").at(-1) ?? ""
    throw new CtxError("bench-empty", `could not compile the empty program: ${said}`)
  }
  return binary
}
