/**
 * What a hook costs: the compiled binary against `node -e 0` and an empty compiled Bun program, in the same
 * rounds, over transcripts and archives of several sizes. Bare milliseconds are the machine's; the ratios are ours.
 */
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BenchOptions, HookBench } from "./hook-bench.ts"
import type { Report } from "./report.ts"

/**
 * Runs everything in a temporary folder (about 1 GB for 150 MB and 100,000 turns) that is removed at the end.
 * The user's own archive and settings are not touched.
 */
export async function benchHooks(options: BenchOptions): Promise<Report> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "ctxbridge-bench-")))
  const bench = new HookBench(options, dir)
  const cleanUp = () => rmSync(dir, { recursive: true, force: true })
  const interrupt = (signal: NodeJS.Signals) => {
    cleanUp()
    process.off(signal, interrupt)
    // As if nobody had listened.
    process.kill(process.pid, signal)
  }
  process.on("SIGINT", interrupt)
  process.on("SIGTERM", interrupt)
  try {
    return await bench.run()
  } finally {
    await bench.quiet()
    cleanUp()
    process.off("SIGINT", interrupt)
    process.off("SIGTERM", interrupt)
  }
}
