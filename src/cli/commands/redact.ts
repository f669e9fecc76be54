/** `ctxbridge redact`: removes secrets that were archived before the filter knew them. */
import { existsSync } from "node:fs"
import { CtxError, EXIT } from "../../base/errors.ts"
import { bytes, count } from "../../base/text.ts"
import { fillKnown } from "../../job/fill-known.ts"
import { type RedactReport, redactArchive } from "../../job/redact-archive.ts"
import { type Command, flag } from "../command.ts"
import { safe } from "../style.ts"

/** ms to wait for others that have the archive open. */
const PATIENCE = 120_000

export default {
  meta: { name: "redact", description: "Overwrite secrets in what is already archived" },
  args: {
    rescan: flag("Search everything, even what the current rules have filtered: needed after a new pattern"),
    "dry-run": flag("Show what would be overwritten; write nothing"),
  },
  run({ args, env, out }) {
    if (!existsSync(env.dataHome)) {
      throw new CtxError("no-archive", `there is no archive in ${env.dataHome}`, {
        hint: "ctxbridge import archives what already exists",
        exit: EXIT.notFound,
      })
    }
    const rescan = args["rescan"] === true
    out.resumable("Ctrl-C keeps what is overwritten; run it again to search the rest")
    const report = redactArchive(env, {
      dryRun: args["dry-run"] === true,
      rescan,
      now: Date.now(),
      wait: PATIENCE,
      onProgress: (done, total) => out.progress("looking", done, total, "bytes"),
    })
    // What was found now may occur elsewhere in its session.
    const knownBytes = report.dryRun ? 0 : fillKnown(env, PATIENCE)
    out.print(render(report, rescan))
    if (knownBytes > 0) out.print(`Overwrote ${bytes(knownBytes)} of the same elsewhere in their sessions`)
    out.json({ ...report, knownBytes })
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function render(report: RedactReport, rescan: boolean): string[] {
  const { dryRun, copies, changed, filledBytes, restores, files, damagedDatabases } = report
  const found = changed.filter(({ filled }) => filled > 0).length
  const lines = [
    copies === 0 && report.ok && !rescan
      ? "No copy needs a search: the present rules have filtered them all; --rescan searches them anyway"
      : `${count(copies, "copy", "copies")} in the vault searched`,
  ]
  const done = dryRun ? "Would overwrite" : "Overwrote"
  if (found > 0) lines.push(`${done} ${bytes(filledBytes)} in ${count(found, "copy", "copies")}`)
  if (restores > 0) lines.push(`${done} secrets in ${count(restores, "restore")}`)
  if (files > 0) lines.push(`${done} secrets in ${count(files, "state file")}`)
  if (damagedDatabases > 0) {
    lines.push(
      `${dryRun ? "Would delete" : "Deleted"} ${count(damagedDatabases, "file")} of damaged databases`,
    )
  }
  if (report.rebuilt) lines.push("Rebuilt the views")
  if (found + restores + files === 0 && !report.rebuilt) lines.push("Nothing to overwrite")
  for (const { copy, error } of changed) {
    if (error !== undefined) lines.push(`not searched: ${safe(copy)}: ${safe(error)}`)
  }
  return lines
}
