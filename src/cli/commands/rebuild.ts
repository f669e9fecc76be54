/** `ctxbridge rebuild`: all views anew, from the vault alone. */
import { existsSync } from "node:fs"
import { vaultFolder } from "../../archive/read.ts"
import { type RebuildReport, rebuild } from "../../archive/rebuild.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import { count } from "../../util/text.ts"
import type { Command } from "../command.ts"
import { safe } from "../style.ts"

/** ms to wait for others that have the archive open: the background job, an import. */
const PATIENCE = 120_000

export default {
  meta: { name: "rebuild", description: "Make the database anew from the vault alone" },
  run({ env, out }) {
    if (!existsSync(vaultFolder(env.dataHome))) {
      throw new CtxError("no-archive", `there is no vault in ${env.dataHome}`, {
        hint: "ctxbridge import takes what is there already",
        exit: EXIT.notFound,
      })
    }
    const report = rebuild(env.dataHome, {
      now: Date.now(),
      wait: PATIENCE,
      onProgress: (done, total) => out.progress("reading", done, total),
    })
    for (const line of render(report)) out.print(line)
    const ok = report.unreadable.length === 0
    out.json({ ok, ...report })
    return ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function render({ copies, turns, messages, unreadable, damaged, ms }: RebuildReport): string[] {
  const lines = [
    `${count(turns, "turn")} and ${count(messages, "message")} from ${count(copies, "copy", "copies")} of the vault in ${(ms / 1000).toFixed(1)} s`,
  ]
  if (damaged !== null) lines.push(`The former database was damaged; it is kept as ${safe(damaged)}`)
  for (const { copy, error } of unreadable) lines.push(`not read to its end: ${safe(copy)}: ${safe(error)}`)
  return lines
}
