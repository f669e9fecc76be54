/** `ctxbridge mcp`: gives Claude access to the archive, as a Model Context Protocol server on stdin and stdout. */
import { isatty } from "node:tty"
import { hostPlace } from "../../config/load.ts"
import { readState } from "../../hook/state.ts"
import { waitingPrompt } from "../../hook/waiting-prompt.ts"
import { compileLate } from "../../util/compiling.ts"
import { usageError } from "../../util/errors.ts"
import type { Command } from "../command.ts"

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
    const host = hostPlace()
    await serveArchive(
      {
        ...env,
        folder: host.project ?? env.cwd,
        session: host.session,
        restores: env.config["restore.enabled"],
        restoreBudget: env.config["restore.budget"],
        restoreRelated: env.config["restore.related"],
        waiting: (session) => waitingPrompt(readState(env.dataHome, session)),
        now: Date.now,
      },
      (line) => out.raw(Buffer.from(line)),
    )
  },
} satisfies Command
