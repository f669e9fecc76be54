/** `ctxbridge prune status`: installed programs, what works for each, what is at work, what it would save and risk. */
import { pruneOptions } from "../../pruners/way.ts"
import { PRUNE_WAYS, pruneReport } from "../../pruners/ways.ts"
import type { Context } from "../command.ts"
import { renderPruneReport } from "../render-prune.ts"
import { screenOf } from "../screen.ts"

export async function pruneStatus({ env, out }: Context): Promise<void> {
  const report = await pruneReport(env, pruneOptions(env.config))
  out.print(renderPruneReport(report, screenOf(out)))
  const ways = PRUNE_WAYS.map(({ name, what, risk, start, stop }) => ({ name, what, risk, start, stop }))
  out.json({ ...report, ways })
}
