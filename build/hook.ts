/**
 * Runs before the build: makes one module, dist/hook/run.js, of all that a hook loads at its start. src/main.ts imports
 * it.
 */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/hook/run.ts", "dist/hook")
