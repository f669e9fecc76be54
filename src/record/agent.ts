/** What has to be known of an agent whose sessions are kept (agents/agent-table.ts). */

import type { JsonObject } from "./json.ts"
import type { TranscriptRecord } from "./types.ts"

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
  /** Fields of its input, the most telling first; of several or of a list, what sums them up. */
  readonly target?: readonly string[] | ((fields: JsonObject) => string | undefined)
  /** The files that a call is about, if its target does not name them all. */
  readonly files?: (fields: JsonObject) => ToolFile[]
  /** What a call changes in files, if its fields are not those of a single replacement. */
  readonly replaced?: (fields: JsonObject) => ReplacedText[]
  /** The todo list after a call, if its input is one. */
  readonly todos?: (fields: JsonObject) => TodoItem[] | undefined
  /** What a call changes of the list of tasks. */
  readonly task?: (fields: JsonObject) => TaskChange | readonly TaskChange[]
}

export interface ToolFile {
  readonly path: string
  readonly op: "read" | "write" | "edit"
}

/** A text as it was and as it is now. Of a file that was written as a whole, nobody says what was there before. */
export interface ReplacedText {
  readonly before: string | undefined
  readonly after: string
}

export interface TodoItem {
  readonly content: string
  readonly status: string
}

/** A change of the task list. The id of a new task is in the result (see `createdTaskId`). */
export interface TaskChange {
  readonly id?: string
  readonly subject?: string
  readonly status?: string
  /** The model itself has given a new task its id. */
  readonly isNew?: true
}

/** Whose transcript it is, according to its path. */
export interface TranscriptName {
  /** The session; undefined for a subagent whose path does not name its parent. */
  readonly session: string | undefined
  /** The subagent, if it is a subagent's transcript; for another file below `subagents/`, its path there. */
  readonly agent: string | undefined
}

/** A prompt in the list of all. */
export interface HistoryPrompt {
  /** As named in the line; versions of Claude Code up to 2.0.55 name none, and then it is of its project's day. */
  readonly session: string
  /** Empty if it only calls a command that the agent carries out itself. */
  readonly text: string
  /** ISO 8601. */
  readonly time: string
  readonly project: string | undefined
}

/** Where an agent's files may be. */
export interface AgentPlaces {
  readonly home: string
  /** Claude Code's configuration folder, which a variable may name. */
  readonly claudeDir: string
  /** The folder that a variable names; undefined unless it is an absolute path. */
  readonly named: (variable: string) => string | undefined
}

/** A file that an agent keeps beside a session's transcript: long outputs, plans, what a subagent was started as. */
export interface PlaceBeside {
  /** The session's name as it is in the path. */
  readonly session: string
  /** Its path below the session's folder. */
  readonly name: string
}

/** Where a transcript's copies are kept, below the folder in the vault that has the agent's name. */
export interface CopyPlace {
  /** The agent's own folder that the transcript is in. */
  readonly root: string
  /** Where that is below the user's home folder, unless told otherwise. */
  readonly usual: string
  /** Path below that; by default the transcript's name. A subagent's has `<session>/subagents/` before it. */
  readonly below?: string
}

/** How an agent names its files. */
export interface FileLayout {
  /** Whether a path is in its folder. */
  readonly owns: (path: string) => boolean
  /** Names of variables that tell where that is. */
  readonly variables?: readonly string[]
  /** Without it, copies are kept as Claude Code's (vault/layout.ts). */
  readonly copyPlace?: (transcript: string) => CopyPlace
  /** Whether a file in its folder is a transcript; by default, all `.jsonl` are. */
  readonly isTranscript?: (path: string) => boolean
  /** Whether such a file is one document, or compressed, and a transcript is made of it. */
  readonly isDocument?: (path: string) => boolean
  /** Whether its sessions are no files, but rows of a database. */
  readonly isRows?: true
  readonly namesInPath: (transcript: string) => TranscriptName
  /** The transcript of the session that a subagent's belongs to, if not as Claude Code keeps them. */
  readonly parentOf?: (subagent: string) => string
  /** The project's folder that a line names, if not as `cwd`. Called with each line until one does. */
  readonly folderInLine?: (line: string) => string | undefined
  readonly placeBeside?: (path: string) => PlaceBeside | undefined
}

/** How a program of an agent's goes on with a session, and begins one with a prompt, as its `--help` says. */
export interface CommandLine {
  readonly program: string
  /** Words after it; absent: no session can be named there. */
  readonly resume?: (session: string) => readonly string[]
  /** Words that begin a new session with this prompt, in which the user can go on. */
  readonly begin: (prompt: string) => readonly string[]
  /** Brings back a session that was put aside, before which it cannot be resumed. */
  readonly unarchive?: (session: string) => readonly string[]
  /** The variable that names its folder. */
  readonly folderIn?: string
}

export interface Agent {
  /** As options and output name it. */
  readonly name: string
  /** What people call it. */
  readonly title: string
  /** Whether its sessions are read as others describe them: the program itself was not tried. */
  readonly isUntried?: boolean
  /** Folders of all its transcripts. */
  readonly transcripts: (places: AgentPlaces) => readonly string[]
  /**
   * Where a transcript with this name is below the agent's folder: where the agent goes on with it, and where it is when
   * the user has put it aside. For agents that read a session from a file that was written back.
   */
  readonly placesOf?: (name: string) => { readonly usual: string; readonly aside: string } | undefined
  /** Whether a file lies, or is named, as its transcripts are, which may be a backup. */
  readonly isNamedAsTranscript: (path: string) => boolean
  /** The list of all prompts that were typed, if it keeps one. */
  readonly promptHistory?: (places: AgentPlaces) => string
  /** A line of that list; undefined if it is none. */
  readonly historyPrompt?: (line: string) => HistoryPrompt | undefined
  /**
   * What a session's document holds, in order: each becomes a line, which it is then asked to decode. Ours has the field
   * `ctxbridge` besides.
   *
   * @param beside the text of a small file that lies beside the document
   * @throws if it is none
   */
  readonly documentLines?: (
    text: string,
    path: string,
    beside: (name: string) => string | undefined,
  ) => JsonObject[]
  /** Whether it wrote a line of a transcript. */
  readonly wrote: (line: string) => boolean
  /** Decodes a line of a transcript. Never throws; what is not a JSON object becomes a record of type `malformed`. */
  readonly decode: (line: string) => TranscriptRecord
  /** The same for showing some lines: no more than these of a record. */
  readonly partsOf: (line: string) => Pick<TranscriptRecord, "uuid" | "parts">
  /** Images, documents and sounds in a line, as base64 and in its order. The same bytes may be there twice. */
  readonly mediaData?: (line: string) => string[]
  readonly tools: Readonly<Record<string, AgentTool>>
  readonly commandLine?: CommandLine
}
