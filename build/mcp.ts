/**
 * Runs before the build: makes one module, dist/mcp/run-server.js, of all that the server loads. src/main.ts imports it.
 *
 * The SDK's validator of JSON Schema, a third of the module, is left out. It is for forms that a server has the user
 * fill in, and ours has none (`NO_FORMS` in src/mcp/sdk.ts).
 */
import { makeOneModule } from "./one-module.ts"

await makeOneModule("src/cli/run-server.ts", "dist/mcp", {
  within: [
    "src/mcp/server.ts",
    "src/search/elsewhere.ts",
    "src/search/observations.ts",
    "src/search/nothing-found.ts",
  ],
  instead: { "@modelcontextprotocol/server/_shims": "build/mcp-shims.ts" },
})
