/** What a hook is called for, in our words, whichever agent calls it. Pure. */
import type { AgentPlaces } from "./agent.ts"

/** The events, as hook commands name them. */
export const EVENTS = [
  "session-start",
  "user-prompt-submit",
  "pre-compact",
  "stop",
  "subagent-stop",
  "session-end",
  "post-tool-use",
] as const

/** With the one that has a program of its own (hook/before-action.ts). */
export type EventName = (typeof EVENTS)[number] | "pre-tool-use"

/** The event of that name, however it is spelled: `PreCompact`, `pre-compact`, `precompact`. */
export const eventNamed = (name: string): EventName | undefined =>
  EVENTS[EVENTS.join().replace(/-/g, "").split(",").indexOf(name.replace(/[\W_]/g, "").toLowerCase())]

/** Events at which a compaction is answered that has been found in the transcript. */
export const answersLate = ({ name }: Pick<HookEvent, "name">): boolean =>
  name === "user-prompt-submit" || name === "post-tool-use"

export interface HookEvent {
  readonly name: EventName
  /** Who called, as options name it; undefined: Claude Code. */
  readonly agent?: string | undefined
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

/** What is said in return: either may be empty. */
export interface HookReply {
  /** For the model; before a compaction, what the agent takes then. */
  readonly text: string
  /** Shown to the user only. */
  readonly note: string
}

/** How an agent calls hooks and is answered, and how it writes down what hooks look for. */
export interface HookForm {
  /** @returns undefined when the document is not about a session */
  readonly decode: (name: EventName, document: unknown, places: AgentPlaces) => HookEvent | undefined
  /** What is printed: valid in whatever version calls, or nothing. */
  readonly encode: (event: HookEvent, reply: HookReply) => string
  /** Where compactions of the conversation begin in whole lines: offsets. */
  readonly compactionOffsets: (content: Uint8Array) => number[]
  /** What only agents other than Claude Code have to say. */
  readonly other?: OtherHooks
}

/**
 * Such an agent keeps what hooks have given, and the user's prompts, in what it continues with after a compaction, takes
 * no instructions for one, and does not tell how full its window is.
 */
interface OtherHooks {
  /** What the last compaction has left, summary and all, in whole lines from it on; empty if nobody can read it. */
  readonly summaryIn: (content: Buffer) => string
  /** Whether it goes on without the prompt that is being answered, but for what the summary says of it. */
  readonly dropsPrompt?: true
  /** Whether notes are shown to the user when a session starts. */
  readonly showsNotes?: true
  /** Whether the model has spoken in these lines, but for a summary. */
  readonly hasAnswer: (content: Buffer) => boolean
  /**
   * Whether it starts our server.
   *
   * @param read a small file's text; undefined if there is none
   */
  readonly startsServer: (places: AgentPlaces, read: (file: string) => string | undefined) => boolean
}
