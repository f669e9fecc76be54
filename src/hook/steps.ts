/**
 * One hook call from start to end, as a table of steps: fill the vault, remember what later events need, reply
 * (docs/architecture/hook.md).
 *
 * Only events that give the model something open the database. The others leave a marker for whoever next reads the
 * views.
 */

import type { Settings } from "../config/load.ts"
import type { HookEvent, HookForm, HookReply } from "../record/hook-event.ts"
import { claim, isByPlugin, isOwed, mayAsk, reply } from "./answer.ts"
import { type Added, callFor, type HookCall, type HookStep, type Later, runSteps, seldom } from "./call.ts"
import { mayBeLost, noticeCompactions } from "./notice.ts"
import { hasChanged, keep, mayRefuse, maySpool, recollect, remember, startJob } from "./remember.ts"
import { hasBeside, take, takeBeside } from "./take.ts"
import { watchWindow } from "./watch-window.ts"

const START = ["session-start"] as const
const COMPACT = ["pre-compact"] as const
const PROMPT = ["user-prompt-submit"] as const
const TOOL = ["post-tool-use"] as const

/** In this order; each sees what those before it have found. */
export const STEPS: readonly HookStep[] = [
  { name: "look", at: TOOL, later: afterTool },

  // What must not be lost, before anything else.
  { name: "take", run: take },
  { name: "beside", due: hasBeside, run: takeBeside },
  { name: "subagent", run: endIfSubagents },

  // What is known of the session, and what this event adds.
  { name: "claim", at: START, run: claim },
  { name: "recollect", run: recollect },
  { name: "spooled", due: maySpool, later: seldom },
  { name: "refuse", at: COMPACT, due: mayRefuse, later: seldom },
  { name: "remember", run: remember },
  { name: "notice", run: noticeCompactions },
  { name: "secrets", due: "known", later: async () => (await import("./known-secrets.ts")).SECRETS },
  { name: "window", due: isClaudes, run: watchWindow },
  { name: "limits", due: "news", later: seldom },
  { name: "delivery", at: ["user-prompt-submit", "stop"], due: mayBeLost, later: seldom },

  // What is given back, if anything.
  { name: "plugin", at: START, due: isByPlugin, later: seldom },
  {
    name: "asking",
    at: PROMPT,
    due: mayAsk,
    later: async () => (await import("./asks-for-earlier.ts")).ASKING,
  },
  { name: "reply", due: isOwed, run: reply },
  { name: "advise", due: "news", later: seldom },

  // What is left for others.
  { name: "rebuild", due: "areViewsLost", later: seldom },
  { name: "job", run: startJob },
  { name: "keep", due: hasChanged, run: keep, instead: [{ name: "allow", due: "isRefused", later: seldom }] },
  { name: "clear", at: ["session-end"], later: seldom },
]

/**
 * @param deadline ms of performance.now(), counted from the start of the process
 * @param form of whoever calls; default: Claude Code's
 * @returns what the model and the user are told, if anything
 */
export async function handle(
  called: HookEvent,
  settings: Settings,
  deadline: number,
  form?: HookForm,
): Promise<HookReply> {
  const { paths } = settings
  const event =
    paths.exclude.length === 0 ? called : (await import("../views/excluded.ts")).wantedOf(called, paths)
  if (event === undefined) return { text: "", note: "" }
  const call = callFor(event, settings, Date.now(), deadline, form)
  await runSteps(STEPS, call)
  return call
}

async function afterTool(): Promise<Later> {
  const { AFTER_TOOL } = await import("./other-agents.ts")
  return AFTER_TOOL
}

function isClaudes({ form }: HookCall): boolean {
  return form.other === undefined
}

/** A subagent's events change neither what the session is given back nor what it is waiting for. */
function endIfSubagents({ event }: HookCall): Added {
  return { isOver: event.isSubagents }
}
