/** `ctxbridge bench`: what ctxbridge costs on this machine, and what it gives back. */
import { benchHooks } from "../../bench/hooks.ts"
import { FULL, QUICK } from "../../bench/plans.ts"
import { renderReport } from "../../bench/table.ts"
import { childEnvironment } from "../../config/load.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { benchSurvive } from "../bench-survive.ts"
import type { Command, Context } from "../command.ts"

export default {
  meta: { name: "bench", description: "Measure what the hooks cost, and what a restore gives back" },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks|survive",
      description:
        "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary; " +
        "survive: over your compactions, what was needed again after each, and what of it a restore gives back",
    },
    quick: {
      type: "boolean",
      description: "hooks: transcripts of 1 and 15 MB, an empty archive: under a minute",
    },
    rounds: { type: "string", valueHint: "N", description: "hooks: measured calls of each case" },
    session: { type: "string", valueHint: "ID", description: "survive: this session's compactions only" },
    data: {
      type: "string",
      valueHint: "DIR",
      description: "survive: transcripts in this folder, not the vault's",
    },
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
  run(context) {
    const suite = context.args["suite"]
    if (suite === "survive") return benchSurvive(context)
    if (suite === "hooks") return measureHooks(context)
    throw usageError(`unknown suite: ${suite}`, "there are: hooks, survive")
  },
} satisfies Command

async function measureHooks({ args, out, env }: Context): Promise<number> {
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
}
