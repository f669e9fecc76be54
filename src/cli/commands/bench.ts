/** `ctxbridge bench`: what ctxbridge costs on this machine, what it survives, what it gives back, and what pruning saves. */

import { CtxError, EXIT } from "../../base/errors.ts"
import { childEnvironment } from "../../config/load.ts"
import { positive, unknownWord } from "../args.ts"
import { benchHooks, FULL_PLAN, QUICK_PLAN } from "../bench/bench-hooks.ts"
import { renderReport } from "../bench/hook-tables.ts"
import { benchPrune, benchSurvive, benchTorture } from "../bench-torture.ts"
import { type Command, flag, naming, option } from "../command.ts"

const SUITES = ["hooks", "torture", "survive", "prune"]

export default {
  meta: {
    name: "bench",
    description: "Measure what hooks cost and what compactions lose",
  },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks|torture|survive|prune",
      description:
        "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary; " +
        "torture: kills, full disks, damaged files, and what was lost; " +
        "survive: what was needed again after each of your compactions, and how much of it a restore brings back; " +
        "prune: what each way of pruning would have cost, over a simulated session and your own largest",
    },
    data: option("survive: these transcripts, not the vault's", "DIR"),
    quick: flag(
      "hooks: 1 and 15 MB, an empty archive; torture: fewer runs; prune: one of your sessions. Under a minute",
    ),
    rounds: option("hooks: measured calls per case", "N"),
    seed: option("torture: choose other moments (1)", "N"),
    only: option("torture: only cases with this in their name", "CASE"),
    enclosed: flag("torture: mount file systems here, not in a namespace of their own"),
    session: naming("session", "survive: this session's compactions only", "ID"),
    budget: option("survive: characters of a restore (restore.budget)", "N"),
    window: option("survive: steps of the model to look at (30)", "N"),
  },
  async run(context) {
    const { args, out, env } = context
    const { suite } = args
    if (suite === "survive") return benchSurvive(context)
    if (suite === "prune") return benchPrune(context)
    if (suite !== "hooks" && suite !== "torture") {
      throw unknownWord("suite", String(suite), SUITES)
    }
    if (!Bun.isStandaloneExecutable) {
      throw new CtxError("not-compiled", "only the compiled binary can be measured", {
        hint: "npm run build",
      })
    }
    if (suite === "torture") {
      if (process.platform === "win32")
        throw new CtxError("wrong-system", "bench torture does not run on Windows", {
          hint: "it kills processes with signals and fills file systems: run it on Linux, macOS or in WSL 2",
        })
      return benchTorture(context)
    }
    const plan = args["quick"] === true ? QUICK_PLAN : FULL_PLAN
    const environment = childEnvironment()
    const report = await benchHooks({
      ...plan,
      rounds: positive(args, "rounds") ?? plan.rounds,
      exe: env.exePath,
      environment,
      onProgress: out.progress,
    })
    out.print(renderReport(report))
    out.json(report)
    return report.verdicts.every(({ met }) => met) ? EXIT.ok : EXIT.failed
  },
} satisfies Command
