/** What is measured by default. */
import type { BenchOptions } from "./hook-bench.ts"

type Plan = Omit<BenchOptions, "exe" | "onProgress">

export const FULL: Plan = { sizes: [1, 15, 150], archives: [0, 100_000], rounds: 30, firstReadMB: 150 }

export const QUICK: Plan = { sizes: [1, 15], archives: [0], rounds: 12 }
