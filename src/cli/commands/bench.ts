/** `ctxbridge bench`: what ctxbridge costs on this machine, how well it finds, and what it gives back. */
import { tmpdir } from "node:os"
import { resolve } from "node:path"
import { benchHooks } from "../../bench/hooks.ts"
import { FULL, QUICK } from "../../bench/plans.ts"
import { benchRecall } from "../../bench/recall/run.ts"
import { renderReport } from "../../bench/table.ts"
import { childEnvironment } from "../../config/load.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { stringArg } from "../args.ts"
import { benchSurvive } from "../bench-survive.ts"
import { benchTorture } from "../bench-torture.ts"
import type { Command, Context } from "../command.ts"
import { renderRecall } from "../render-recall.ts"
import { createStyle } from "../style.ts"

export default {
  meta: {
    name: "bench",
    description: "Measure what the hooks cost, what they survive, what is found and given back",
  },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks|torture|recall|survive",
      description:
        "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary; " +
        "torture: kills, full disks, damaged files, and what was lost; " +
        "recall: how much of what answers a question a search shows; " +
        "survive: over your compactions, what was needed again after each, and what of it a restore gives back",
    },
    data: {
      type: "string",
      valueHint: "DIR",
      description:
        "recall: transcripts with their questions (*.gold.json), or transcripts alone; " +
        "survive: these transcripts, not the vault's",
    },
    quick: {
      type: "boolean",
      description: "hooks: 1 and 15 MB, an empty archive; torture: fewer runs. Under a minute",
    },
    rounds: { type: "string", valueHint: "N", description: "hooks: measured calls of each case" },
    seed: { type: "string", valueHint: "N", description: "torture: other moments (1)" },
    only: { type: "string", valueHint: "CASE", description: "torture: only cases with this in their name" },
    enclosed: {
      type: "boolean",
      description: "torture: mount file systems here, in no namespace of its own",
    },
    session: { type: "string", valueHint: "ID", description: "survive: this session's compactions only" },
    budget: {
      type: "string",
      valueHint: "N",
      description: "survive: characters of a restore (restore.budget)",
    },
    window: {
      type: "string",
      valueHint: "N",
      description: "survive: steps of the model that are looked at (30)",
    },
  },
  async run(context) {
    const { args, out, env } = context
    const { suite } = args
    if (suite === "recall") return recall(context)
    if (suite === "survive") return benchSurvive(context)
    if (suite !== "hooks" && suite !== "torture") {
      throw usageError(`unknown suite: ${suite}`, "there are: hooks, torture, recall, survive")
    }
    if (!Bun.isStandaloneExecutable) {
      throw new CtxError("not-compiled", "only the compiled binary can be measured", {
        hint: "npm run build",
      })
    }
    if (suite === "torture") return benchTorture(context)
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
