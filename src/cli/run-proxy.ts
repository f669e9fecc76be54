/** Starts the proxy for `prune proxy` and for `proxy`, and says in the end what it did. */

import { CtxError, usageError } from "../base/errors.ts"
import { count } from "../base/text.ts"
import { claudeEnvironment, type VariableValue } from "../claude/settings/read-settings.ts"
import { vaultAnswers } from "../prune/held-blocks.ts"
import {
  type ProxyCounts,
  type PruningProxy,
  requestPruner,
  startProxy,
  upstreamOf,
  upstreamShown,
} from "../prune/proxy/proxy-server.ts"
import { proxyOptions, UNITS_PER_TOKEN } from "../prune/way.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"

interface RunningProxy extends PruningProxy {
  /** For people and logs: without credentials. */
  readonly upstream: string
}

export function proxyFor({ args, env }: Context): RunningProxy {
  const [first] = claudeEnvironment(env).baseUrl
  if (first !== undefined && first.from !== "environment") throw overruled(first)
  const upstream = upstreamOf(first?.value)
  const options = proxyOptions(env.config)
  const pruner = requestPruner(options, (session) => vaultAnswers(env.dataHome, session))
  return { ...startProxy({ upstream, port: portIn(args), pruner }), upstream: upstreamShown(upstream) }
}

const overruled = ({ value, from }: VariableValue): CtxError =>
  new CtxError(
    "base-url-set",
    `Claude Code's ${from} settings send requests to ${upstreamShown(value)}, bypassing any proxy`,
    {
      hint: "remove ANTHROPIC_BASE_URL from env there, and set it in your shell instead",
    },
  )

function portIn(args: Context["args"]): number {
  const value = stringArg(args, "port") ?? "0"
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value)
  throw usageError(`--port needs a number up to 65535, not ${JSON.stringify(value)}`, "--port 8484")
}

/** What was saved, in words. */
export function saidOf({ requests, pruned, saved }: Readonly<ProxyCounts>): string {
  const tokens = Math.round(saved / UNITS_PER_TOKEN)
  return `${count(requests, "request")}, ${pruned} of them pruned: about ${tokens.toLocaleString("en-US")} fewer tokens sent`
}
