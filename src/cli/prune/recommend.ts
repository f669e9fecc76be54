/** `ctxbridge prune recommend`: the safest way that works for what is installed, why, and the command. */

import { pruneOptions } from "../../pruners/way.ts"
import { PRUNE_WAYS, pickWay, pruneReport } from "../../pruners/ways.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import type { Context } from "../command.ts"
import { renderRecommendation } from "../render-prune.ts"

export async function pruneRecommend({ env, out }: Context): Promise<number> {
  const report = await pruneReport(env, pruneOptions(env.config))
  const [first] = report.clients
  if (first === undefined)
    throw new CtxError("not-found", "Claude Code was not found: no `claude` on PATH or in the usual places", {
      exit: EXIT.notFound,
      hint: "if it is elsewhere, ctxbridge prune proxy still works",
    })
  const found = report.clients.map((client) => ({ client, picked: pickWay(client) }))
  for (const one of found) out.print(renderRecommendation(report, one.client, one.picked))
  out.json({
    isArchiving: report.isArchiving,
    clients: found.map(({ client: { ways: _, ...client }, picked }) => ({
      ...client,
      recommended: picked ?? null,
      command: PRUNE_WAYS.find(({ name }) => name === picked?.way)?.start ?? null,
    })),
  })
  return found[0]!.picked === undefined ? EXIT.failed : EXIT.ok
}
