/** `ctxbridge compact`: merges the vault's small frames. The background job does the same for the worst cases. */
import { CtxError, EXIT } from "../../base/errors.ts"
import { bytes, count } from "../../base/text.ts"
import { type MergeReport, mergeFrames } from "../../vault/merge-frames.ts"
import { type Command, flag } from "../command.ts"
import { safe } from "../style.ts"

export default {
  meta: { name: "compact", description: "Merge the vault's small frames to save space" },
  args: {
    "dry-run": flag("Show what would be merged; write nothing"),
  },
  run({ args, env, out }) {
    out.resumable("Ctrl-C keeps what is merged; ctxbridge compact continues")
    const report = mergeFrames(env.dataHome, {
      dryRun: args["dry-run"] === true,
      onProgress: (done, total) => out.progress("merging", done, total, "bytes"),
    })
    if (report === undefined) {
      throw new CtxError("busy", "another process is merging", { hint: "try again when it is done" })
    }
    out.print(render(report))
    out.json(report)
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function render({ dryRun, copies, before, after, changed }: MergeReport): string[] {
  const done = changed.filter(({ error }) => error === undefined)
  const frames = done.reduce((sum, one) => sum + one.frames, 0)
  const merged = done.reduce((sum, one) => sum + one.merged, 0)
  const lines = [`${count(copies, "copy", "copies")} examined, ${bytes(before)}`]
  if (done.length === 0) lines.push("Nothing to merge")
  else if (dryRun) lines.push(`Would merge ${frames} frames of ${done.length} into ${merged}`)
  else {
    lines.push(
      `Merged ${frames} frames of ${done.length} into ${merged}: ${bytes(before)} before, ${bytes(after)} now`,
    )
  }
  for (const { copy, error } of changed)
    if (error !== undefined) lines.push(`left: ${safe(copy)}: ${safe(error)}`)
  return lines
}
