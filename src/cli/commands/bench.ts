/** `ctxbridge bench`: what ctxbridge costs on this machine, and how well it finds. */
import { tmpdir } from "node:os"
import { resolve } from "node:path"
import { benchHooks } from "../../bench/hooks.ts"
import { FULL, QUICK } from "../../bench/plans.ts"
import { benchRecall } from "../../bench/recall/run.ts"
import { renderReport } from "../../bench/table.ts"
import { childEnvironment } from "../../config/load.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { stringArg } from "../args.ts"
import type { Command, Context } from "../command.ts"
import { renderRecall } from "../render-recall.ts"
import { createStyle } from "../style.ts"

export default {
  meta: {
    name: "bench",
    description: "Measure on this machine what the hooks cost, or how well a search finds",
  },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks|recall",
      description:
        "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary; recall: how much of what answers a question a search shows",
    },
    data: {
      type: "string",
      valueHint: "DIR",
      description: "recall: transcripts with their questions (*.gold.json), or transcripts alone",
    },
    quick: { type: "boolean", description: "Transcripts of 1 and 15 MB, an empty archive: under a minute" },
    rounds: { type: "string", valueHint: "N", description: "Measured calls of each case" },
  },
  async run(context) {
    const { args, out, env } = context
    if (args["suite"] === "recall") return recall(context)
    if (args["suite"] !== "hooks") {
      throw usageError(`unknown suite: ${args["suite"]}`, "there are: hooks, recall")
    }
    if (!Bun.isStandaloneExecutable) {
      throw new CtxError("not-compiled", "only the compiled binary can be measured", {
        hint: "npm run build",
      })
    }
    const plan = args["quick"] === true ? QUICK : FULL
    const rounds = args["rounds"] === undefined ? plan.rounds : Number(args["rounds"])
    if (!Number.isInteger(rounds) || rounds < 1) throw usageError("--rounds needs a whole number from 1 on")
    const environment = childEnvironment()
    const report = await benchHooks({
      ...plan,
      rounds,
      exe: env.exePath,
      environment,
      onProgress: out.progress,
    })
    for (const line of renderReport(report)) out.print(line)
    out.json(report)
    return report.verdicts.every(({ met }) => met) ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function recall({ args, out, env }: Context): number {
  const data = stringArg(args, "data")
  if (data === undefined) throw usageError("bench recall needs --data DIR", "ctxbridge bench --help")
  const report = benchRecall({
    folder: resolve(env.cwd, data),
    temp: tmpdir(),
    onProgress: out.progress,
  })
  for (const line of renderRecall(report, out.columns, createStyle(out.color))) out.print(line)
  out.json(report)
  return EXIT.ok
}
