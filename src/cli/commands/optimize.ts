/** `ctxbridge optimize`: runs the learning cycle now. The background job does the same when it has nothing else to do. */

import { bytes, count } from "../../base/text.ts"
import { type CycleReport, learningCycle } from "../../job/learning-cycle.ts"
import { renderPairs } from "../block.ts"
import { type Command, flag } from "../command.ts"
import { createStyle, safe } from "../style.ts"

export default {
  meta: {
    name: "optimize",
    description: "Run the learning cycle now",
  },
  args: {
    "dry-run": flag("Show what would be done; write nothing"),
  },
  async run({ args, env, out }) {
    const report = await learningCycle(env, env.config, {
      now: Date.now(),
      dryRun: args["dry-run"] === true,
      onProgress: out.progress,
    })
    out.print(renderPairs(told(report), createStyle(out.color)))
    out.json(report)
  },
} satisfies Command

type Told = readonly (readonly [string, string])[]

function told(report: CycleReport): Told {
  const { dryRun, learns, turns, uses, decay, demotion, retention, back, tiers, embedding } = report
  const mean = decay.meanConfidence === null ? "" : `, confidence ${decay.meanConfidence} in the mean`
  const unreadable = back.unreadable === 0 ? "" : `; ${back.unreadable} cannot be read: ctxbridge verify`
  const leave = dryRun ? "would leave the index" : "left the index"
  const size = demotion.limit === 0 ? "no limit" : `it may hold ${bytes(demotion.limit)} of transcripts`
  const days = retention.days === 0 ? "none for its age" : `after ${count(retention.days, "day")}`
  const found =
    uses.found === null ? "would be looked through" : `looked through, ${count(uses.found, "use")} found`
  const moves: Told = [
    ["demotion", `${count(demotion.moved, "turn")} ${leave}, of ${decay.mayGo} that may; ${size}`],
    ["retention", `${count(retention.moved, "turn")} ${leave}; ${days}`],
    ["back", `${count(back.moved, "turn")} ${dryRun ? "would come back" : "came back"}${unreadable}`],
  ]
  const left = dryRun ? "would be embedded" : `embedded, ${embedding.left} left`
  return [
    ["uses", learns ? `${count(uses.sessions, "session")} ${found}` : "off: learn.enabled"],
    ["decay", `${count(turns, "turn")}, ${decay.used} used${mean}; nothing to write`],
    ...(learns ? moves : [["demotion", "off: learn.enabled"] as const]),
    ["now", `${tiers.hot} hot, ${bytes(tiers.hotBytes)} of transcripts; ${tiers.cold} cold`],
    [
      "embedding",
      embedding.enabled
        ? `${count(embedding.embedded, "turn")} ${left}, by ${safe(embedding.embedder)}`
        : "off: embed.enabled",
    ],
    ["sync", syncTold(report)],
  ]
}

function syncTold({ dryRun, sync: { auto, target, stored, failure } }: CycleReport): string {
  if (auto === "off") return "off: sync.auto"
  if (target === null) return "no target: sync.to"
  if (failure !== null) return safe(failure)
  if (dryRun) return `would go on with ${safe(target)}`
  return stored === null ? "interrupted" : `${count(stored, "turn")} sent to ${safe(target)}`
}
