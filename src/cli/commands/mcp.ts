/** `ctxbridge mcp`: gives Claude access to the archive, as a Model Context Protocol server on stdin and stdout. */
import { isatty } from "node:tty"
import { hostPlace } from "../../config/load.ts"
import { compileLate } from "../../util/compiling.ts"
import { usageError } from "../../util/errors.ts"
import type { Command } from "../command.ts"
import { serverWorld } from "../server-world.ts"

export default {
  meta: {
    name: "mcp",
    description: "Serve the archive to Claude (MCP on stdin and stdout); install registers it",
    badOptions: "own",
  },
  async run({ env, out }) {
    if (isatty(0)) throw usageError("mcp is started by Claude Code", "`ctxbridge install` registers it there")
    compileLate()
    const { serveArchive } = await import("../../mcp/server.ts")
    await serveArchive(serverWorld(env, hostPlace()), (line) => out.raw(Buffer.from(line)))
  },
} satisfies Command
