/** `ctxbridge bench survive`: what a compaction lost that was needed later, and what the restore gives back. */
import { statSync } from "node:fs"
import { type CompactionResult, inFolder, inVault, survive } from "../bench/survive/replay.ts"
import { renderSurvive, reportOf } from "../bench/survive/survive-report.ts"
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import { resolve } from "../util/path.ts"
import { untilHeard } from "../util/temporary.ts"
import { positive, stringArg } from "./args.ts"
import type { Context } from "./command.ts"
import { safe } from "./style.ts"

/** Number of the model's steps after a compaction. Whatever they use again counts as needed. */
const WINDOW = 30

export async function benchSurvive({ args, env, out }: Context): Promise<number> {
  const options = {
    budget: positive(args, "budget") ?? env.config["restore.budget"],
    window: positive(args, "window") ?? WINDOW,
  }
  const folder = stringArg(args, "data")
  const wanted = stringArg(args, "session")
  if (folder !== undefined && !statSync(resolve(env.cwd, folder), { throwIfNoEntry: false })?.isDirectory()) {
    throw usageError(`no such folder: ${folder}`)
  }
  const all = folder === undefined ? inVault(env.dataHome) : inFolder(resolve(env.cwd, folder))
  const sources = all.filter(({ session }) => wanted === undefined || session.startsWith(wanted))
  const found: CompactionResult[] = []
  const known = new Set<string>()
  for (const [n, source] of sources.entries()) {
    out.progress("transcripts", n, sources.length)
    for (const one of survive(source, options, known)) {
      found.push(one)
      await untilHeard()
    }
  }
  out.progress("transcripts", sources.length, sources.length)
  if (found.length === 0) {
    throw new CtxError("no-compactions", "no compaction after which the model went on", {
      hint: "--data DIR looks at transcripts in a folder; ctxbridge import archives Claude Code's",
      exit: EXIT.notFound,
    })
  }
  const report = reportOf(found, options)
  for (const line of renderSurvive(report)) out.print(safe(line))
  out.json(report)
  return EXIT.ok
}
