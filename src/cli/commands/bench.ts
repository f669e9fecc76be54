/** `ctxbridge bench`: what ctxbridge costs on this machine. */
import { benchHooks } from "../../bench/hooks.ts"
import { FULL, QUICK } from "../../bench/plans.ts"
import { renderReport } from "../../bench/table.ts"
import { childEnvironment } from "../../config/load.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import type { Command } from "../command.ts"

export default {
  meta: { name: "bench", description: "Measure on this machine what the hooks cost" },
  args: {
    suite: {
      type: "positional",
      required: true,
      valueHint: "hooks",
      description: "hooks: CPU, time and memory of hook calls against `node -e 0` and an empty Bun binary",
    },
    quick: { type: "boolean", description: "Transcripts of 1 and 15 MB, an empty archive: under a minute" },
    rounds: { type: "string", valueHint: "N", description: "Measured calls of each case" },
  },
  async run({ args, out, env }) {
    if (args["suite"] !== "hooks") throw usageError(`unknown suite: ${args["suite"]}`, "there is: hooks")
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
