/** Runs all checks one after the other and, on request, repairs what they found. */

import { closeSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs"
import { AGENTS } from "../../agents/agents.ts"
import { INSTALLABLE_AGENTS, installAgent, isAgentHere } from "../../agents/install/agent-installers.ts"
import { codeOf, messageOf } from "../../base/errors.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { existsSync, renameSync } from "../../base/fs.ts"
import { DAY, MINUTE } from "../../base/local-time.ts"
import { logPath } from "../../base/log.ts"
import { basename, join } from "../../base/path.ts"
import { output } from "../../base/processes.ts"
import { count } from "../../base/text.ts"
import {
  abilitiesOf,
  calledByName,
  isTried,
  lackingIn,
  OLDEST_TRIED,
  versionIn,
} from "../../claude/install/clients.ts"
import { oneAtATime } from "../../claude/install/footprint.ts"
import type { TranscriptFile } from "../../job/find-transcripts.ts"
import type { WayState } from "../../prune/way.ts"
import { clientWays, isArchiving, PRUNE_WAYS } from "../../prune/ways.ts"
import { readExactly } from "../../vault/copy-file.ts"
import { openSource } from "../../vault/source-file.ts"
import { databasePath } from "../../views/database.ts"
import { lockPath } from "../../views/open.ts"
import { sessionFolder, sharedState } from "../../views/session-files.ts"
import { probe } from "../../views/unwritable.ts"
import { type Finding, finding, type Patient, repairEach, SHOWN } from "./finding.ts"
import { existing, folderChecks } from "./folder-checks.ts"
import {
  hookRuns,
  type InstalledHook,
  installedChecks,
  installHint,
  isExecutable,
  ourHooks,
  realFile,
  reinstall,
  serverChecks,
  timeoutCheck,
} from "./registration-checks.ts"
import { backlogChecks, environmentChecks, excludedChecks, logChecks, syncChecks } from "./setting-checks.ts"
import { inventoryOf, transcriptChecks } from "./transcript-checks.ts"
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
  const asked = [
    checked("prune", pruneChecks, patient),
    checked("claude", claudeCheck, patient),
    checked("agents", agentChecks, patient),
  ]
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

/* Ways of pruning that were set up: whether they are at work, and whether they can be. */

async function pruneChecks(patient: Patient): Promise<Finding[]> {
  const clients = await clientWays(patient)
  if (clients.length === 0) return [finding("prune", "skipped", "Claude Code was not found")]
  const found = clients.flatMap(({ version, path, ways }) =>
    ways.flatMap((state) => ofWay(state, `Claude Code ${version ?? "of an unknown version"}, ${path}`)),
  )
  const told = together(found)
  const active = clients.some(({ ways }) => ways.some(({ isActive }) => isActive))
  if (active && !isArchiving(patient))
    told.push(
      finding("prune", "warn", "old text is pruned, but nothing is archived: the hooks are not registered", {
        hint: "ctxbridge install",
      }),
    )
  return told.length > 0 ? told : [finding("prune", "ok", "nothing is pruned; ctxbridge prune status")]
}

/** What is the same for several programs is told once. */
function together(findings: readonly Finding[]): Finding[] {
  const byText = Map.groupBy(findings, ({ text }) => text)
  return [...byText.values()].map((same) => ({
    ...same[0]!,
    details: same.flatMap(({ details }) => details),
  }))
}

/** @param where the program that it is about */
function ofWay({ way, isActive, unsupported, detail, problem }: WayState, where: string): Finding[] {
  const undo = { hint: PRUNE_WAYS.find(({ name }) => name === way)!.stop, details: [where] }
  if (isActive && unsupported !== undefined)
    return [finding("prune", "fail", `${way} is on, but cannot work: ${unsupported}`, undo)]
  if (isActive && problem !== undefined) return [finding("prune", "warn", `${way}: ${problem}`, undo)]
  if (isActive)
    return [
      finding("prune", "ok", `${way} is on${detail === undefined ? "" : `: ${detail}`}`, {
        details: [where],
      }),
    ]
  return detail === undefined ? [] : [finding("prune", "warn", `${way} is not working: ${detail}`, undo)]
}

/* Sessions whose hooks ran but whose transcript never appeared. */

const ALL_WRITTEN = "every session with a prompt has a transcript"

/** Maximum age of a session to report, in ms since its last hook. */
const RECENT = 30 * DAY

function sessionChecks(patient: Patient): Finding {
  const { dataHome, now } = patient
  const asked = prompted(dataHome, now)
  const { copies, transcripts } = inventoryOf(patient)
  if (asked.length === 0) return finding("silent", "ok", ALL_WRITTEN)
  const written = new Set([
    ...copies().map(({ copy }) => basename(copy).replace(/(\.~\d+)?\.jsonl\.zst$/, "")),
    ...transcripts().map(({ path }) => basename(path, ".jsonl")),
  ])
  const silent = asked.filter((session) => !written.has(session))
  if (silent.length === 0) return finding("silent", "ok", ALL_WRITTEN)
  return finding(
    "silent",
    "warn",
    `${count(silent.length, "session")} wrote no transcript: nothing to archive`,
    {
      hint: "started with --no-session-persistence, inside another session, or with cleanupPeriodDays 0",
      details: silent.slice(0, SHOWN),
    },
  )
}

/** Sessions with a human prompt, without which Claude Code starts no transcript, and a hook of late, but not just now. */
function prompted(dataHome: string, now: number): string[] {
  const folder = join(dataHome, "sessions")
  const names = tryTo(() => readdirSync(folder)) ?? []
  const states = names.filter((name) => name.endsWith(".json") && !name.startsWith("clear-"))
  return states.flatMap((name) => {
    const file = join(folder, name)
    const age = now - (tryTo(() => statSync(file).mtimeMs) ?? 0)
    if (age <= MINUTE || age >= RECENT) return []
    // One that is being replaced right now, or incomplete, the next hook writes again.
    const prompt = tryTo(() => JSON.parse(readFileSync(file, "utf8")).prompt)
    return typeof prompt === "string" ? [basename(name, ".json")] : []
  })
}

/* Checks the binaries that hooks call, and the one on PATH. */

async function binaryChecks(patient: Patient): Promise<Finding[]> {
  const byBinary = new Map<string, InstalledHook>()
  for (const hook of ourHooks(patient)) if (!byBinary.has(hook.binary)) byBinary.set(hook.binary, hook)
  const found = await Promise.all([...byBinary.values()].map((hook) => oneBinary(patient, hook)))
  return [...found, await onPath(patient, [...byBinary.keys()])]
}

async function oneBinary(patient: Patient, { binary, scope }: InstalledHook): Promise<Finding> {
  const more = { hint: installHint(scope), repair: reinstall(patient, scope) }
  const real = realFile(binary)
  if (real === undefined) return finding("binary", "fail", `hooks call ${binary}, which does not exist`, more)
  if (!isExecutable(binary))
    return finding("binary", "fail", `hooks call ${binary}, which cannot be run`, more)
  if (real === realFile(patient.exePath)) {
    return finding("binary", "ok", `hooks call this binary, ${patient.version}`)
  }
  // A project's files arrive with `git clone`, so we do not run what they name.
  if (scope !== "user") {
    const text = `${scope} settings: hooks call another binary, which is not run to ask its version: ${binary}`
    return finding("binary", "warn", text, { hint: installHint(scope) })
  }
  const version = await versionOf(binary)
  if (version === patient.version)
    return finding("binary", "ok", `hooks call ${binary}, which is ${version}, like this one`)
  return finding(
    "binary",
    "warn",
    `hooks call ${binary}, ${version ?? "of unknown version"}; this is ${patient.version}`,
    more,
  )
}

async function onPath({ exePath, version }: Patient, called: readonly string[]): Promise<Finding> {
  const found = Bun.which("ctxbridge")
  if (found === null) {
    return finding("path", "warn", "ctxbridge is not on PATH", {
      hint: "hooks do not need that, but you do: link it into a folder on PATH",
    })
  }
  const known = [exePath, ...called].map(realFile)
  if (known.includes(realFile(found))) return finding("path", "ok", found)
  const other = await versionOf(found)
  if (other === version) return finding("path", "ok", `${found}, ${version}`)
  return finding("path", "warn", `PATH has another one: ${found}, ${other ?? "of unknown version"}`, {
    hint: `this one is ${exePath}, ${version}`,
  })
}

/** undefined if it does not report a version in our format. */
const versionOf = async (binary: string): Promise<string | undefined> =>
  /^ctxbridge (\S+)$/m.exec((await output([binary, "--version"])) ?? "")?.[1]

/* The installed version of Claude Code, and what it can do for us. */

/** Bytes at the end of a transcript to search for a version. Most lines have one. */
const TAIL = 1 << 16

async function claudeCheck(patient: Patient): Promise<Finding> {
  const command = calledByName()
  const said = command === undefined ? undefined : await output([command, "--version"])
  const installed = versionIn(said)
  const version = installed ?? writtenBy(patient)
  if (version === undefined) {
    return finding("claude", "skipped", "no `claude` on PATH, and no transcript that names a version")
  }
  const where = installed === undefined ? "wrote the latest transcript" : `is ${command}`
  const text = `Claude Code ${version} ${where}`
  if (!isTried(version)) {
    return finding("claude", "warn", `${text}; versions older than ${OLDEST_TRIED} are untested`, {
      hint: "update Claude Code",
    })
  }
  const lacking = lackingIn(version)
  return finding("claude", "ok", text, {
    details: [
      `supports: ${abilitiesOf(version).join("; ")}`,
      ...(lacking.length > 0 ? [`lacks: ${lacking.join("; ")}`] : []),
    ],
  })
}

/** The version in the most recently written transcript. */
function writtenBy(patient: Patient): string | undefined {
  const all = inventoryOf(patient).transcripts()
  const latest = all.reduce<TranscriptFile | undefined>(
    (last, one) => (last === undefined || one.changed > last.changed ? one : last),
    undefined,
  )
  // Another check reports a file that cannot be read.
  const source = latest && tryTo(() => openSource(latest.path))
  if (source === undefined) return undefined
  try {
    const from = Math.max(0, source.stats.size - TAIL)
    const text = Buffer.from(readExactly(source.fd, from, TAIL)).toString("latin1")
    return [...text.matchAll(/"version"\s*:\s*"(\d+\.\d+\.\d+)"/g)].at(-1)?.[1]
  } finally {
    closeSync(source.fd)
  }
}

/* The files of the archive: whether something else has one of their names (a pipe, a folder), and whether they can be locked. */

const foldersOf = ({ dataHome, stateHome }: Patient): string[] => [
  ...[
    "vault",
    "pending",
    "requests",
    "forgotten",
    "pointers",
    "reminders",
    "notes",
    "models",
    "sync",
    "pages",
  ].map((name) => join(dataHome, name)),
  sessionFolder(dataHome),
  stateHome,
  join(stateHome, "swept"),
]

const filesOf = ({ dataHome, stateHome }: Patient): string[] => [
  ...["", "-wal", "-shm"].map((suffix) => databasePath(dataHome) + suffix),
  lockPath(dataHome),
  ...["compact", "forget", "models", "notes", "rebuild", "sessions", "sync"].map((name) =>
    join(dataHome, `${name}.lock`),
  ),
  sharedState(dataHome),
  logPath(stateHome),
  join(stateHome, "job.lock"),
  join(stateHome, "job.stop"),
]

function placeCheck(patient: Patient): Finding[] {
  if (statsOf(patient.dataHome)?.isDirectory() !== true) return []
  const other = [
    ...foldersOf(patient).filter((path) => existing(path)?.isDirectory() === false),
    ...filesOf(patient).filter((path) => existing(path)?.isFile() === false),
  ]
  if (other.length === 0) return [finding("places", "ok", "nothing is in the way of the archive's files")]
  return [
    finding(
      "places",
      "fail",
      `something else is in the place of ${count(other.length, "file")} of the archive`,
      {
        hint: "move it away; it holds nothing of the archive",
        details: other.map((path) => `${path} is ${kindOf(existing(path)!)}`),
        repair: repairEach("move it aside", other, (path) => renameSync(path, freeBeside(path))),
      },
    ),
  ]
}

function kindOf(stats: Stats): string {
  if (stats.isFile()) return "a file"
  if (stats.isDirectory()) return "a folder"
  if (stats.isFIFO()) return "a pipe"
  return stats.isSocket() ? "a socket" : "a device"
}

function freeBeside(path: string): string {
  for (let n = 1; ; n++) if (existing(`${path}.aside-${n}`) === undefined) return `${path}.aside-${n}`
}

/** Without locks, nothing is archived. */
function lockCheck({ dataHome }: Patient): Finding {
  if (statsOf(dataHome)?.isDirectory() !== true) return finding("locks", "skipped", "there is no archive yet")
  try {
    probe(dataHome)
    return finding("locks", "ok", "files of the archive can be locked")
  } catch (error) {
    if (codeOf(error) !== "lock-failed") return finding("locks", "skipped", messageOf(error))
    return finding("locks", "fail", messageOf(error), {
      hint: "hooks write elsewhere; move the archive to a file system with locks, and set CTXBRIDGE_HOME",
    })
  }
}

/** The registration with agents other than Claude Code: those that are here. */
async function agentChecks(patient: Patient): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const agent of INSTALLABLE_AGENTS.filter((one) => isAgentHere(one, patient))) {
    const installer = await agent.load()
    const repair = {
      what: `register again with ${agent.title}`,
      run: () => {
        oneAtATime(patient.home, () => installAgent(installer, { places: patient, exePath: patient.exePath }))
      },
    }
    for (const { state, text, isMended, ...more } of await installer.checks(patient, patient.exePath))
      findings.push(
        finding(agent.name, state, `${agent.title}: ${text}`, { ...more, ...(isMended && { repair }) }),
      )
  }
  for (const { name, title, isUntried, transcripts } of AGENTS)
    if (isUntried === true && transcripts(patient).some((folder) => existsSync(folder)))
      findings.push(
        finding(
          name,
          "skipped",
          `${title}: its sessions are read as others describe them; not tried with the program`,
        ),
      )
  return findings
}
