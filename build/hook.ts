/** Before the build: all that a hook loads at its start as one module, dist/hook/run.js, which src/main.ts imports. */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/hook/run.ts", "dist/hook")
