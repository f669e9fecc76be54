/** `ctxbridge import`: archives the transcripts that are there already. */
import { join } from "node:path"
import { refuseUnwritable } from "../../archive/unwritable.ts"
import { type ImportReport, importTranscripts } from "../../job/import.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import { bytes, count } from "../../util/text.ts"
import { words } from "../args.ts"
import type { Command } from "../command.ts"
import { safe } from "../style.ts"
import { transcriptsNamed } from "../transcripts-named.ts"

const MOST_ERRORS = 20

export default {
  meta: { name: "import", description: "Archive the transcripts that are there already" },
  args: {
    path: {
      type: "positional",
      rest: true,
      description: "Transcripts or folders; by default all of Claude Code's",
      valueHint: "PATH…",
    },
    check: { type: "boolean", description: "Compare every archived byte first; archive anew what differs" },
    "dry-run": { type: "boolean", description: "Say what would be archived; write nothing" },
  },
  run({ args, env, out }) {
    const folder = join(env.claudeDir, "projects")
    const paths = transcriptsNamed(words(args), env, folder)
    if (paths.length === 0) {
      const where = words(args).length === 0 ? folder : words(args).join(", ")
      throw new CtxError("no-transcripts", `no transcripts below ${where}`, {
        hint: "name a folder or .jsonl files, or set CLAUDE_CONFIG_DIR",
        exit: EXIT.notFound,
      })
    }
    if (args["dry-run"] !== true) refuseUnwritable(env.dataHome)
    const report = importTranscripts(env, paths, {
      dryRun: args["dry-run"] === true,
      check: args["check"] === true,
      onProgress: (done, total) => out.progress("archiving", done, total),
    })
    for (const line of render(report)) out.print(line)
    out.json(report)
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function render(report: ImportReport): string[] {
  const { files, takenBytes, turns, dryRun, indexError } = report
  const changed = files.filter(({ taken }) => taken > 0).length
  const waiting = files.filter((file) => file.waiting > 0).length
  const forgotten = files.filter((file) => file.forgotten).length
  const failed = files.filter(({ error }) => error !== undefined)
  const lines = [`${count(files.length, "transcript")} looked at`]
  lines.push(
    takenBytes === 0
      ? `Nothing new${dryRun ? "" : ": the vault held everything already"}`
      : `${dryRun ? "Would commit" : "Committed"} ${bytes(takenBytes)} from ${count(changed, "transcript")}`,
  )
  if (turns !== undefined) lines.push(`Turns in the archive: ${turns.before} before, ${turns.after} now`)
  if (waiting > 0) lines.push(`${count(waiting, "half last line")} left: the host is still writing`)
  if (forgotten > 0) lines.push(`${count(forgotten, "transcript")} left out, as you wanted them forgotten`)
  if (indexError !== undefined)
    lines.push(`The vault took it, but the views could not be opened: ${indexError}`)
  for (const { path, error } of failed.slice(0, MOST_ERRORS))
    lines.push(`failed: ${safe(path)}: ${safe(error ?? "")}`)
  if (failed.length > MOST_ERRORS) lines.push(`and ${failed.length - MOST_ERRORS} more; --json names all`)
  return lines
}
