/** The targets that `search` and `show` ask: with `--backend` that one, else those that are configured. */

import { usageError } from "../base/errors.ts"
import { type FarTarget, refuseUnknown } from "../find/elsewhere.ts"
import { parseQuery } from "../find/parse-query.ts"
import { configuredTargets, targetNamed } from "../sync/targets.ts"
import type { Database } from "../views/database.ts"
import { openCurrent } from "../views/open-current.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"

/** Filters of which entries know nothing: an entry is a whole turn. */
const UNKNOWN = ["role", "error", "cold"]

/**
 * The targets of a search.
 *
 * @throws CtxError exit 64 if there is none, or for what a target cannot be asked
 */
export function farTargets(context: Pick<Context, "args" | "env">, query: string): FarTarget[] {
  const { args } = context
  const named = stringArg(args, "backend")
  if (named !== undefined && args["everywhere"] === true)
    throw usageError("--backend and --everywhere cannot be used together")
  const unknown = UNKNOWN.find((name) => args[name] !== undefined && args[name] !== false)
  if (unknown !== undefined)
    throw usageError(
      `--${unknown} cannot be used with --backend or --everywhere`,
      "--tool, --file and --since can",
    )
  refuseUnknown(parseQuery(query))
  return targetsMeant(context)
}

/** @throws CtxError exit 64 if there is none */
export function targetsMeant({ args, env }: Pick<Context, "args" | "env">): FarTarget[] {
  const named = stringArg(args, "backend")
  const targets =
    named === undefined ? configuredTargets(env.config, env) : [targetNamed(named, env.config, env)]
  if (targets.length > 0) return targets
  throw usageError(
    "no sync target is configured",
    "set CTXBRIDGE_SYNC_TO, or name one with --backend (docs/sync.md)",
  )
}

/** undefined if there is no archive here */
export const openThere = (dataHome: string): Database | undefined => openCurrent(dataHome, "elsewhere")

/** A new machine has no archive yet, and a target all the same. */
export function isNothingHere(dataHome: string): boolean {
  using db = openThere(dataHome)
  return db === undefined
}
