/** `ctxbridge bench torture`: breaks things around the binary and counts what is lost. */
import { enclosure } from "../bench/torture/enclose.ts"
import { CASES, FULL, QUICK, torture } from "../bench/torture/run.ts"
import { renderTorture } from "../bench/torture/table.ts"
import { childEnvironment } from "../config/load.ts"
import { EXIT, usageError } from "../util/errors.ts"
import { positive, stringArg } from "./args.ts"
import type { Context } from "./command.ts"

export async function benchTorture({ args, out, env }: Context): Promise<number> {
  const seed = positive(args, "seed") ?? 1
  const only = stringArg(args, "only")
  const cases = CASES.filter(({ name }) => only === undefined || name.includes(only))
  if (cases.length === 0) {
    throw usageError(`no case is called ${only}`, `there are: ${CASES.map(({ name }) => name).join(", ")}`)
  }
  const around = args["enclosed"] === true ? undefined : enclosure()
  if (around !== undefined) return again(around, env.exePath)
  const scale = args["quick"] === true ? QUICK : FULL
  const report = await torture({ exe: env.exePath, seed, scale, cases, onProgress: out.progress })
  for (const line of renderTorture(report)) out.print(line)
  out.json(report)
  return report.ok ? EXIT.ok : EXIT.failed
}

/** Runs the same command where file systems can be mounted. */
async function again(around: readonly string[], exe: string): Promise<number> {
  const child = Bun.spawn([...around, exe, ...process.argv.slice(2), "--enclosed"], {
    stdio: ["inherit", "inherit", "inherit"],
    env: childEnvironment(),
  })
  return await child.exited
}
