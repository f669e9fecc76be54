/** Excluded folders: whether they exist, and which of their sessions the archive has from before. */
import { existsSync } from "node:fs"
import { absolutePattern, isExcludedFolder } from "../archive/excluded.ts"
import { openForReading } from "../archive/open-for-reading.ts"
import { literalStart } from "../util/globs.ts"
import { count } from "../util/text.ts"
import { type Finding, finding, type Patient, SHOWN } from "./finding.ts"

export function excludedChecks(patient: Patient): Finding[] {
  const { exclude, home } = patient
  if (exclude.length === 0) return []
  const all = finding("excluded", "ok", `sessions of ${count(exclude.length, "folder")} are not archived`, {
    details: exclude.slice(0, SHOWN),
  })
  const gone = exclude.filter((pattern) => !existsSync(literalStart(absolutePattern(pattern, home))))
  return [all, ...(gone.length > 0 ? [notThere(gone)] : []), ...fromBefore(patient)]
}

const notThere = (gone: readonly string[]): Finding =>
  finding("excluded", "warn", `there is no such folder: ${gone[0]}`, {
    hint: "ctxbridge config get capture.exclude; a name that is mistyped excludes nothing",
    details: gone.slice(1, 1 + SHOWN),
  })

function fromBefore(patient: Patient): Finding[] {
  if (!existsSync(patient.dataHome)) return []
  const held = sessionsIn(patient.dataHome).filter(
    ({ cwd }) => cwd !== null && isExcludedFolder(patient, cwd),
  )
  if (held.length === 0) return []
  const text = `${count(held.length, "session")} of these folders stay in the archive, from before`
  return [
    finding("excluded", "warn", text, {
      hint: `ctxbridge forget ${held[0]!.id} takes one out`,
      details: held.slice(0, SHOWN).map(({ id }) => id),
    }),
  ]
}

function sessionsIn(dataHome: string): readonly { id: string; cwd: string | null }[] {
  try {
    const db = openForReading(dataHome)
    try {
      return db
        .query<{ id: string; cwd: string | null }, []>(
          "SELECT id, cwd FROM sessions WHERE parent IS NULL ORDER BY started DESC",
        )
        .all()
    } finally {
      db.close()
    }
  } catch {
    // Another check reports a database that cannot be read.
    return []
  }
}
