/**
 * Runs before the build: makes one module, dist/hook/run.js, of all that a hook loads at its start, and one,
 * dist/reply/reply.js, of all that it loads besides when it restores. src/main.ts imports the first.
 */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/hook/reply.ts", "dist/reply", { within: ["src/archive/indexing.ts"] })
await makeOneModule("src/hook/run.ts", "dist/hook", { made: { "src/hook/reply.ts": "dist/reply/reply.js" } })
