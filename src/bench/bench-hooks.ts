/**
 * What a hook costs: the compiled binary against `node -e 0` and an empty compiled Bun program, in the same rounds,
 * with transcripts and archives of several sizes. Milliseconds depend on the machine; the ratios tell about us.
 */
import { temporaryFolder } from "../util/temporary.ts"
import { type BenchOptions, HookBench } from "./hook-bench.ts"
import type { Report } from "./hook-report.ts"

/**
 * Runs everything in a temporary folder (about 1 GB for 150 MB and 100,000 turns), which is removed at the end. The
 * user's own archive and settings are not touched.
 */
export async function benchHooks(options: BenchOptions): Promise<Report> {
  using folder = temporaryFolder("bench")
  const bench = new HookBench(options, folder.path)
  try {
    return await bench.run()
  } finally {
    await bench.quiet()
  }
}

/** What is measured by default. */
type Plan = Omit<BenchOptions, "exe" | "onProgress">

export const FULL_PLAN: Plan = { sizes: [1, 15, 150], archives: [0, 100_000], rounds: 30, firstReadMB: 150 }

export const QUICK_PLAN: Plan = { sizes: [1, 15], archives: [0], rounds: 12 }
