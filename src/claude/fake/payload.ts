/** What Claude Code gives a hook on its standard input, and what it takes from its output. Pure. */

import { tryTo } from "../../base/files.ts"
import { ACTION_HOOKS, HOOKS } from "../hooks.ts"

/** Our name of an event, as hook commands have it. */
export type HookName = (typeof CALLED)[keyof typeof CALLED]

const CALLED = { ...HOOKS, ...ACTION_HOOKS }

interface HookedSession {
  readonly session: string
  /** Absolute path; undefined: Claude Code names none. */
  readonly transcript: string | undefined
  readonly cwd: string
}

/** @param fields what the event has besides, or has otherwise */
export function hookPayload(event: HookName, of: HookedSession, fields: object = {}): string {
  const hook_event_name = (Object.keys(CALLED) as (keyof typeof CALLED)[]).find(
    (name) => CALLED[name] === event,
  )
  const { session: session_id, transcript: transcript_path, cwd } = of
  return JSON.stringify({ session_id, transcript_path, cwd, hook_event_name, ...fields })
}

/** The text that Claude Code would give to the model; undefined if a hook's output is no such reply. */
export function contextIn(stdout: string): string | undefined {
  const given = tryTo(() => JSON.parse(stdout).hookSpecificOutput.additionalContext)
  return typeof given === "string" ? given : undefined
}
