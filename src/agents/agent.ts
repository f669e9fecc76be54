/** What has to be known of an agent whose sessions we keep. Claude Code is the only one so far. */
import type { TranscriptRecord } from "../transcript/types.ts"
import type { EventName, HookEvent } from "./hook-event.ts"

/** What a tool does, whatever the agent calls it. */
export type ToolKind =
  /** Runs a command of a POSIX shell, whose words we read. */
  | "run"
  /** Runs a command of another shell. */
  | "run-other"
  | "read"
  | "write"
  | "edit"
  /** Looks for files or text in them. */
  | "search"
  /** Looks for tools, and so brings the words of servers. */
  | "search-tools"
  /** Brings strangers' pages. */
  | "fetch"
  /** Has another agent work. */
  | "agent"
  | "todo"
  /** Asks the user. */
  | "ask"
  | "plan"
  /** Loads instructions that the user or a plugin has written down. */
  | "skill"
  /** Waits for, shows or stops what runs already. */
  | "watch"

export interface AgentTool {
  readonly kind: ToolKind
  /** Fields of its input, the most telling first. */
  readonly target?: readonly string[]
}

/** Whose transcript it is, according to its path. */
export interface TranscriptName {
  /** The session; undefined for a subagent whose path does not name its parent. */
  readonly session: string | undefined
  /** The subagent, if it is a subagent's transcript; for another file below `subagents/`, its path there. */
  readonly agent: string | undefined
}

export interface Agent {
  /** For people. */
  readonly title: string
  /** The command that starts it. */
  readonly command: string
  /** Where its files are, below the folder of its configuration. */
  readonly places: {
    /** Transcripts of all sessions. */
    readonly transcripts: (folder: string) => string
    readonly settings: (folder: string) => string
    readonly memory: (folder: string) => string
    /** Folders into which its installers put the program, beside those on PATH. */
    readonly programs: (home: string) => readonly string[]
  }
  /** Whose transcript it is, according to its path. */
  readonly layout: (transcript: string) => TranscriptName
  /** Decodes a line of a transcript. Never throws. */
  readonly decode: (line: string) => TranscriptRecord
  readonly hooks: {
    /** Its events that we ask for, and our names for them. */
    readonly events: Readonly<Record<string, EventName>>
    readonly decode: (name: EventName, document: unknown) => HookEvent | undefined
    /** What stands in its settings for a hook of ours. */
    readonly entry: (command: string) => object
  }
  readonly tools: Readonly<Record<string, AgentTool>>
}
