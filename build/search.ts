/**
 * Runs before the build: makes one module, dist/search/run-search.js, of all that a search loads. src/main.ts imports
 * it.
 */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/cli/run-search.ts", "dist/search")
