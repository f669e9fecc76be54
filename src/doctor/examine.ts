/** Runs all checks one after the other and, on request, repairs what they found. */
import { messageOf } from "../util/errors.ts"
import { backlogChecks, logChecks, syncChecks } from "./background-checks.ts"
import { binaryChecks } from "./binary-checks.ts"
import { type Finding, finding, type Patient } from "./finding.ts"
import { folderChecks } from "./folder-checks.ts"
import { hookRuns } from "./hook-trials.ts"
import { hostCheck } from "./host-check.ts"
import { lockCheck, placeCheck } from "./name-checks.ts"
import { pruneChecks } from "./prune-checks.ts"
import { installedChecks, timeoutCheck } from "./registration-checks.ts"
import { serverChecks } from "./server-checks.ts"
import { environmentChecks, excludedChecks } from "./setting-checks.ts"
import { sessionChecks } from "./silent-sessions.ts"
import { transcriptChecks } from "./transcript-checks.ts"
import { vaultChecks } from "./vault-checks.ts"
import { databaseChecks, searchChecks } from "./views-checks.ts"

interface DoneRepair {
  readonly check: string
  readonly what: string
  /** Why the repair failed, or that it did not help; undefined if it did, or in a dry run. */
  readonly error: string | undefined
}

export interface Examination {
  /** Whether no check failed. Warnings do not count. */
  readonly ok: boolean
  /** The state at the end, after any repairs. */
  readonly findings: readonly Finding[]
  readonly repairs: readonly DoneRepair[]
}

interface ExamineOptions {
  readonly fix: boolean
  /** With `fix`: only say what would be done. */
  readonly dryRun: boolean
}

type Found = Finding | Finding[]
type Check = (patient: Patient) => Promise<Found> | Found

/** In the order of the report. The name is used in the report when the check itself fails. */
const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ["settings", installedChecks],
  ["binary", binaryChecks],
  ["server", serverChecks],
  ["runs", hookRuns],
  ["timeouts", timeoutCheck],
  ["variables", environmentChecks],
  ["excluded", excludedChecks],
  ["private", folderChecks],
  ["places", placeCheck],
  ["locks", lockCheck],
  ["vault", vaultChecks],
  ["database", databaseChecks],
  ["words", searchChecks],
  ["pending", backlogChecks],
  ["archived", transcriptChecks],
  ["silent", sessionChecks],
  ["sync", syncChecks],
  ["log", logChecks],
]

export async function examine(patient: Patient, { fix, dryRun }: ExamineOptions): Promise<Examination> {
  const findings = await look(patient)
  if (!fix) return result(findings, [])
  // Several findings may have the same repair.
  const wanted = new Map(findings.flatMap((one) => (one.repair ? [[one.repair.what, one] as const] : [])))
  const repairs: DoneRepair[] = []
  for (const { check, repair } of wanted.values()) {
    let error: string | undefined
    try {
      if (!dryRun) await repair?.run()
    } catch (cause) {
      error = messageOf(cause)
    }
    repairs.push({ check, what: repair?.what ?? "", error })
  }
  if (dryRun || repairs.length === 0) return result(findings, repairs)
  const after = await look(patient)
  const still = new Set(after.map(({ repair }) => repair?.what))
  const judged = repairs.map((one) => (still.has(one.what) ? { ...one, error: one.error ?? NO_HELP } : one))
  return result(after, judged)
}

const NO_HELP = "the repair ran, but did not help"

const result = (findings: readonly Finding[], repairs: readonly DoneRepair[]): Examination => ({
  ok: findings.every(({ state }) => state !== "fail"),
  findings,
  repairs,
})

async function look(examined: Patient): Promise<Finding[]> {
  // Another one for each look: what is listed of a patient is listed once.
  const patient = { ...examined }
  // Started first: they take as long as all the others together.
  const asked = [checked("prune", pruneChecks, patient), checked("claude", hostCheck, patient)]
  const findings: Finding[] = []
  for (const [name, check] of CHECKS) findings.push(...(await checked(name, check, patient)))
  return [...findings, ...(await Promise.all(asked)).flat()]
}

/** A check that throws also gives a finding. */
async function checked(name: string, check: Check, patient: Patient): Promise<Finding[]> {
  try {
    return [await check(patient)].flat()
  } catch (error) {
    return [finding(name, "fail", `this could not be checked: ${messageOf(error)}`)]
  }
}
