/** The vault: checks the beginning and end of each copy or, on request, every byte. */

import { closeSync, existsSync, fstatSync } from "node:fs"
import { promptHistories } from "../../agents/agents.ts"
import { CtxError, messageOf } from "../../base/errors.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { MINUTE } from "../../base/local-time.ts"
import { bytes, count } from "../../base/text.ts"
import { transcriptsBelow } from "../../job/find-transcripts.ts"
import { importTranscripts } from "../../job/import-transcripts.ts"
import { forgottenTranscript } from "../../vault/capture.ts"
import { checkCopy } from "../../vault/check-copy.ts"
import { holdsNothing, readTail } from "../../vault/copy-file.ts"
import { isUntouched, readList } from "../../vault/copy-list.ts"
import { besideTranscript } from "../../vault/files-beside.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { findLosses } from "../../vault/lost-copies.ts"
import { moveAside, removeBegun } from "../../vault/mend-copy.ts"
import { isBegunOnly, openCopy } from "../../vault/reader.ts"
import type { Forgotten } from "../../vault/tombstones.ts"
import type { VaultFile } from "../../vault/vault-files.ts"
import { isFine, verify } from "../../vault/verify-vault.ts"
import { open } from "../../views/open.ts"
import { knownCopies } from "../../views/transcript-rows.ts"
import { type Finding, finding, type Patient, type Repair, repairEach, SHOWN } from "./finding.ts"
import { projectsOf } from "./registration-checks.ts"
import { inventoryOf, newestOf } from "./transcript-checks.ts"

export function vaultChecks(patient: Patient): Finding[] {
  const files = inventoryOf(patient).copies()
  const others = [...strangers(patient), ...losses(patient)]
  if (files.length === 0 && others.length === 0)
    return [finding("vault", "skipped", "nothing is archived yet")]
  return [patient.deep ? everyByte(patient) : bothEnds(patient, files), ...others, ...begun(patient, files)]
}

/** What was archived once and is not in the vault: only what Claude Code still has can be brought back. */
function losses(patient: Patient): Finding[] {
  const { dataHome } = patient
  const known =
    tryTo(() => {
      using db = open(dataHome, "check")
      return knownCopies(db)
    }) ?? []
  const forgotten = (path: string): Forgotten | undefined => forgottenTranscript(dataHome, path)
  const { lost, restorable, changed, damagedLines } = findLosses({ dataHome, known, forgotten })
  const found: Finding[] = []
  // Those that are damaged are told of as such.
  const gone = restorable.filter(({ copy }) => faultOf(vaultFile(dataHome, copy)) === undefined)
  if (gone.length > 0) {
    const faults = gone.map(({ copy, session }) => ({ copy, text: `session ${session}` }))
    const text = `gone or cut, and Claude Code still has the transcript: ${count(faults.length, "copy", "copies")}`
    found.push(faulty(patient, faults, text))
  }
  if (changed.length > 0) {
    const faults = changed.map(({ copy }) => ({ copy, text: "its header is not what it was" }))
    found.push(faulty(patient, faults, `damaged at the beginning: ${count(faults.length, "copy", "copies")}`))
  }
  if (lost.length > 0) {
    const lines = lost.map(({ session, to, left }) => {
      const what = left === undefined ? "its copy is gone" : `its copy ends at byte ${left.to}`
      return `session ${session}: ${what}; ${to} bytes were archived`
    })
    found.push(
      finding("vault", "fail", `archived once, and lost: ${count(lost.length, "copy", "copies")}`, {
        hint: "restore the data folder's vault/ from a backup; ctxbridge verify --accept-loss gives up on them",
        details: lines.slice(0, SHOWN),
      }),
    )
  }
  if (damagedLines > 0) {
    const text = `the list of copies has ${count(damagedLines, "line")} that cannot be read`
    found.push(finding("vault", "warn", text, { details: ["what they said is unknown"] }))
  }
  return found
}

/** Folders and the like where copies should be: hooks cannot write there. */
function strangers(patient: Patient): Finding[] {
  const { dataHome } = patient
  const found = inventoryOf(patient).noFiles()
  if (found.length === 0) return []
  const text = `something else in the place of a file: ${count(found.length, "copy", "copies")}`
  return [
    finding("vault", "fail", text, {
      hint: "ctxbridge doctor --fix moves them aside; then hooks and ctxbridge import can archive there",
      details: found.slice(0, SHOWN),
      repair: repairEach("move aside what is not a file", found, (copy) =>
        moveAside(vaultFile(dataHome, copy)),
      ),
    }),
  ]
}

/** A killed hook may leave a copy without a header. The next hook of the session writes it, if there is one. */
function begun({ dataHome, now }: Patient, files: readonly VaultFile[]): Finding[] {
  const newest = new Set(newestOf(files))
  const found = files
    .filter((one) => newest.has(one) || one.bytes === 0)
    .map(({ copy }) => vaultFile(dataHome, copy))
    .filter((file) => isBegunOnly(file) && now - (statsOf(file)?.mtimeMs ?? now) > MINUTE)
  if (found.length === 0) return []
  return [
    finding("vault", "warn", `empty: ${count(found.length, "copy", "copies")}`, {
      details: found.slice(0, SHOWN),
      repair: repairEach("remove empty copies", found, (file) => removeBegun(file)),
    }),
  ]
}

interface Fault {
  readonly copy: string
  readonly text: string
  /** Whether the next hook or import fixes it. */
  readonly slight?: boolean
}

function bothEnds(patient: Patient, files: readonly VaultFile[]): Finding {
  const opened = newestOf(files)
  const listed = new Map([...readList(patient.dataHome).copies.values()].map((one) => [one.copy, one]))
  const faults = opened.flatMap(({ copy }): Fault[] => {
    const known = listed.get(copy)
    const file = vaultFile(patient.dataHome, copy)
    // Somebody has changed it since it was noted, or found it damaged.
    const isDoubted = known !== undefined && !isUntouched(patient.dataHome, known)
    const fault = faultOf(file) ?? (isDoubted ? innerFaultOf(file) : undefined)
    return fault === undefined ? [] : [{ copy, ...fault }]
  })
  const size = files.reduce((sum, file) => sum + file.bytes, 0)
  if (faults.length === 0) {
    const which = opened.length === files.length ? "each" : `the ${opened.length} that changed last`
    const text = `${count(files.length, "copy", "copies")}, ${bytes(size)}, ${which} intact at its beginning and end`
    return finding("vault", "ok", text)
  }
  return faulty(patient, faults, `damaged: ${faults.length} of ${count(files.length, "copy", "copies")}`)
}

function faultOf(file: string): Omit<Fault, "copy"> | undefined {
  try {
    const fd = openCopy(file)
    // It was renamed at this moment.
    if (fd === undefined) return undefined
    try {
      // Taken before reading the rest, because somebody may be appending.
      const { size } = fstatSync(fd)
      const tail = readTail(fd)
      // `begun` reports it.
      if (tail === undefined && holdsNothing(fd)) return undefined
      if (tail === undefined) return { text: "it does not begin with a ctxbridge header" }
      if (size <= tail.end) return undefined
      const text = `its last ${size - tail.end} bytes are not a complete frame`
      return { text, slight: existsSync(tail.header.path) }
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    return { text: messageOf(error) }
  }
}

/** Reads all of it. */
function innerFaultOf(file: string): Omit<Fault, "copy"> | undefined {
  const [text] = tryTo(() => checkCopy(file, undefined)?.damage) ?? []
  return text === undefined ? undefined : { text }
}

function everyByte(patient: Patient): Finding {
  const { dataHome, home } = patient
  const report = verify({
    dataHome,
    home,
    transcripts: [],
    onProgress: (done, total) => patient.progress("reading", done, total),
  })
  // Missing and unreadable transcripts are reported by the check of transcripts, what is no file by `strangers`.
  const others = new Set(inventoryOf(patient).noFiles())
  const bad = report.transcripts.filter(
    (one) =>
      !isFine(one) && !/^(missing|unreadable|lost)$/.test(one.state) && !(one.copy && others.has(one.copy)),
  )
  if (bad.length === 0) {
    return finding(
      "vault",
      "ok",
      `${bytes(report.totals.archivedBytes)} in ${count(report.totals.copies, "copy", "copies")}, every byte checked`,
    )
  }
  const faults = bad.map(({ copy, state, problems }) => ({ copy: copy ?? "", text: problems[0] ?? state }))
  return faulty(
    patient,
    faults,
    `damaged, or different from the transcript: ${bad.length} of ${count(report.totals.copies, "copy", "copies")}`,
  )
}

function faulty(patient: Patient, faults: readonly Fault[], text: string): Finding {
  const state = faults.every(({ slight }) => slight === true) ? "warn" : "fail"
  return finding("vault", state, text, {
    hint: "ctxbridge verify says more; ctxbridge import --check mends what Claude Code still has",
    details: faults.slice(0, SHOWN).map((fault) => `${fault.copy}: ${fault.text}`),
    repair: archivedAnew(patient, faults),
  })
}

/** Mends the copies of transcripts that still exist; those that differ are kept under another name. */
function archivedAnew(patient: Patient, faults: readonly Fault[]): Repair | undefined {
  const copies = new Set(faults.map(({ copy }) => copy))
  const transcripts = transcriptsBelow(projectsOf(patient))
  const all = [...transcripts, ...transcripts.flatMap(besideTranscript), ...promptHistories(patient)]
  const paths = all.filter((path) => copies.has(vaultPath(path, patient.home)) && existsSync(path))
  if (paths.length === 0) return undefined
  return {
    what: `mend ${count(paths.length, "copy", "copies")} from Claude Code's files`,
    run: () => {
      const { files } = importTranscripts(patient, paths, {
        dryRun: false,
        check: true,
        onProgress: (done, total) => patient.progress("archiving", done, total),
      })
      const error = files.find((file) => file.error !== undefined)?.error
      if (error !== undefined) throw new CtxError("import", error)
    },
  }
}
