/** The first steps: the new bytes of the event's transcripts, and of what lies beside them, go into the vault. */

import { isMade } from "../agents/layouts.ts"
import { statsOf } from "../base/files.ts"
import type { HookEvent } from "../record/hook-event.ts"
import { captureTranscript } from "../vault/capture-transcript.ts"
import { knownFile } from "../vault/layout.ts"
import { type Added, type HookCall, type HookStep, runSteps, seldom } from "./call.ts"

/** For each transcript: into the vault, or into the spool if that fails. */
const EACH: readonly HookStep[] = [
  { name: "vault", run: toVault, instead: [{ name: "spool", later: seldom }] },
  { name: "mark", due: "unmarked", later: seldom },
]

export async function take(call: HookCall): Promise<Added> {
  const { event } = call
  const known = knownBytes(call)
  for (const path of transcriptsIn(event)) await runSteps(EACH, call, { path, known })
  const [first] = call.taken
  const found = first?.path === event.transcript ? first : undefined
  return {
    found,
    own: found?.captured.id === undefined ? undefined : found,
    // Another hook may have recognised something meanwhile.
    known: knownBytes(call) > 0 ? known : undefined,
    // The user does not want this session here: no prompt and no marker is kept, and nothing is given back. Nobody could
    // go on with a strange one.
    isOver: found?.captured.state === "forgotten" || event.isStrange === true,
  }
}

/** Bytes of the file of what is known of the session. */
function knownBytes({ event, settings }: HookCall): number {
  return statsOf(knownFile(settings.paths.dataHome, event.session))?.size ?? 0
}

async function toVault(call: HookCall): Promise<Added> {
  const { settings, taking, taken, path, known } = call
  // A session that is no transcript.
  if (isMade(path!)) return (await import("./take-made.ts")).taken(call)
  // What the first transcript brought is known in the second.
  const isNew = known === 0 && (taken.length === 0 || knownBytes(call) === 0)
  const knows = isNew ? "ask" : (await knowing()).known
  const first = captureTranscript(settings.paths, path!, { ...taking, known: knows })
  const isWhole = first.captured.state !== "recognised"
  const one = isWhole ? first : (await knowing()).takeOn(settings.paths, path!, taking, first)
  return { taken: [...taken, one], unmarked: one.unmarked ? one : undefined }
}

const knowing = () => import("./known-secrets.ts")

// Loops instead of array methods: the engine compiles each method on its first call, which takes 0.07 ms.
export function transcriptsIn({ transcript, agentTranscript }: HookEvent): string[] {
  const paths: string[] = []
  if (transcript !== undefined) paths.push(transcript)
  if (agentTranscript !== undefined) paths.push(agentTranscript)
  return paths
}

/** Whether Claude Code keeps anything beside the transcript: nothing, in most sessions. */
export const hasBeside = ({ event }: HookCall): boolean =>
  event.transcript !== undefined && statsOf(event.transcript.slice(0, -6)) !== undefined

export async function takeBeside({ event, settings, now, taking }: HookCall): Promise<Added> {
  const { takeNewBeside } = await import("../vault/files-beside.ts")
  return { isJobDue: takeNewBeside(settings.paths, event.transcript!, now, taking.deadline) }
}
