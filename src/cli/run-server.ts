/**
 * `ctxbridge mcp` on its own: build/bundles.ts makes one chunk of the command, the router, the server and everything they
 * import before the build, because each session of Claude Code starts a server (docs/adr/0013).
 */
import { compileLate } from "../base/own-program.ts"
import mcp from "./commands/mcp.ts"
import { runCli } from "./router.ts"

export function runServer(argv: readonly string[]): Promise<void> {
  compileLate()
  return runCli(argv, mcp)
}
