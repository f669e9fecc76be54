/** `ctxbridge mcp`: gives Claude access to the archive, as a Model Context Protocol server on stdin and stdout. */

import { usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { compileLate } from "../../base/own-program.ts"
import { toldToServer } from "../../config/load.ts"
import { waitingPrompt } from "../../hook/given.ts"
import { readState } from "../../hook/state.ts"
import { isServerEverywhere } from "../../restore/find-opening.ts"
import { configuredTargets } from "../../sync/targets.ts"
import { type Command, type Environment, flag } from "../command.ts"
import { isTerminal } from "../output.ts"
import type { ServerWorld } from "../server/tool.ts"

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
    const { serveArchive } = await import("../server/server.ts")
    const world = serverWorld(env, toldToServer())
    const isSecond = args["plugin"] === true && isServerEverywhere(env)
    await serveArchive({ ...world, isSecond }, (line) => out.raw(Buffer.from(line)))
  },
} satisfies Command

/* What the server sees of the world: the command's environment, and what Claude Code says of itself. */

export const serverWorld = (env: Environment, told: ReturnType<typeof toldToServer>): ServerWorld => ({
  ...env,
  folder: told.project ?? env.cwd,
  session: told.session,
  restores: env.config["restore.enabled"],
  restoreBudget: env.config["restore.budget"],
  restoreRelated: env.config["restore.related"],
  // What is wrong with the configuration, `sync` says.
  targets: tryTo(() => configuredTargets(env.config, env)) ?? [],
  waiting: (session) => waitingPrompt(readState(env.dataHome, session)),
  now: Date.now,
})
