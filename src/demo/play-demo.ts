/** Plays the host: writes the demo's transcript and calls this executable's real hooks, each as its own process. */
import { appendFileSync, mkdirSync } from "node:fs"
import { openForReading } from "../archive/open-for-reading.ts"
import { type Totals, totals } from "../archive/queries/totals.ts"
import { contextIn, type HookName, hookPayload } from "../claude/fake/payload.ts"
import { transcriptsFolder } from "../claude/places.ts"
import { isolatedEnvironment, loadSettings, type PathsAndPolicy } from "../config/load.ts"
import { sweepDue } from "../job/due-work.ts"
import { ownCommand } from "../job/spawn.ts"
import { dirname, join } from "../util/path.ts"
import { runChild } from "../util/run-child.ts"
import { type VerifyReport, verify } from "../vault/verify-vault.ts"
import { type DemoSession, demoSession } from "./demo-session.ts"
import { type Check, checks } from "./what-came-back.ts"

export interface HookCall {
  readonly event: string
  readonly ms: number
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface DemoReport {
  readonly ok: boolean
  readonly session: string
  readonly prompts: number
  readonly transcriptBytes: number
  readonly totals: Totals
  readonly verify: Pick<VerifyReport, "ok" | "totals">
  /** What the hook told the host's compaction to keep. */
  readonly instructions: string
  /** The context given back after it. */
  readonly restored: string
  readonly checks: readonly Check[]
  readonly hooks: readonly HookCall[]
  readonly ms: number
}

/** @param folder an empty folder for everything that the demo writes */
export async function runDemo(folder: string): Promise<DemoReport> {
  const start = performance.now()
  const env = isolatedEnvironment(folder)
  const { paths } = loadSettings(undefined, {}, env)
  const cwd = join(folder, "linkbox")
  const session = demoSession(crypto.randomUUID(), cwd, Date.now() - 3_600_000)
  const transcript = join(transcriptsFolder(paths.claudeDir), "-linkbox", `${session.id}.jsonl`)
  mkdirSync(cwd, { recursive: true })
  mkdirSync(dirname(transcript), { recursive: true })
  // Claim this hour's sweep of the folder, which would start a job that outlives the demo.
  sweepDue(dirname(transcript), paths.stateHome, Date.now())
  const hooks: HookCall[] = []
  const hook: CallHook = async (event, more) => {
    const payload = hookPayload(event, { session: session.id, transcript, cwd }, more)
    hooks.push(await callHook(event, payload, env))
    return hooks.at(-1)!.stdout
  }
  const { instructions, restored } = await play(session, hook, (text) => appendFileSync(transcript, text))
  return {
    ...judge(paths, session, transcript, { instructions, restored, hooks }),
    instructions,
    restored,
    hooks,
    ms: performance.now() - start,
  }
}

type CallHook = (event: HookName, more?: object) => Promise<string>

/** Calls the hooks in the host's order. */
async function play(session: DemoSession, hook: CallHook, write: (text: string) => void) {
  await hook("session-start", { source: "startup" })
  for (const { prompt, text } of session.turns) {
    await hook("user-prompt-submit", { prompt })
    write(text)
    await hook("stop")
  }
  await hook("user-prompt-submit", { prompt: session.pending })
  const instructions = await hook("pre-compact", { trigger: "auto" })
  await hook("subagent-stop", { agent_type: "", last_assistant_message: session.compaction.summary })
  write(session.compaction.text)
  const restored = contextIn(await hook("session-start", { source: "compact" })) ?? ""
  return { instructions, restored }
}

async function callHook(
  event: string,
  stdin: string,
  env: Record<string, string | undefined>,
): Promise<HookCall> {
  const {
    ms,
    code: exitCode,
    stdout,
    stderr,
  } = await runChild([...ownCommand(), "hook", event], { stdin, env })
  return { event, ms, exitCode, stdout, stderr }
}

function judge(
  paths: PathsAndPolicy,
  session: DemoSession,
  transcript: string,
  seen: { instructions: string; restored: string; hooks: readonly HookCall[] },
) {
  const report = verify({ dataHome: paths.dataHome, home: paths.home, transcripts: [transcript] })
  using db = openForReading(paths.dataHome)
  const counted = totals(db)
  const list = checks({
    ...seen,
    db,
    dataHome: paths.dataHome,
    session,
    verified: report.ok,
    turns: counted.turns,
  })
  return {
    ok: list.every(({ ok }) => ok),
    session: session.id,
    prompts: session.turns.length,
    transcriptBytes: report.totals.bytes,
    totals: counted,
    verify: { ok: report.ok, totals: report.totals },
    checks: list,
  }
}
