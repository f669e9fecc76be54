/**
 * Whether our hooks are in Claude Code's settings, intact and only once, and whether any hook there may hang for long.
 */

import { constants, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { INSTALLABLE_AGENTS } from "../../agents/install/agent-installers.ts"
import { messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { realpathSync } from "../../base/fs.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { dirname, join } from "../../base/path.ts"
import { runChild } from "../../base/processes.ts"
import { temporaryFolder } from "../../base/temporary.ts"
import { count, cut, oneLine } from "../../base/text.ts"
import { FakeTranscript, hookPayload } from "../../claude/fake/transcript.ts"
import { type ActionEvent, type ClaudeEvent, HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { calledByName, OLDEST_TRIED } from "../../claude/install/clients.ts"
import { oneAtATime } from "../../claude/install/footprint.ts"
import {
  type HookStatus,
  hookStatus,
  ourPlugins,
  type ServerStatus,
  serverStatus,
} from "../../claude/install/hook-status.ts"
import {
  ACTION_EVENTS,
  CLEARED,
  claudeTable,
  HOST_EVENTS,
  hookCommand,
  hookName,
  isOurHook,
  type OurHookCommand,
  readOurHook,
} from "../../claude/install/hooks-table.ts"
import { recordedTargets } from "../../claude/install/register.ts"
import { install, installServer } from "../../claude/install/registration.ts"
import { transcriptsFolder } from "../../claude/places.ts"
import { inHookShell } from "../../claude/settings/hook-shell.ts"
import {
  type CommandHook,
  hooksOf,
  readSettings,
  type SettingsFile,
  type SettingsScope,
} from "../../claude/settings/read-settings.ts"
import { withArchive } from "../../config/load.ts"
import { sweepDue } from "../../job/due-work.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { archivedIn } from "../../vault/reader.ts"
import { isExcluded } from "../../views/excluded.ts"
import { open } from "../../views/open.ts"
import { type Finding, finding, type Patient, type Repair } from "./finding.ts"
import { isAllowed } from "./folder-checks.ts"

/** Registers our hooks with this binary. Leaves out what others use too: a project's shared file, and an organisation's. */
export function reinstall(patient: Patient, scope: SettingsFile["scope"]): Repair | undefined {
  if (scope === "project" || scope === "managed") return undefined
  return {
    what: `register the hooks in the ${scope} settings`,
    run: () =>
      oneAtATime(patient.home, () => {
        install({ ...patient, scope, table: claudeTable(patient.resolved.config) })
      }),
  }
}

export function installedChecks(patient: Patient): Finding[] {
  const status = hookStatus(patient, patient.exePath, claudeTable(patient.resolved.config))
  const unreadable = status.filter(({ problem }) => problem !== undefined)
  const present = status.filter(({ file }) => existsSync(file))
  const sound = present.length === 0 ? "there is no file yet" : `valid JSON: ${namesOf(present)}`
  return [
    ...unreadable.map(({ scope, problem }) =>
      finding("settings", "fail", `the ${scope} settings cannot be read: ${problem}`, {
        hint: "Claude Code ignores the whole file, hooks and permissions; correct it",
      }),
    ),
    ...(unreadable.length === 0 ? [finding("settings", "ok", sound)] : []),
    ...disabled(patient),
    ...presence(patient, status),
    ...doubles(patient),
  ]
}

const namesOf = (status: readonly HookStatus[]): string => status.map(({ scope }) => scope).join(", ")

/** The narrowest file that says so decides. Not repaired: somebody wanted it. */
function disabled(patient: Patient): Finding[] {
  const found = readSettings(patient).findLast(({ fields }) => typeof fields["disableAllHooks"] === "boolean")
  if (found?.fields["disableAllHooks"] !== true) return []
  return [
    finding("hooks", "fail", `${found.scope} settings: "disableAllHooks" is true`, {
      hint: `Claude Code calls no hook and shows no status line; take it out of ${found.file}`,
    }),
  ]
}

function presence(patient: Patient, status: readonly HookStatus[]): Finding[] {
  const hooks = ourHooks(patient)
  const plugin = ourPlugins(patient)
  if (hooks.length === 0) {
    if (plugin.length > 0) return [byPlugin(patient, plugin[0]!)]
    if (status.some(({ scope, problem }) => scope === "user" && problem !== undefined)) return []
    if (isWithOthersAlone(patient))
      return [finding("hooks", "skipped", "registered with other agents, and there is no Claude Code")]
    return [
      finding("hooks", "fail", "no ctxbridge hooks: nothing is archived automatically", {
        hint: "ctxbridge install",
        repair: reinstall(patient, "user"),
      }),
    ]
  }
  const managed = hooks.filter(({ scope }) => scope === "managed")
  return [
    ...status
      .filter(({ installed, stale }) => installed.length + stale.length > 0)
      .map((one) => presenceIn(patient, one, hooks)),
    ...(managed.length > 0 ? [managedPresence(managed, hooks)] : []),
  ]
}

/** A plugin's list of hooks is the same for everybody, so it has none before tools. */
function byPlugin({ resolved }: Patient, plugin: string): Finding {
  if (!resolved.config["recall.actions"]) return finding("hooks", "ok", `registered by the plugin ${plugin}`)
  const text = `recall.actions is on, but the plugin ${plugin} has no hook for ${ACTION_EVENTS.join(", ")}`
  return finding("hooks", "warn", text, { hint: installHint("user") })
}

const isWithOthersAlone = ({ dataHome, claudeDir }: Patient): boolean =>
  INSTALLABLE_AGENTS.some(({ name }) => recordedTargets(dataHome, name).length > 0) &&
  calledByName() === undefined &&
  !existsSync(claudeDir)

/** What an organisation's settings have of our hooks, which is not ours to change. */
function managedPresence(managed: readonly InstalledHook[], hooks: readonly InstalledHook[]): Finding {
  const missing = HOST_EVENTS.filter((name) => !hooks.some(({ event }) => event === name))
  if (missing.length === 0) return finding("hooks", "ok", `managed settings: ${managed.length}`)
  return finding("hooks", "fail", `managed settings, and no other: no hook for ${missing.join(", ")}`, {
    hint: installHint("user"),
  })
}

/** What a user can do about hooks of a scope. */
export const installHint = (scope: SettingsFile["scope"]): string =>
  scope === "managed"
    ? "your organisation's settings name it: ask who manages them"
    : `ctxbridge install --scope ${scope}`

/** The finding for one settings file with hooks of ours. */
function presenceIn(
  patient: Patient,
  { scope, missing, stale, installed }: HookStatus,
  hooks: readonly InstalledHook[],
): Finding {
  const more = { hint: installHint(scope), repair: reinstall(patient, scope) }
  if (missing.length > 0) {
    return finding("hooks", "fail", `${scope} settings: no hook for ${missing.join(", ")}`, more)
  }
  const unwanted = stale.filter((event) => !isWanted(patient, event))
  if (unwanted.length > 0) {
    const text = `${scope} settings: a hook for ${unwanted.join(", ")}, though recall.actions is off`
    return finding("hooks", "warn", `${text}: it is called, and says nothing`, more)
  }
  const broken = stale.filter((event) => !isOther(patient, scope, event, hooks))
  const exposed = broken.filter((event) => lacksVariable(scope, event, hooks))
  if (broken.length > 0 && exposed.length === broken.length) {
    const text = `${scope} settings: the hook for ${exposed.join(", ")} does not clear ${CLEARED.join(", ")}`
    return finding("hooks", "warn", `${text}: an earlier version registered it`, more)
  }
  if (broken.length > 0) {
    const text = `${scope} settings: the hook for ${broken.join(", ")} is doubled, limited by a matcher, or has no timeout`
    return finding("hooks", "fail", text, more)
  }
  if (stale.length > 0) {
    return finding(
      "hooks",
      "ok",
      `${scope} settings: all ${stale.length + installed.length}, of another binary`,
    )
  }
  return finding("hooks", "ok", `${scope} settings: all ${installed.length}`)
}

const isWanted = ({ resolved }: Patient, event: string): boolean =>
  resolved.config["recall.actions"] || !ACTION_EVENTS.some((name) => name === event)

/** Whether what is wrong with a hook is that a variable meant for Bun could stop it. */
function lacksVariable(scope: SettingsScope, event: string, hooks: readonly InstalledHook[]): boolean {
  const own = hooks.filter((one) => one.scope === scope && one.event === event)
  return own.length === 1 && CLEARED.some((name) => !own[0]!.variables.includes(name))
}

/** Whether the only thing wrong with a hook is that it calls another binary. */
function isOther(
  patient: Patient,
  scope: SettingsScope,
  event: string,
  hooks: readonly InstalledHook[],
): boolean {
  const own = hooks.filter((one) => one.scope === scope && one.event === event)
  const [hook] = own
  if (own.length !== 1 || hook === undefined || !((hook.timeout ?? 0) > 0)) return false
  return realFile(hook.binary) !== realFile(patient.exePath)
}

/** Claude Code runs identical commands once but different ones in parallel, and then archives each prompt twice. */
function doubles(patient: Patient): Finding[] {
  const hooks = ourHooks(patient)
  const commands = new Map<string, Set<string>>()
  for (const { event, command } of hooks) {
    commands.set(event, (commands.get(event) ?? new Set()).add(command))
  }
  const doubled = [...commands].filter(([, different]) => different.size > 1).map(([event]) => event)
  const scopes = [...new Set(hooks.map(({ scope }) => scope))]
  const own = scopes.filter((scope) => scope !== "managed")
  const found: Finding[] = []
  if (doubled.length > 0) {
    found.push(
      finding("double", "warn", `${doubled.join(", ")}: several different ctxbridge hooks`, {
        hint:
          own.length === 0
            ? installHint("managed")
            : `keep one: ctxbridge uninstall --scope ${own.at(-1)}, or ctxbridge install`,
        details: [...new Set(hooks.map(({ scope, binary }) => `${scope}: ${binary}`))],
      }),
    )
  }
  if (found.length > 0) return found
  const [plugin] = ourPlugins(patient)
  const yields = plugin !== undefined && hooks.length > 0
  return [
    finding(
      "double",
      "ok",
      // Its run.sh looks for the hooks of an install.
      yields ? `the plugin ${plugin} leaves the hooks to the settings` : "nothing is registered twice",
    ),
  ]
}

/** In seconds. */
const LONGEST = 600

/** Of all hooks, not only ours: a timeout that was probably meant in milliseconds. */
export function timeoutCheck(patient: Patient): Finding {
  const long = readSettings(patient).flatMap((file) =>
    hooksOf(file)
      .filter(({ timeout = 0 }) => timeout > LONGEST)
      .map((hook) => ({ scope: file.scope, ...hook })),
  )
  if (long.length === 0) return finding("timeouts", "ok", "no hook waits longer than 10 minutes")
  return finding("timeouts", "warn", `${count(long.length, "hook")} may hang for more than 10 minutes`, {
    hint: "timeouts are in seconds: 5000 is 83 minutes",
    details: long.map(
      ({ scope, event, command, timeout }) =>
        `${scope}, ${event}: ${timeout} s${isOurHook(command) ? ", ours: ctxbridge uninstall, then install" : ""}`,
    ),
  })
}

/* Whether Claude Code starts our MCP server. A server that the user left out or removed is not added back. */

export const serverChecks = (patient: Patient): Finding[] =>
  serverStatus(patient, patient.exePath).map((one) => findingOf(patient, one))

function findingOf(patient: Patient, status: ServerStatus): Finding {
  const { scope, command, problem } = status
  const hint = `ctxbridge install --scope ${scope}`
  switch (status.state) {
    case "registered":
      return finding("server", "ok", `${scope}: the MCP server is registered`)
    case "other":
      return ofOther(patient, status, hint)
    case "taken":
      return finding("server", "warn", `${scope}: another MCP server has the name ctxbridge`, {
        hint: "rename it, then ctxbridge install",
      })
    case "absent": {
      const [plugin] = ourPlugins(patient)
      if (plugin !== undefined) return finding("server", "ok", `provided by the plugin ${plugin}`)
      return finding("server", "skipped", "no MCP server is registered: Claude cannot search by itself", {
        hint,
      })
    }
    case "removed":
      return finding("server", "skipped", `${scope}: the MCP server was removed after the install`, {
        hint,
      })
    case "lost":
      return finding(
        "server",
        "warn",
        `${scope}: the MCP server was registered, and is gone from Claude Code's file`,
        {
          hint,
          repair: registered(patient, status),
        },
      )
    case "unknown":
      return finding(
        "server",
        "fail",
        `${scope}: the file that names MCP servers cannot be read: ${problem}`,
        {
          hint: `correct ${status.file}; nothing else of ctxbridge needs it`,
          details: command === null ? [] : [command],
        },
      )
  }
}

function ofOther(patient: Patient, status: ServerStatus, hint: string): Finding {
  const { scope } = status
  const command = status.command ?? ""
  const repair = registered(patient, status)
  if (realFile(command) === undefined || !isExecutable(command)) {
    const text = `${scope}: the MCP server is ${command}, which does not exist or cannot be run`
    return finding("server", "fail", text, { hint, repair })
  }
  if (realFile(command) !== realFile(patient.exePath)) {
    return finding("server", "ok", `${scope}: the MCP server is another binary: ${command}`)
  }
  return finding("server", "warn", `${scope}: the MCP server is not registered the way an install does it`, {
    hint,
    repair,
  })
}

/** Not for a project's file, because others use it too. */
function registered(patient: Patient, { scope }: ServerStatus): Repair | undefined {
  if (scope !== "user") return undefined
  return {
    what: `register the MCP server in the ${scope} settings`,
    run: () =>
      oneAtATime(patient.home, () => {
        installServer({ ...patient, scope })
      }),
  }
}

/* Where this user's files of Claude Code are, and which of our hooks its settings contain. */

/** One of our hooks, as written in a settings file; `binary` is an absolute path if it can be found. */
export interface InstalledHook extends CommandHook, OurHookCommand {
  readonly scope: SettingsFile["scope"]
}

export function ourHooks(patient: Patient): InstalledHook[] {
  return readSettings(patient).flatMap((file) =>
    hooksOf(file).flatMap(({ event, command, timeout }) => {
      const read = readOurHook(command, patient.home)
      if (read === undefined) return []
      const { binary, variables } = read
      const found = binary.includes("/") ? binary : (Bun.which(binary) ?? binary)
      return [{ scope: file.scope, event, command, timeout, binary: found, variables }]
    }),
  )
}

/** The path with links resolved; undefined if there is no such file. */
export const realFile = (path: string): string | undefined => tryTo(() => realpathSync(path))

export const isExecutable = (path: string): boolean => isAllowed(path, constants.X_OK)

/** Where Claude Code keeps this user's transcripts. */
export const projectsOf = ({ claudeDir }: Patient): string => transcriptsFolder(claudeDir)

/* Runs each hook as Claude Code would, on a made-up session and with a throwaway archive. */

/** Claude Code's limit for text that a hook gives to the model, in UTF-16 units. */
const LARGEST = 10_000
/** A hook that takes more than this share of its timeout is slow. */
const NEAR = 0.8
/** Maximum wait for one of our hooks, whatever its timeout. */
const MOST_SECONDS = 10
/** A hook command may set these, which ours begin with: our name, and what would turn a Bun binary into another program. */
const HARMLESS = /^(?:CTXBRIDGE$|BUN_)/

interface Trial {
  readonly hook: InstalledHook
  readonly ms: number
  /** What is wrong; undefined if nothing is. */
  readonly fault: string | undefined
}

const isRegistered = (event: string): event is ClaudeEvent | ActionEvent =>
  [...HOST_EVENTS, ...ACTION_EVENTS].some((name) => name === event)

export async function hookRuns(patient: Patient): Promise<Finding[]> {
  const hooks = [...new Map(ourHooks(patient).map((hook) => [hook.command, hook])).values()]
  const known = hooks.filter(({ event, binary }) => isRegistered(event) && isExecutable(binary))
  const safe = known.filter((hook) => mayRun(patient, hook))
  const left = known.length - safe.length
  const untried =
    left === 0
      ? []
      : [
          finding("runs", "skipped", `${count(left, "hook")} not run`, {
            hint: "they set variables, or a project's or an organisation's settings name them",
          }),
        ]
  if (safe.length === 0) {
    return untried.length > 0 ? untried : [finding("runs", "skipped", "there is no hook to run")]
  }
  using folder = temporaryFolder("doctor")
  const trials = await Promise.all(safe.map((hook, n) => tried(patient, hook, folder.path, n)))
  return [judged(trials), ...untried]
}

/**
 * A project's files arrive with `git clone`, so its hooks run only if they are exactly what an install of this binary
 * writes. A user's hook may not set variables that could lead it to the real archive.
 */
function mayRun({ exePath }: Patient, { scope, event, command, variables }: InstalledHook): boolean {
  if (scope === "user") return variables.every((name) => HARMLESS.test(name))
  return isOurBinary(exePath) && command === hookCommand(exePath, event as ClaudeEvent)
}

function judged(trials: readonly Trial[]): Finding {
  const faults = trials.filter(({ fault }) => fault !== undefined)
  if (faults.length > 0) {
    return finding("runs", "fail", `${faults.length} of ${count(trials.length, "hook")} failed when run`, {
      hint: "Claude Code would see the same; ctxbridge install registers them again",
      details: faults.map(({ hook, fault }) => `${hook.event}: ${fault}`),
    })
  }
  const slowest = trials.reduce((a, b) => (shareOf(b) > shareOf(a) ? b : a))
  const time = `${Math.round(slowest.ms)} ms of ${secondsOf(slowest.hook)} s`
  const text = `${count(trials.length, "hook")} run: exit code 0, valid output, at most ${time}`
  if (shareOf(slowest) < NEAR) return finding("runs", "ok", text)
  return finding("runs", "warn", text, {
    hint: "Claude Code kills them at the timeout; is the machine busy?",
  })
}

/** How much of its own timeout a hook took. */
const shareOf = ({ hook, ms }: Trial): number => ms / (secondsOf(hook) * 1000)

const secondsOf = ({ timeout }: InstalledHook): number => timeout ?? HOOK_TIMEOUT_SECONDS

async function tried(patient: Patient, hook: InstalledHook, root: string, n: number): Promise<Trial> {
  const dataHome = join(root, `archive-${n}`)
  const event = hook.event as ClaudeEvent | ActionEvent
  const { payload, transcript, size } = stage(event, join(root, `host-${n}`), n)
  // Keeps the hook from asking for a background job, which would outlive the folder.
  open(dataHome, "write", 0).close()
  if (transcript !== undefined) sweepDue(dirname(transcript), join(dataHome, "state"), patient.now)
  try {
    const { stdout, stderr, code, late, ms } = await runChild(inHookShell(hook.command), {
      timeout: Math.min(secondsOf(hook), MOST_SECONDS) * 1000,
      stdin: payload,
      cwd: root,
      env: withArchive(dataHome),
    })
    if (late) return { hook, ms, fault: `still running after ${Math.round(ms)} ms` }
    const said = stderr === "" ? "" : `: ${cut(oneLine(stderr), 120)}`
    if (code !== 0) return { hook, ms, fault: `exit code ${code}${said}` }
    if (stderr !== "") return { hook, ms, fault: `it wrote to stderr${said}` }
    if (!isValid(event, stdout)) return { hook, ms, fault: "its output is not what Claude Code accepts" }
    const { config } = patient.resolved
    const expected = config["capture.enabled"] && transcript !== undefined && !isExcluded(patient, transcript)
    const archived = expected && archivedIn(vaultFile(dataHome, vaultPath(transcript, patient.home)))
    if (expected && archived !== size) return { hook, ms, fault: "it did not archive the transcript" }
    return { hook, ms, fault: undefined }
  } catch (error) {
    return { hook, ms: 0, fault: messageOf(error) }
  }
}

/** A short session, and Claude Code's event for it. */
function stage(event: ClaudeEvent | ActionEvent, folder: string, n: number) {
  const session = `00000000-0000-4000-8000-00000000000${n % 10}`
  const fields: Readonly<Record<ClaudeEvent | ActionEvent, object>> = {
    SessionStart: { source: "startup" },
    UserPromptSubmit: { prompt: "ctxbridge doctor" },
    PreCompact: { trigger: "manual", custom_instructions: null },
    Stop: { stop_hook_active: false },
    SubagentStop: { agent_type: "general-purpose", stop_hook_active: false },
    SessionEnd: { reason: "other" },
    PreToolUse: { tool_input: { command: "true" } },
  }
  mkdirSync(folder, { recursive: true })
  const transcript = join(folder, `${session}.jsonl`)
  const { text } = new FakeTranscript({ session, cwd: folder, version: OLDEST_TRIED }).user(
    "ctxbridge doctor",
  )
  writeFileSync(transcript, text)
  // A session end with a transcript would start the background job, and before a tool nothing is archived.
  const told = event === "SessionEnd" || event === "PreToolUse" ? undefined : transcript
  const payload = hookPayload(hookName(event), { session, transcript: told, cwd: folder }, fields[event])
  return { payload, transcript: told, size: Buffer.byteLength(text) }
}

/** Accepts no output, text for the compaction, or a document with context for the model. */
function isValid(event: ClaudeEvent | ActionEvent, stdout: string): boolean {
  if (stdout === "") return true
  if (event === "PreCompact") return stdout.length <= LARGEST && !stdout.startsWith("{")
  if (!["SessionStart", "UserPromptSubmit", "PreToolUse"].includes(event)) return false
  try {
    const { hookSpecificOutput: given } = JSON.parse(stdout)
    const text: unknown = given.additionalContext
    return given.hookEventName === event && typeof text === "string" && text.length <= LARGEST
  } catch {
    return false
  }
}
