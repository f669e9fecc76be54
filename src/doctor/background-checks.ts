/**
 * The work of the background: everything that is waiting (markers for the views, requests to the job, bytes in the
 * spool), and what hooks and the job could not do, according to their log.
 */
import { readdirSync, statSync } from "node:fs"
import { DAY } from "../claude/settings/clean-up.ts"
import { targetWishes } from "../config/load.ts"
import { runJob } from "../job/run-job.ts"
import { readAutoSync } from "../sync/auto-sync.ts"
import { type BackendName, chooseTargets } from "../sync/choose-target.ts"
import { configuredTargets } from "../sync/targets.ts"
import { type CtxError, isCtxError } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { entriesIn, logPath } from "../util/log.ts"
import { join } from "../util/path.ts"
import { bytes, count, cut, oneLine } from "../util/text.ts"
import { type Finding, finding, MINUTE, type Patient, type SpoolCount } from "./finding.ts"

/** ms within which the background job should have run. */
const LATE = 60 * MINUTE

export function backlogChecks(patient: Patient): Finding[] {
  const { dataHome, now, spool } = patient
  return [
    waiting(
      "pending",
      ["transcript to index", "transcripts to index"],
      waitingIn(join(dataHome, "pending")),
      now,
    ),
    waiting(
      "requests",
      ["request to the background job", "requests to the background job"],
      waitingIn(join(dataHome, "requests")),
      now,
    ),
    spoolFinding(spool),
  ]
}

interface Waiting {
  readonly files: number
  /** ms since the epoch. */
  readonly oldest: number
}

function waitingIn(folder: string): Waiting {
  const names = tryTo(() => readdirSync(folder)) ?? []
  const times = names.flatMap(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? [],
  )
  return { files: times.length, oldest: Math.min(...times) }
}

function waiting(
  check: string,
  [one, several]: readonly [string, string],
  { files, oldest }: Waiting,
  now: number,
): Finding {
  if (files === 0) return finding(check, "ok", `no ${several}`)
  const hours = Math.floor((now - oldest) / (60 * MINUTE))
  const text = `${count(files, one, several)}, the oldest for ${hours > 0 ? `${hours} h` : "less than an hour"}`
  if (now - oldest < LATE) return finding(check, "ok", text)
  return finding(check, "warn", text, {
    hint: "the background job has not run; the log may say why",
    repair: { what: "do the work of the background job", run: runJob },
  })
}

/** Whether a folder that is synced with is what it was, and whether the background job can sync, if the user lets it. */
export function syncChecks(patient: Patient): Finding {
  const { dataHome, resolved } = patient
  const fault = folderFault(patient)
  if (fault !== undefined) {
    // A drive that is not mounted is no fault.
    const state = fault.code === "target-incomplete" ? "warn" : "fail"
    return finding("sync", state, fault.message, fault.hint === undefined ? {} : { hint: fault.hint })
  }
  if (resolved.config["sync.auto"] === "off") return finding("sync", "skipped", "sync.auto is off")
  const { failure, tried } = readAutoSync(dataHome)
  if (failure !== null) {
    const text = `the background job cannot sync since ${failure.since}: ${failure.message}`
    return finding("sync", "warn", text, { hint: failure.hint ?? "ctxbridge sync says more" })
  }
  if (tried > 0) return finding("sync", "ok", "the background job syncs")
  const wishes = targetWishes(resolved.config["sync.to"])
  const chosen = tryTo(() => chooseTargets(resolved.config["sync.backend"] as BackendName, wishes))
  return chosen?.length === 0
    ? finding("sync", "warn", "sync.auto is on, but there is no target", {
        hint: "set sync.to, too: ctxbridge config list names the file",
      })
    : finding("sync", "ok", "the background job has not synced yet")
}

const REPLACED_FOLDER = ["target-changed", "target-plain", "target-damaged", "target-incomplete"]

function folderFault(patient: Patient): CtxError | undefined {
  try {
    for (const target of configuredTargets(patient.resolved.config, patient)) target.examine?.()
  } catch (error) {
    // Of anything else, the background job tells.
    if (isCtxError(error) && REPLACED_FOLDER.includes(error.code)) return error
  }
  return undefined
}

export function spoolFinding(spool: SpoolCount): Finding {
  if (spool.files === 0) return finding("spool", "ok", "empty")
  const text = `${bytes(spool.bytes)} in ${count(spool.files, "file")} wait for the data folder`
  return finding("spool", "warn", text, {
    hint: "it could not be written; the background job moves them when it can",
  })
}

/** Maximum age of an error, in ms, for a warning. */
const NEW = 7 * DAY

/** What could not be done. */
export function logChecks({ stateHome, now }: Patient): Finding {
  const entries = [`${logPath(stateHome)}.1`, logPath(stateHome)].flatMap(entriesIn)
  const latest = entries.at(-1)
  if (latest === undefined) return finding("log", "ok", "no errors logged")
  const recent = entries.filter(({ time }) => now - Date.parse(time) < NEW)
  if (recent.length === 0) {
    return finding("log", "ok", `no error this week; the last on ${latest.time.slice(0, 10)}`)
  }
  const code = latest.code === "" ? "" : ` (${latest.code})`
  return finding("log", "warn", `${count(recent.length, "error")} since ${recent[0]!.time}`, {
    hint: `all are in ${logPath(stateHome)}`,
    details: [`${latest.time} ${latest.event}: ${cut(oneLine(latest.message), 160)}${code}`],
  })
}
