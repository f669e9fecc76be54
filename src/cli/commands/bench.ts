/** `ctxbridge bench`: what ctxbridge costs on this machine. */
import { benchHooks } from "../../bench/hooks.ts"
import { FULL, QUICK } from "../../bench/plans.ts"
import { renderReport } from "../../bench/table.ts"
import { childEnvironment } from "../../config/load.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { benchTorture } from "../bench-torture.ts"
import type { Command } from "../command.ts"

export default {
  meta: { name: "bench", description: "Measure on this machine what the hooks cost, and what they survive" },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks|torture",
      description:
        "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary; " +
        "torture: kills, full disks, damaged files, and what was lost",
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
  },
  async run(context) {
    const { args, out, env } = context
    const { suite } = args
    if (suite !== "hooks" && suite !== "torture") {
      throw usageError(`unknown suite: ${suite}`, "there are: hooks, torture")
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
