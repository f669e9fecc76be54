/** Variables, option values and excluded folders that do not do what they seem to do. */

import { existsSync, readdirSync, statSync } from "node:fs"
import { type CtxError, isCtxError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { literalStart } from "../../base/globs.ts"
import { DAY, MINUTE } from "../../base/local-time.ts"
import { entriesIn, logPath } from "../../base/log.ts"
import { join } from "../../base/path.ts"
import { bytes, count, cut, oneLine } from "../../base/text.ts"
import { CLEARED } from "../../claude/install/hooks-table.ts"
import { readSettings, variablesOf } from "../../claude/settings/read-settings.ts"
import { targetWishes } from "../../config/load.ts"
import { type Key, OPTIONS } from "../../config/options.ts"
import { unusedVariables } from "../../config/unused-variables.ts"
import { runJob } from "../../job/run-job.ts"
import { readAutoSync } from "../../sync/sync-again.ts"
import { type BackendName, chooseTargets, configuredTargets } from "../../sync/targets.ts"
import { absolutePattern, isExcludedFolder } from "../../views/excluded.ts"
import { openCurrent } from "../../views/open-current.ts"
import { type SessionFolder, sessionFolders } from "../../views/queries/sessions.ts"
import { type Finding, finding, type Patient, SHOWN, type SpoolCount } from "./finding.ts"

/** Where Bun itself was installed: only its installer and package manager read these. */
const INNOCENT = /^BUN_INSTALL/
/** Variables that we read but that are not options. */
const OURS = /^CTXBRIDGE_(HOME|CONFIG|SYNC_TO|SYNC_PASSPHRASE|AGENTDB|TEST_\w+)$/

/** Decide whether and where hooks archive. */
const DECISIVE = /^(CTXBRIDGE_(HOME|CONFIG|CAPTURE)|XDG_(DATA|STATE|CONFIG)_HOME)$/

export function environmentChecks(patient: Patient): Finding[] {
  return [
    ...bunVariables(patient),
    ...onlyForHooks(patient),
    ...unused(patient),
    ...aliases(patient),
    ...optionValues(patient),
  ]
}

/** With these, hooks may fill another archive than the one that commands read, or none. */
function onlyForHooks(patient: Patient): Finding[] {
  return readSettings(patient).flatMap((file) =>
    Object.keys(variablesOf(file))
      .filter((name) => DECISIVE.test(name) && !patient.variables.includes(name))
      .map((name) =>
        finding("variables", "warn", `${name} is set in the ${file.scope} settings, and so for hooks only`, {
          hint: "commands that you type do not see it; set it in your shell as well, or in neither",
        }),
      ),
  )
}

function bunVariables(patient: Patient): Finding[] {
  const fromClaude = readSettings(patient).flatMap((file) =>
    Object.keys(variablesOf(file)).map((name) => ({ name, where: `the ${file.scope} settings` })),
  )
  const all = [...patient.variables.map((name) => ({ name, where: "your environment" })), ...fromClaude]
  const leaks = all.filter(({ name }) => name.startsWith("BUN_") && !INNOCENT.test(name))
  if (leaks.length === 0) return [finding("bun", "ok", "no Bun variable reaches the binary")]
  return leaks.map(({ name, where }) =>
    finding("bun", "warn", `${name} is set in ${where}`, {
      hint: CLEARED.includes(name)
        ? "our hooks clear it, commands that you type do not; unset it"
        : "it changes how the binary runs, even in hooks; unset it",
    }),
  )
}

/** Of the design documents: whoever sets one expects something of it. */
function unused(patient: Patient): Finding[] {
  const set = [
    ...patient.variables,
    ...readSettings(patient).flatMap((file) => Object.keys(variablesOf(file))),
  ]
  return unusedVariables([...new Set(set)]).map(({ name, asks, instead }) =>
    finding("variables", "warn", `${name} has no effect: this version does not use it`, {
      hint: `it asks for ${asks}: ${instead}`,
    }),
  )
}

function aliases({ variables, resolved }: Patient): Finding[] {
  const keys = Object.keys(OPTIONS) as Key[]
  const names = new Set<string>(keys.flatMap((key) => OPTIONS[key].env as readonly string[]))
  const unknown = variables.filter(
    (name) => name.startsWith("CTXBRIDGE_") && !names.has(name) && !OURS.test(name),
  )
  const found = unknown.map((name) =>
    finding("variables", "warn", `${name} is not an option`, { hint: "ctxbridge config list shows them" }),
  )
  const used = keys.flatMap((key) => {
    const [own, ...others] = OPTIONS[key].env as readonly string[]
    return others
      .filter((name) => variables.includes(name))
      .map((name) =>
        variables.includes(own!) ? `${name} is not read: ${own} is set` : `${name} sets ${key}`,
      )
  })
  const set = keys.filter((key) => resolved.origin[key] === "env").length
  const text = `${set} of ${keys.length} options are set by the environment`
  return [...found, finding("variables", "ok", text, { details: used })]
}

function optionValues({ resolved, broken }: Patient): Finding[] {
  const found = [
    ...broken.map((text) =>
      finding("config", "warn", `a configuration file is ignored: ${text}`, { hint: "it must be TOML" }),
    ),
    ...resolved.problems.map(({ key, origin, variable, message }) =>
      finding("config", "warn", `${key} (${variable ?? origin}): ${message}; ignored`, {
        hint: "ctxbridge config list shows what is allowed",
      }),
    ),
  ]
  if (!resolved.config["capture.enabled"]) {
    found.push(
      finding(
        "config",
        "warn",
        `capture.enabled is off (${resolved.origin["capture.enabled"]}): hooks do nothing`,
        {
          hint: "ctxbridge config get capture.enabled",
        },
      ),
    )
  }
  return found.length > 0 ? found : [finding("config", "ok", "every value is allowed")]
}

/** Whether excluded folders exist, and which of their sessions the archive has from before. */
export function excludedChecks(patient: Patient): Finding[] {
  const { exclude, home } = patient
  if (exclude.length === 0) return []
  const which = `sessions of ${count(exclude.length, "folder")}, and those that name none,`
  const all = finding("excluded", "ok", `${which} are not archived`, { details: exclude.slice(0, SHOWN) })
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

/** Another check reports a database that cannot be read. */
const sessionsIn = (dataHome: string): readonly SessionFolder[] =>
  tryTo(() => {
    using db = openCurrent(dataHome, "command")
    return sessionFolders(db)
  }) ?? []

/*
 * The work of the background: everything that is waiting (markers for the views, requests to the job, bytes in the
 * spool), and what hooks and the job could not do, according to their log.
 */

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
