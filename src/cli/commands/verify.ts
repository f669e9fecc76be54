/** `ctxbridge verify`: checks that every byte of every transcript is in the vault. */

import { transcriptFolders } from "../../agents/agents.ts"
import { isMade } from "../../agents/layouts.ts"
import { EXIT } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { bytes, count } from "../../base/text.ts"
import { takeMade } from "../../job/import/made.ts"
import { sizeOf } from "../../job/import-file.ts"
import { forgottenTranscript } from "../../vault/capture.ts"
import { acceptLosses } from "../../vault/copy-list.ts"
import { besideTranscript } from "../../vault/files-beside.ts"
import { findLosses, type KnownCopy } from "../../vault/lost-copies.ts"
import type { Forgotten } from "../../vault/tombstones.ts"
import { isFine, type Verified, type VerifyReport, verify } from "../../vault/verify-vault.ts"
import { type Backlog, backlog } from "../../views/backlog.ts"
import { isExcluded } from "../../views/excluded.ts"
import { doubtVault } from "../../views/list-vault.ts"
import { openCurrent } from "../../views/open-current.ts"
import { knownCopies } from "../../views/transcript-rows.ts"
import { words } from "../args.ts"
import { type Command, type Environment, flag } from "../command.ts"
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
    "accept-loss": flag("Stop reporting what is lost for good; what is left of it stays"),
  },
  run({ args, env, out }) {
    const named = words(args)
    const found = transcriptsNamed(named, env, transcriptFolders(env))
    const transcripts = [...found, ...found.flatMap(besideTranscript)]
    // The vault is sound without them, but they may know of copies that are gone.
    const views = tryTo(() => {
      using db = openCurrent(env.dataHome, "command")
      return { behind: backlog(db).views, known: knownCopies(db) }
    })
    const forgotten = (path: string): Forgotten | undefined => forgottenTranscript(env.dataHome, path)
    const known = views?.known ?? []
    if (args["accept-loss"] === true) {
      const { lost } = findLosses({ dataHome: env.dataHome, known, forgotten })
      if (lost.length > 0)
        acceptLosses(
          env.dataHome,
          lost.map(({ id }) => id),
        )
      out.print(`${count(lost.length, "lost copy", "lost copies")} will not be reported again`)
    }
    const report = verify({
      dataHome: env.dataHome,
      home: env.home,
      transcripts,
      forgotten,
      excluded: (path) => isLeftOut(env, path),
      stored: (path) => storedRemainder(env, path),
      known,
      onProgress: (done, total) => out.progress("verifying", done, total, "bytes"),
    })
    const damaged = report.transcripts.filter(({ state }) => state === "damaged")
    doubtVault(
      env.dataHome,
      damaged.flatMap(({ copy }) => copy ?? []),
    )
    const behind = views && behindVault(views, report)
    out.print(renderVerify(report, behind, createStyle(out.color)))
    out.json({ ...report, views: behind ?? null })
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/** The database does not know of copies whose indexing has not even begun. */
function behindVault(
  { behind, known }: { readonly behind: Backlog["views"]; readonly known: readonly KnownCopy[] },
  report: VerifyReport,
): Backlog["views"] {
  const copies = new Set(known.map(({ copy }) => copy))
  const unknown = report.transcripts.filter(
    ({ copy, state, archived }) =>
      copy !== undefined && !copies.has(copy) && archived > 0 && state !== "damaged" && state !== "lost",
  )
  return {
    transcripts: behind.transcripts + unknown.length,
    bytes: unknown.reduce((sum, { archived }) => sum + archived, behind.bytes),
  }
}

/** What a transcript is made of says what folder it is of. */
const isLeftOut = (env: Environment, path: string): boolean =>
  isMade(path)
    ? env.exclude.length > 0 &&
      tryTo(() => takeMade(env, path, { now: Date.now(), dryRun: true }))?.isExcluded === true
    : isExcluded(env, path)

/** What the vault lacks of a session that is no transcript. */
function storedRemainder(env: Environment, path: string) {
  if (!isMade(path)) return undefined
  const made = tryTo(() => takeMade(env, path, { now: Date.now(), isWhole: true, dryRun: true }))
  // What cannot be read may hold anything: an import says why.
  if (made === undefined) return { size: sizeOf(path), missing: sizeOf(path), waiting: 0, problems: [] }
  const { captured, altered } = made
  if (captured.state === "missing") return undefined
  const { taken: missing, archived } = captured
  const problems = altered === 0 ? [] : [`${count(altered, "line")} not as they were read`]
  return { size: archived + missing, missing, waiting: 0, problems }
}

const MOST = 20

const ADVICE: Readonly<Record<string, string>> = {
  lost: "restore the data folder's vault/ from a backup; `ctxbridge verify --accept-loss` gives up on them",
  missing: "`ctxbridge import` archives what is missing",
  unreadable: "these may or may not be archived; check their owner and mode",
  mismatch: "these were rewritten; `ctxbridge import --check` archives them again and keeps the old copies",
  damaged:
    "`ctxbridge import` mends what Claude Code still has; restore the others from a backup, or move them out of the vault",
}

function renderVerify(report: VerifyReport, views: Backlog["views"] | undefined, style: Style): string[] {
  const { totals } = report
  const lines = [
    `${count(totals.transcripts, "transcript")}${besideWords(totals.filesBeside)}, ${bytes(totals.archivedBytes)} in ${count(totals.frames, "frame")} ` +
      `of ${totals.copies} ${totals.copies === 1 ? "copy" : "copies"}, each frame checked against its SHA-256`,
    ...stateLines(report),
  ]
  for (const state of ["lost", "damaged", "mismatch", "missing", "unreadable"] as const) {
    const bad = report.transcripts.filter((one) => one.state === state)
    if (bad.length === 0) continue
    lines.push("", style.red(`${state}:`), ...bad.slice(0, MOST).flatMap(problemLines))
    if (bad.length > MOST) lines.push(`  and ${bad.length - MOST} more; --json lists all`)
    lines.push(`  ${ADVICE[state]}`)
  }
  if (report.listDamaged > 0) {
    lines.push(
      "",
      `${count(report.listDamaged, "line")} of the vault's list of copies cannot be read; what they said is unknown.`,
    )
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
      `The database is ${bytes(views.bytes)} behind, in ${count(views.transcripts, "transcript")}: \`ctxbridge rebuild\` brings it up to date.`,
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
    [totals.lost, `archived once, and lost (${bytes(totals.lostBytes)})`],
  ]
  return lines.filter(([n]) => n > 0).map(([n, text]) => `${String(n).padStart(7)} ${text}`)
}

function problemLines(one: Verified): string[] {
  const name = safe(one.path === "" ? (one.copy ?? "") : one.path)
  const isMissing = one.missing > 0 && one.state !== "lost"
  const missing = isMissing ? [`${bytes(one.missing)} of ${bytes(one.size)} not archived`] : []
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
