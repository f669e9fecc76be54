/** `ctxbridge verify`: checks that every byte of every transcript is in the vault. */
import { claudeCode } from "../../agents/claude-code/claude-code.ts"
import { type Backlog, backlog } from "../../archive/backlog.ts"
import { forgottenTranscript } from "../../archive/capture-transcript.ts"
import { isExcluded } from "../../archive/excluded.ts"
import { besideTranscript } from "../../archive/files-beside.ts"
import { readIfPossible } from "../../archive/open-for-reading.ts"
import { EXIT } from "../../util/errors.ts"
import { bytes, count } from "../../util/text.ts"
import { isFine, type Verified, type VerifyReport, verify } from "../../vault/verify-vault.ts"
import { words } from "../args.ts"
import type { Command } from "../command.ts"
import { createStyle, type Style, safe } from "../style.ts"
import { besideWords, transcriptsNamed } from "../transcripts-named.ts"

export default {
  meta: { name: "verify", description: "Prove that every byte of every transcript is in the vault" },
  args: {
    path: {
      type: "positional",
      rest: true,
      description: "Transcripts or folders to compare with the vault; by default all of Claude Code's",
      valueHint: "PATH…",
    },
  },
  run({ args, env, out }) {
    const named = words(args)
    const found = transcriptsNamed(named, env, claudeCode.places.transcripts(env.claudeDir))
    const transcripts = [...found, ...found.flatMap(besideTranscript)]
    const report = verify({
      dataHome: env.dataHome,
      home: env.home,
      transcripts,
      forgotten: (path) => forgottenTranscript(env.dataHome, path),
      excluded: (path) => isExcluded(env, path),
      onProgress: (done, total) => out.progress("verifying", done, total, "bytes"),
    })
    // The vault is sound without them.
    const views = readIfPossible(env.dataHome, (db) => backlog(db).views)
    out.print(renderVerify(report, views, createStyle(out.color)))
    out.json({ ok: report.ok, transcripts: report.transcripts, totals: report.totals, views: views ?? null })
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

const MOST = 20

const ADVICE: Readonly<Record<string, string>> = {
  missing: "`ctxbridge import` archives what is missing",
  unreadable: "these may or may not be archived; check their owner and mode",
  mismatch: "these were rewritten; `ctxbridge import --check` archives them again and keeps the old copies",
  damaged:
    "`ctxbridge import --check` archives again what still exists; then move the damaged copies out of the vault",
}

function renderVerify(report: VerifyReport, views: Backlog["views"] | undefined, style: Style): string[] {
  const { totals } = report
  const lines = [
    `${count(totals.transcripts, "transcript")}${besideWords(totals.filesBeside)}, ${bytes(totals.archivedBytes)} in ${count(totals.frames, "frame")} ` +
      `of ${totals.copies} ${totals.copies === 1 ? "copy" : "copies"}, each frame checked against its SHA-256`,
    ...stateLines(report),
  ]
  for (const state of ["damaged", "mismatch", "missing", "unreadable"] as const) {
    const bad = report.transcripts.filter((one) => one.state === state)
    if (bad.length === 0) continue
    lines.push("", style.red(`${state}:`), ...bad.slice(0, MOST).flatMap(problemLines))
    if (bad.length > MOST) lines.push(`  and ${bad.length - MOST} more; --json lists all`)
    lines.push(`  ${ADVICE[state]}`)
  }
  const { unfiltered, olderRules } = totals
  if (unfiltered + olderRules > 0) {
    lines.push(
      "",
      `${count(unfiltered + olderRules, "frame")} archived without the secrets filter, or with older rules: \`ctxbridge redact\` checks them.`,
    )
  }
  if (views === undefined) lines.push("", "The database (archive.db) cannot be read or does not exist yet.")
  else if (views.bytes > 0) {
    lines.push(
      "",
      `The database is ${bytes(views.bytes)} behind, in ${count(views.transcripts, "transcript")}.`,
    )
  }
  lines.push("", verdict(report, style))
  return lines
}

function stateLines({ totals }: VerifyReport): string[] {
  const lines: readonly (readonly [number, string])[] = [
    [totals.complete, "complete"],
    [
      totals.waiting,
      `complete but for a last line that is still being written (${totals.waitingBytes} bytes)`,
    ],
    [totals.deleted, "deleted from the disk and safe in the vault"],
    [totals.superseded, "kept from before Claude Code rewrote a transcript"],
    [totals.twin, "second copies, made under another home folder"],
    [totals.imported, "made from another tool's archive"],
    [totals.summary, "summaries that a model wrote"],
    [totals.forgotten, "forgotten at your request (`ctxbridge forget --list`)"],
    [totals.excluded, "of folders in capture.exclude"],
    [totals.missing, `with bytes that are not archived yet (${bytes(totals.missingBytes)})`],
    [totals.unreadable, "that cannot be read"],
    [totals.mismatch, "rewritten by Claude Code since"],
    [totals.damaged, "damaged in the vault"],
  ]
  return lines.filter(([n]) => n > 0).map(([n, text]) => `${String(n).padStart(7)} ${text}`)
}

function problemLines(one: Verified): string[] {
  const name = safe(one.path === "" ? (one.copy ?? "") : one.path)
  const missing = one.missing > 0 ? [`${bytes(one.missing)} of ${bytes(one.size)} not archived`] : []
  return [`  ${name}`, ...[...one.problems, ...missing].map((text) => `    ${safe(text)}`)]
}

function verdict({ ok, transcripts, totals }: VerifyReport, style: Style): string {
  if (transcripts.length === 0) return "Nothing to verify: no transcript on disk, none in the vault."
  if (ok)
    return style.green(
      `All good: every archived byte was checked${totals.bytes > 0 ? ", nothing is missing" : ""}.`,
    )
  const bad = transcripts.filter((one) => !isFine(one)).length
  return style.red(`Problems found: ${bad} of ${count(transcripts.length, "transcript")}.`)
}
