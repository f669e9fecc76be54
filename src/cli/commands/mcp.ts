/** `ctxbridge mcp`: gives Claude access to the archive, as a Model Context Protocol server on stdin and stdout. */
import { listsOurServer } from "../../claude/our-server.ts"
import { hostState } from "../../claude/settings/state-file.ts"
import { hostPlace } from "../../config/load.ts"
import { compileLate } from "../../util/compiling.ts"
import { usageError } from "../../util/errors.ts"
import { type Command, flag } from "../command.ts"
import { isTerminal } from "../output.ts"
import { serverWorld } from "../server-world.ts"

const STDIN = 0

export default {
  meta: {
    name: "mcp",
    description: "Serve the archive to Claude over MCP",
    badOptions: "own",
  },
  args: { plugin: flag("Started by the plugin: no tools if an install has registered them already") },
  async run({ args, env, out }) {
    // Only what may be a terminal is worth loading node:tty.
    if (isTerminal(STDIN) && (await import("node:tty")).isatty(STDIN))
      throw usageError("mcp is started by Claude Code", "`ctxbridge install` registers it there")
    compileLate()
    const { serveArchive } = await import("../../mcp/server.ts")
    const world = serverWorld(env, hostPlace())
    const isSecond = args["plugin"] === true && listsOurServer(hostState(env).fields)
    await serveArchive({ ...world, isSecond }, (line) => out.raw(Buffer.from(line)))
  },
} satisfies Command
