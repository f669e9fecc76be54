/** Runs programs on a C library whose calls fail (failing.c). Needs a C compiler; tests are skipped without one. */
import { join } from "node:path"

const compiler = process.platform === "linux" ? Bun.which("cc") : null

export const canFail = compiler !== null

/** Compiles the library into `folder`. Returns the environment of a program that is to use it. */
export function failing(folder: string, fail: Readonly<Record<string, string>>): Record<string, string> {
  const library = join(folder, "failing.so")
  const source = join(import.meta.dir, "failing.c")
  const { exitCode, stderr } = Bun.spawnSync([compiler!, "-shared", "-fPIC", "-o", library, source, "-ldl"])
  if (exitCode !== 0) throw new Error(String(stderr))
  return { LD_PRELOAD: library, ...fail }
}
