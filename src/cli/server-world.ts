/** What the server sees of the world: the command's environment, and what the host says of itself. */
import type { hostPlace } from "../config/load.ts"
import { readState } from "../hook/state.ts"
import { waitingPrompt } from "../hook/waiting-prompt.ts"
import type { ServerWorld } from "../mcp/tool.ts"
import { learningIn } from "../restore/restore.ts"
import { configuredTargets } from "../sync/targets.ts"
import { tryTo } from "../util/files.ts"
import type { Environment } from "./command.ts"

export const serverWorld = (env: Environment, host: ReturnType<typeof hostPlace>): ServerWorld => ({
  ...env,
  folder: host.project ?? env.cwd,
  session: host.session,
  restores: env.config["restore.enabled"],
  restoreBudget: env.config["restore.budget"],
  restoreRelated: env.config["restore.related"],
  learning: learningIn(env.config),
  // What is wrong with the configuration, `sync` says.
  targets: tryTo(() => configuredTargets(env.config, env)) ?? [],
  waiting: (session) => waitingPrompt(readState(env.dataHome, session)),
  now: Date.now,
})
