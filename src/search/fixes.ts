/** What followed an error: the calls made until the same thing next succeeded. */
import { isShell } from "../agents/tool-kinds.ts"
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { type CallInTurn, callsAfter, failedCall } from "../archive/queries/calls.ts"
import { type TakenBack, takenBackOf } from "../archive/taken-back-mark.ts"
import { unfiltered } from "../transcript/failed-runs.ts"
import { once } from "../util/once.ts"
import type { WholeCalls } from "./whole-calls.ts"

/** `takenBack` is that of the turn of the error. */
export interface Fix extends TakenBack {
  /** The turn of the error, with `ctx:`. */
  readonly handle: string
  readonly time: string | null
  readonly tool: string
  readonly target: string
  readonly error: string
  /** Calls made after it, in order: the last ones before the success, or the first ones when it never succeeded. */
  readonly steps: readonly FixStep[]
  /** The turn in which the same call succeeded; null when it never did in this session. */
  readonly solvedIn: string | null
  /** Whether that turn was taken back. */
  readonly solutionTakenBack?: true
  /** What the model said at the end of that turn, or of the error's turn when there is none. */
  readonly answer: string
}

export interface FixStep {
  readonly tool: string
  readonly target: string
  readonly failed: boolean
}

/** How many calls after an error are examined, and how many of them are reported. */
const LOOKED_AT = 400
const TOLD = 8

export type WholeFix = () => Pick<Fix, "target" | "error" | "steps">

/**
 * @param messages results that were found, best first
 * @returns each fix with a function that reads its full texts from the vault; the fix itself has the views' short ones
 */
export function fixesFor(
  db: Database,
  messages: readonly number[],
  calls: WholeCalls,
): (readonly [Fix, WholeFix])[] {
  // The calls after one error are mostly those after the next as well.
  const scripts = new Map<string, string>()
  const scriptOf = (text: string): string => {
    const known = scripts.get(text) ?? unfiltered(text)
    scripts.set(text, known)
    return known
  }
  return messages.flatMap((message) => {
    const failed = failedCall(db, message)
    return failed === null ? [] : [fixOf(db, failed, calls, isShell(failed.name) ? scriptOf : (text) => text)]
  })
}

/** @param essence what calls must share to be the same */
function fixOf(
  db: Database,
  failed: CallInTurn,
  calls: WholeCalls,
  essence: (target: string) => string,
): readonly [Fix, WholeFix] {
  const after = callsAfter(db, failed, LOOKED_AT)
  const target = essence(failed.target)
  const key = once(() => essence(calls.key(failed)))
  const isSame = (one: CallInTurn): boolean =>
    one.name === failed.name && essence(one.target) === target && essence(calls.key(one)) === key()
  const at = after.findIndex((one) => one.isError === 0 && one.error === null && isSame(one))
  const solved = at < 0 ? undefined : after[at]!
  const until = at < 0 ? after.slice(0, TOLD) : after.slice(0, at).slice(-TOLD)
  const stepOf = (call: CallInTurn, target: string): FixStep => ({
    tool: call.name,
    target,
    failed: call.isError === 1 || call.error !== null,
  })
  const fix: Fix = {
    handle: HANDLE_PREFIX + failed.handle,
    time: failed.time,
    tool: failed.name,
    target: failed.target,
    error: failed.error ?? "",
    steps: until.map((call) => stepOf(call, call.target)),
    solvedIn: solved === undefined ? null : HANDLE_PREFIX + solved.handle,
    answer: (solved ?? failed).answer,
    ...takenBackOf(failed),
    ...(solved?.takenBack === 1 ? { solutionTakenBack: true } : {}),
  }
  const wholeFix: WholeFix = () => ({
    target: calls.target(failed) ?? fix.target,
    error: calls.output(failed) ?? fix.error,
    steps: until.map((call) => stepOf(call, calls.target(call) ?? call.target)),
  })
  return [fix, wholeFix]
}
