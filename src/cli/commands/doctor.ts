/** `ctxbridge doctor`: finds what keeps ctxbridge from working here, and what can be done about it. */
import { version } from "../../../package.json"
import { spoolStatus } from "../../archive/spool.ts"
import { variablesSet } from "../../config/load.ts"
import { examine } from "../../doctor/examine.ts"
import type { SpoolCount } from "../../doctor/finding.ts"
import { EXIT } from "../../util/errors.ts"
import type { Command, Environment } from "../command.ts"
import { renderExamination } from "../render-doctor.ts"
import { createStyle } from "../style.ts"

export default {
  meta: {
    name: "doctor",
    description: "Check hooks, settings, archive and host; --fix repairs what is safe",
    badOptions: "own",
  },
  args: {
    fix: { type: "boolean", description: "Repair what can be repaired without asking" },
    "dry-run": { type: "boolean", description: "With --fix: show what would be repaired" },
    deep: { type: "boolean", description: "Check every byte of the vault and the database" },
  },
  async run({ args, env, out }) {
    const dryRun = args["dry-run"] === true
    const patient = {
      ...env,
      version,
      variables: variablesSet(),
      now: Date.now(),
      deep: args["deep"] === true,
      spool: spoolCount(env),
      progress: out.progress,
    }
    const examination = await examine(patient, { fix: args["fix"] === true, dryRun })
    for (const line of renderExamination(examination, dryRun, createStyle(out.color))) {
      out.print(line)
    }
    const { ok, findings, repairs } = examination
    out.json({
      ok,
      dryRun,
      findings: findings.map((one) => ({ ...one, repair: one.repair?.what ?? null })),
      repairs,
    })
    return ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function spoolCount(env: Environment): SpoolCount {
  const places = spoolStatus(env)
  return {
    files: places.reduce((sum, { transcripts }) => sum + transcripts, 0),
    bytes: places.reduce((sum, place) => sum + place.bytes, 0),
  }
}
