/** What a hook is called for, in our words, whichever agent calls it. Pure. */

/** The events, as hook commands name them. */
export const EVENTS = [
  "session-start",
  "user-prompt-submit",
  "pre-compact",
  "stop",
  "subagent-stop",
  "session-end",
] as const

export type EventName = (typeof EVENTS)[number]

/** The event of that name, however it is spelled: `PreCompact`, `pre-compact`, `precompact`. */
export const eventNamed = (name: string): EventName | undefined =>
  EVENTS[EVENTS.join().replace(/-/g, "").split(",").indexOf(name.replace(/[\W_]/g, "").toLowerCase())]

export interface HookEvent {
  readonly name: EventName
  /** Its id, or what stands for one that is none (`sessionIdOf`). */
  readonly session: string
  /** Whether the agent named no session that it could have begun: nothing but its transcript is kept then. */
  readonly isStrange?: boolean | undefined
  /** Absolute path of a `.jsonl` file; the file need not exist. */
  readonly transcript: string | undefined
  /** That it is in: the project's transcripts. */
  readonly folder: string | undefined
  readonly cwd: string | undefined
  /** Only with UserPromptSubmit. */
  readonly prompt: string | undefined
  /** Whether a human asks for something. */
  readonly isHuman: boolean
  /** Only with SessionStart: startup, resume, clear, compact, fork. */
  readonly source: string | undefined
  /** Only with PreCompact: manual, auto. */
  readonly trigger: string | undefined
  /** Only with PreCompact: the words after `/compact`. */
  readonly focus: string | undefined
  /** Only with SessionEnd: clear, other, … */
  readonly reason: string | undefined
  /** Whether a subagent begins or is compacted (told from 2.1 on); `session` is the one it works for. */
  readonly isSubagents: boolean
  /** Only with SubagentStop; `""` means the compaction itself (from 2.1). */
  readonly agentType: string | undefined
  readonly agentTranscript: string | undefined
  readonly lastMessage: string | undefined
}
