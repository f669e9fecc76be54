/** Variables, option values and excluded folders that do not do what they seem to do. */
import { existsSync } from "node:fs"
import { absolutePattern, isExcludedFolder } from "../archive/excluded.ts"
import { readIfPossible } from "../archive/open-for-reading.ts"
import { type SessionFolder, sessionFolders } from "../archive/queries/sessions.ts"
import { CLEARED } from "../claude/install/hooks-table.ts"
import { readSettings, variablesOf } from "../claude/settings/read-settings.ts"
import { type Key, OPTIONS } from "../config/options.ts"
import { unusedVariables } from "../config/unused-variables.ts"
import { literalStart } from "../util/globs.ts"
import { count } from "../util/text.ts"
import { type Finding, finding, type Patient, SHOWN } from "./finding.ts"

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
  const fromHost = readSettings(patient).flatMap((file) =>
    Object.keys(variablesOf(file)).map((name) => ({ name, where: `the ${file.scope} settings` })),
  )
  const all = [...patient.variables.map((name) => ({ name, where: "your environment" })), ...fromHost]
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

/** Another check reports a database that cannot be read. */
const sessionsIn = (dataHome: string): readonly SessionFolder[] =>
  readIfPossible(dataHome, sessionFolders) ?? []
