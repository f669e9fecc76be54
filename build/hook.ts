/**
 * Runs before the build: makes one module, dist/hook/run.js, of all that a hook loads at its start. src/main.ts imports
 * it. The filter for secrets is another, dist/filter/for-hooks.js, which src/secrets/late.ts imports.
 */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/secrets/for-hooks.ts", "dist/filter")
await makeOneModule("src/hook/run.ts", "dist/hook", {
  "src/secrets/clock.ts": "src/secrets/late.ts",
  "src/secrets/filter.ts": "src/secrets/late.ts",
})
