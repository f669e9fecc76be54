/** Runs each hook as the host would, on a made-up session and with a throwaway archive. */
import { mkdirSync, writeFileSync } from "node:fs"
import { messageOf } from "../../base/errors.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { dirname, join } from "../../base/path.ts"
import { runChild } from "../../base/processes.ts"
import { temporaryFolder } from "../../base/temporary.ts"
import { count, cut, oneLine } from "../../base/text.ts"
import { hookPayload } from "../../claude/fake/payload.ts"
import { HostTranscript } from "../../claude/fake/transcript.ts"
import { HOOK_TIMEOUT_SECONDS, HOOKS, type HostEvent } from "../../claude/hooks.ts"
import { OLDEST_TRIED } from "../../claude/install/clients.ts"
import { hookCommand } from "../../claude/install/hooks-table.ts"
import { inHostShell } from "../../claude/settings/hook-shell.ts"
import { withArchive } from "../../config/load.ts"
import { sweepDue } from "../../job/due-work.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { archivedIn } from "../../vault/reader.ts"
import { isExcluded } from "../../views/excluded.ts"
import { open } from "../../views/open.ts"
import { type Finding, finding, type Patient } from "./finding.ts"
import { type InstalledHook, isExecutable, ourHooks } from "./registration-checks.ts"

/** The host's limit for text that a hook gives to the model, in UTF-16 units. */
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

export async function hookRuns(patient: Patient): Promise<Finding[]> {
  const hooks = [...new Map(ourHooks(patient).map((hook) => [hook.command, hook])).values()]
  const known = hooks.filter(({ event, binary }) => Object.hasOwn(HOOKS, event) && isExecutable(binary))
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
  return isOurBinary(exePath) && command === hookCommand(exePath, event as HostEvent)
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
  const event = hook.event as HostEvent
  const { payload, transcript, size } = stage(event, join(root, `host-${n}`), n)
  // Keeps the hook from asking for a background job, which would outlive the folder.
  open(dataHome, "write", 0).close()
  if (transcript !== undefined) sweepDue(dirname(transcript), join(dataHome, "state"), patient.now)
  try {
    const { stdout, stderr, code, late, ms } = await runChild(inHostShell(hook.command), {
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

/** A short session, and the host's event for it. */
function stage(event: HostEvent, folder: string, n: number) {
  const session = `00000000-0000-4000-8000-00000000000${n % 10}`
  const fields: Readonly<Record<HostEvent, object>> = {
    SessionStart: { source: "startup" },
    UserPromptSubmit: { prompt: "ctxbridge doctor" },
    PreCompact: { trigger: "manual", custom_instructions: null },
    Stop: { stop_hook_active: false },
    SubagentStop: { agent_type: "general-purpose", stop_hook_active: false },
    SessionEnd: { reason: "other" },
  }
  mkdirSync(folder, { recursive: true })
  const transcript = join(folder, `${session}.jsonl`)
  const { text } = new HostTranscript({ session, cwd: folder, version: OLDEST_TRIED }).user(
    "ctxbridge doctor",
  )
  writeFileSync(transcript, text)
  // A session end with a transcript would start the background job.
  const told = event === "SessionEnd" ? undefined : transcript
  const payload = hookPayload(HOOKS[event], { session, transcript: told, cwd: folder }, fields[event])
  return { payload, transcript: told, size: Buffer.byteLength(text) }
}

/** Accepts no output, text for the compaction, or a document with context for the model. */
function isValid(event: HostEvent, stdout: string): boolean {
  if (stdout === "") return true
  if (event === "PreCompact") return stdout.length <= LARGEST && !stdout.startsWith("{")
  if (event !== "SessionStart" && event !== "UserPromptSubmit") return false
  try {
    const { hookSpecificOutput: given } = JSON.parse(stdout)
    const text: unknown = given.additionalContext
    return given.hookEventName === event && typeof text === "string" && text.length <= LARGEST
  } catch {
    return false
  }
}
