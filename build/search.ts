/** Before the build: all that a search loads as one module, dist/search/run-search.js, which src/main.ts imports. */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/cli/run-search.ts", "dist/search")
