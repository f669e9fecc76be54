/** `ctxbridge rebuild`: makes all views again from the vault alone. */

import { existsSync } from "node:fs"
import { CtxError, EXIT, messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { join } from "../../base/path.ts"
import { count } from "../../base/text.ts"
import { vaultFile } from "../../vault/layout.ts"
import { type Gap, stretchesFrom } from "../../vault/reader.ts"
import { databasePath } from "../../views/database.ts"
import { open } from "../../views/open.ts"
import { missingIn, type RebuildReport, rebuild } from "../../views/rebuild-views.ts"
import { damageOf, refuseNewer } from "../../views/replace-database.ts"
import { sources } from "../../views/view-sources.ts"
import { type Command, flag } from "../command.ts"
import { safe } from "../style.ts"

/** ms to wait for others that have the archive open, such as the background job or an import. */
const PATIENCE = 120_000

export default {
  meta: { name: "rebuild", description: "Rebuild the database from the vault alone" },
  args: {
    "dry-run": flag("Show what would be read; write nothing"),
  },
  run({ args, env, out }) {
    if (!existsSync(join(env.dataHome, "vault")) && !existsSync(databasePath(env.dataHome))) {
      throw new CtxError("no-archive", `there is no vault in ${env.dataHome}`, {
        hint: "ctxbridge import archives what already exists",
        exit: EXIT.notFound,
      })
    }
    const dryRun = args["dry-run"] === true
    const start = performance.now()
    if (!dryRun) out.resumable("Ctrl-C keeps the present database; ctxbridge rebuild begins again")
    const onProgress = (done: number, total: number): void => out.progress("reading", done, total, "bytes")
    const report: Told = dryRun
      ? {
          ...planRebuild(env.dataHome, onProgress),
          turns: null,
          messages: null,
          ms: Math.round(performance.now() - start),
        }
      : rebuild(env.dataHome, { now: Date.now(), wait: PATIENCE, onProgress })
    out.print(render(report))
    const ok = report.unreadable.length + report.gaps.length + report.missing.length === 0
    out.json({ ok, dryRun, ...report })
    return ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/** The number of turns and messages is unknown until they are made. */
type Told = Omit<RebuildReport, "turns" | "messages"> & Record<"turns" | "messages", number | null>

function render({ copies, turns, messages, unreadable, gaps, missing, damaged, ms }: Told): string[] {
  const from = `${count(copies, "copy", "copies")} in the vault`
  const time = `${(ms / 1000).toFixed(1)} s`
  const lines: string[] = []
  if (turns === null || messages === null) {
    lines.push(`Would rebuild the database from ${from}: read in ${time}`)
    if (damaged !== null) lines.push(`The current database is damaged; a copy of it would be kept beside it`)
  } else {
    lines.push(`${count(turns, "turn")} and ${count(messages, "message")} from ${from} in ${time}`)
    if (damaged !== null) lines.push(`The old database was damaged; it is kept as ${safe(damaged)}`)
  }
  for (const { copy, error } of unreadable) lines.push(`not read to the end: ${safe(copy)}: ${safe(error)}`)
  for (const { copy, from, to, error } of gaps)
    lines.push(`bytes ${from} to ${to} cannot be read, all others are: ${safe(copy)}: ${safe(error)}`)
  for (const one of missing) {
    const kept =
      one.turns > 0
        ? `${count(one.turns, "turn")} of session ${safe(one.session)} ${turns === null ? "would be" : one.turns === 1 ? "is" : "are"} kept as the database had ${one.turns === 1 ? "it" : "them"}`
        : `nothing is left of session ${safe(one.session)}`
    lines.push(`missing in the vault: ${safe(one.copy)}: ${kept}`)
  }
  if (unreadable.length + gaps.length > 0)
    lines.push("`ctxbridge import` mends what Claude Code still has; `ctxbridge verify` says more")
  else if (missing.length > 0) lines.push("`ctxbridge verify` says what is lost")
  return lines
}

/* What `rebuild` would do. Reads the same, and writes nothing. */

/** @throws CtxError `newer-schema`, like `rebuild` */
function planRebuild(
  dataHome: string,
  onProgress?: (done: number, total: number) => void,
): Pick<RebuildReport, "copies" | "unreadable" | "gaps" | "missing" | "damaged"> {
  refuseNewer(databasePath(dataHome))
  const damaged = damageOf(dataHome) === undefined ? null : databasePath(dataHome)
  const all = sources(dataHome)
  const total = all.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const unreadable: { copy: string; error: string }[] = []
  const gaps: { copy: string; from: number; to: number; error: string }[] = []
  for (const { copy, bytes } of all) {
    const error = damageIn(dataHome, copy, (gap) => gaps.push({ copy, ...gap }))
    if (error !== undefined) unreadable.push({ copy, error: messageOf(error) })
    done += bytes
    onProgress?.(done, total)
  }
  const missing = damaged === null ? (readIfThere(dataHome) ?? []) : []
  return { copies: all.length, unreadable, gaps, missing, damaged }
}

/** The views as they are know what they would keep. */
const readIfThere = (dataHome: string): RebuildReport["missing"] | undefined =>
  tryTo(() => {
    using db = open(dataHome, "look")
    return missingIn(db, dataHome)
  })

/** Why a copy cannot be read to its end. */
function damageIn(dataHome: string, copy: string, onGap: (gap: Gap) => void): unknown {
  let expected = 0
  try {
    for (const { from, content } of stretchesFrom(vaultFile(dataHome, copy), 0, (gap) => {
      onGap(gap)
      expected = gap.to
    })) {
      if (from > expected) onGap({ from: expected, to: from, error: "it is not there" })
      expected = from + content.length
    }
    return undefined
  } catch (error) {
    return error
  }
}
