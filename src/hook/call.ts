/** One hook call, as it goes from step to step, and what runs the steps (steps.ts). */

import type { logError } from "../base/log.ts"
import { CLAUDE_HOOKS } from "../claude/hooks.ts"
import type { Settings } from "../config/load.ts"
import type { EventName, HookEvent, HookForm } from "../record/hook-event.ts"
import type { ContextState, Judgement } from "../restore/window/context-state.ts"
import type { Taken, TakeOptions } from "../vault/capture.ts"
import type { SessionState } from "./state.ts"

/** What it was called with, and what the steps so far have found: what is optional, until one of them has. */
export interface HookCall {
  readonly event: HookEvent
  /** Of the agent that calls. */
  readonly form: HookForm
  readonly settings: Settings
  /** ms since the epoch. */
  readonly now: number
  /** ms of performance.now(), counted from the start of the process. */
  readonly deadline: number
  /** How transcripts are taken, and until when. */
  readonly taking: TakeOptions
  /** Nothing else is to be done. */
  readonly isOver?: boolean
  /** Why the last step that failed did so. */
  readonly failure?: unknown

  /** The transcript that is being taken. */
  readonly path?: string
  /** What was taken of the transcripts: of the session's own first. */
  readonly taken: readonly Taken[]
  /** Of them, the session's own. */
  readonly found?: Taken | undefined
  /**
   * The same, if it has a copy. Without one (another process holds its lock, or there is no transcript), nobody can tell
   * how far it has come.
   */
  readonly own?: Taken | undefined
  /**
   * Reads the session's transcript where that is no file, as the vault has it: as many bytes as there are, or undefined if
   * they cannot be read.
   */
  readonly made?: (from: number, length: number) => Buffer | undefined
  /** What the views do not know about yet, because no marker could be left. */
  readonly unmarked?: Taken | undefined
  /** Something had to be put elsewhere than into the vault. */
  readonly isSpooled?: boolean
  /** Bytes that the file of what is known of the session had before; undefined: there is none. */
  readonly known?: number | undefined
  /** More is left for the job than it is known from `taken`. */
  readonly isJobDue?: boolean

  /** Another settings file's hook was called for the same start before. */
  readonly isSecond?: boolean
  /** As the last hook left it. */
  readonly before: SessionState
  /** That came from elsewhere than its usual place. */
  readonly isElsewhere?: boolean
  /** With what this event adds; the same object as `before` if that is nothing. */
  readonly state: SessionState
  /** The compaction is refused. */
  readonly isRefused?: boolean
  /** Compactions in the lines that no hook has seen before: offsets in the transcript. */
  readonly compactions: readonly number[]
  /** How full the window is, if that is to be told unless something else is given back. */
  readonly news?: Judgement | undefined
  /** Publishes how full it is for other tools. */
  readonly publish?: ((context: ContextState) => void) | undefined
  /** The last restore has not reached the conversation, and is to be given again. */
  readonly isLost?: boolean
  /** What the prompt asks for of what came before the compaction. */
  readonly earlier?: AskedForEarlier | undefined

  /** That the session works in, once something is to be replied; undefined if nobody has told its folder. */
  readonly project?: string
  /** It is settled what is replied, if anything. */
  readonly isReplied?: boolean
  /** For the model; before a compaction, for Claude Code. */
  readonly text: string
  /** For the user. */
  readonly note: string
  /** The views were missing or damaged, so the job must rebuild them from the whole vault. */
  readonly areViewsLost?: boolean
}

export interface AskedForEarlier {
  /** Whether the prompt asks what was said or done. */
  readonly inWords: boolean
  /** What kind of answer it asks for, if it says so. */
  readonly kind?: AskedKind
  /** Files and identifiers in it. */
  readonly names: readonly string[]
}

export type AskedKind = "decision" | "command" | "error"

/** What a step adds to the call. */
export type Added = Partial<HookCall>

type Run = (call: HookCall) => Added | undefined | Promise<Added | undefined>

/** Steps that few calls need, by their names. */
export type Later = Readonly<Record<string, Run>>

export type HookStep = StepFrame & ({ readonly run: Run } | { readonly run?: never; later(): Promise<Later> })

interface StepFrame {
  /** What the log says of it. */
  readonly name: string
  /** The events that it is for; default: all. */
  readonly at?: readonly EventName[]
  /** What must have been found before, or whether there is something to do. Default: always. */
  readonly due?: keyof HookCall | ((call: HookCall) => boolean)
  /** What is done if it fails. The call goes on without what it would have added. */
  readonly instead?: readonly HookStep[]
}

/**
 * The one place where a hook catches what fails: it goes into the log, and the steps after it are done all the same.
 *
 * @param found what the steps are to know besides
 */
export async function runSteps(steps: readonly HookStep[], call: HookCall, found?: Added): Promise<void> {
  Object.assign(call, found)
  for (const step of steps) {
    const { name, at, due, instead } = step
    if (call.isOver) return
    if (at !== undefined && !at.includes(call.event.name)) continue
    try {
      if (typeof due === "function" ? !due(call) : due !== undefined && (call[due] ?? false) === false)
        continue
      const run = step.run ?? (await step.later())[name]!
      const added = run(call)
      Object.assign(call, added instanceof Promise ? await added : added)
    } catch (failure) {
      const { event, settings } = call
      const entry = { event: event.name, step: name, session: event.session, error: failure }
      await noted(settings.paths.stateHome, entry)
      if (instead !== undefined) await runSteps(instead, call, { failure })
    }
  }
}

/** A log that cannot be written, or not even loaded, keeps nothing from going on. */
export const noted = (stateHome: string, entry: Parameters<typeof logError>[1]): Promise<void> =>
  import("../base/log.ts").then((log) => log.logError(stateHome, entry)).catch(() => {})

export const seldom = async (): Promise<Later> => (await import("./seldom.ts")).SELDOM

/** Share of the deadline for filling the vault. The rest is for views and reply. */
const VAULT_SHARE = 0.4

/** The call before any step, at this moment. */
export function callFor(
  event: HookEvent,
  settings: Settings,
  now: number,
  deadline: number,
  form: HookForm = CLAUDE_HOOKS,
): HookCall {
  const start = performance.now()
  return {
    event,
    form,
    settings,
    now,
    deadline,
    taking: {
      now,
      deadline: start + (deadline - start) * VAULT_SHARE,
      hurried: true,
      lastLine: "whole",
      parent: event.session,
    },
    taken: [],
    before: {},
    state: {},
    compactions: [],
    text: "",
    note: "",
  }
}
