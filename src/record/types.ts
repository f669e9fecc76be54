/**
 * The vocabulary of a decoded transcript: what one line of it means to us.
 *
 * An agent's decoder keeps the wire format to itself. Everything else sees only these types.
 */

export type PromptVia =
  | "typed"
  /** Typed while Claude Code was working; such a prompt may exist only as an attachment. */
  | "queued"
  /** A slash command, `/name args`. */
  | "command"
  /** `!` mode: a shell command run by the human. */
  | "bash"
  /** `#` mode: a note to Claude Code's memory file. */
  | "memory"
  /** Known only from the list of all prompts: its session's transcript is not archived. */
  | "history"

/** The four counts that the API reports. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cacheCreation: number
  readonly cacheRead: number
}

export interface Usage extends Tokens {
  readonly messageId: string
  readonly model: string
  /** Of `cacheCreation`, what the API keeps for an hour rather than five minutes. */
  readonly cacheHour: number
  /** Whether it was answered in Claude Code's fast mode, which costs more. */
  readonly isFast?: boolean
}

/** What Claude Code itself says of its work, at the end of a query (`result`) or of its process (`cost-state`). */
export interface ClaudeResult {
  /** `success`, `error_max_turns` and the like, or `cost-state`. */
  readonly kind: string
  readonly isError: boolean
  /**
   * US dollars, of all that this process has done so far; newer versions of Claude Code go on counting after a resume.
   */
  readonly cost: number | undefined
  /** Requests to the model in this query. */
  readonly requests: number | undefined
  /** ms that this query took. */
  readonly duration: number | undefined
  readonly tokens: Tokens | undefined
  /** The same for each copy of the line. */
  readonly key: string
}

/** One meaningful piece of a record, in the record's order. */
export type Part =
  /** Words of a human; opens a turn. */
  | {
      readonly kind: "prompt"
      readonly via: PromptVia
      readonly text: string
      /** tool_use_id of the result whose text contains the words, if nothing else says that they are a human's. */
      readonly within?: string
    }
  /** What a human answered to a question of the model's. Opens no turn, as the model goes on with what it does. */
  | {
      readonly kind: "reply"
      /** Empty: the text answers a whole form. */
      readonly question: string
      readonly text: string
      /** tool_use_id of the result whose text contains the words. */
      readonly within: string
    }
  /** A prompt put into Claude Code's queue. Becomes a `prompt` only if Claude Code takes it out again. */
  | { readonly kind: "enqueued"; readonly text: string }
  /** What a parent agent asked of a subagent, or what the model wanted kept as a note. */
  | { readonly kind: "brief"; readonly text: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "toolUse"; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly kind: "toolResult"
      readonly id: string
      readonly text: string
      readonly isError: boolean
      /** Path of the file where Claude Code keeps an output too large for the transcript. */
      readonly persistedTo?: string
    }
  /** Output of a slash command or of `!` mode. */
  | { readonly kind: "output"; readonly text: string; readonly isError: boolean }
  | { readonly kind: "interrupt"; readonly text: string }
  /** Words of Claude Code or of a background task in a user message; never a human's. */
  | { readonly kind: "notice"; readonly text: string }
  /** Context that a hook or Claude Code showed to the model. */
  | { readonly kind: "context"; readonly source: string; readonly text: string }
  /** An API error shown in place of an answer. */
  | { readonly kind: "apiError"; readonly text: string }
  /** The summary that replaced the conversation at a compaction. */
  | {
      readonly kind: "summary"
      readonly text: string
      /** The agent whose compaction it was; undefined: Claude Code. */
      readonly by?: string
    }
  | {
      readonly kind: "boundary"
      /** `manual`, `auto`; `unknown` if the line does not tell. */
      readonly trigger: string
      readonly preTokens: number | undefined
      /** Tokens of the messages that remain, reported by newer versions of Claude Code. */
      readonly postTokens: number | undefined
      /** uuids of messages that Claude Code kept in the context. */
      readonly preserved: readonly string[]
    }
  | { readonly kind: "title"; readonly text: string }
  /** An image or document; its bytes stay in the vault. */
  | { readonly kind: "media"; readonly mediaType: string; readonly base64Length: number }

/** One decoded line. If it holds nothing for the views, it has no parts; the vault has its bytes nevertheless. */
export interface TranscriptRecord {
  /** Claude Code's own name for the line, `type` or `type/subtype`; `malformed` if it is not a JSON object. */
  readonly type: string
  readonly uuid: string | undefined
  readonly parentUuid: string | undefined
  readonly timestamp: string | undefined
  readonly sessionId: string | undefined
  readonly cwd: string | undefined
  readonly version: string | undefined
  readonly gitBranch: string | undefined
  readonly agentId: string | undefined
  readonly promptId: string | undefined
  /**
   * Who submitted a user message (`typed`, `sdk`, `system`), on newer versions of Claude Code. Missing on a plugin's.
   */
  readonly promptSource?: string | undefined
  /** Whether the line was made from another tool's archive, so that nobody vouches for its content. */
  readonly imported?: boolean | undefined
  /** Name of the agent whose line it is (agents/agent-table.ts); undefined: Claude Code's. */
  readonly program?: string | undefined
  /** What the session was started for by another one; then no human speaks in it. */
  readonly spawned?: { readonly parent: string; readonly name: string } | undefined
  /**
   * The session that this one was forked from. What it shares with that is not written again, if it is said up to which
   * byte of the other's transcript that goes.
   */
  readonly forked?: { readonly from: string; readonly upTo: number | undefined } | undefined
  /** How many of the turns before it the user has undone, for agents that write that down. */
  readonly undone?: number | undefined
  /** The model of the answers that follow, where an agent names it apart from their counts. */
  readonly model?: string | undefined
  /** Whether it is a line of a subagent, wherever it was written. */
  readonly sidechain: boolean
  readonly usage: Usage | undefined
  readonly result?: ClaudeResult | undefined
  readonly parts: readonly Part[]
  /** Whether its uuid alone names it: an agent that writes a message again says nothing new in it. */
  readonly once?: true
  /** Records of their own within the line, in its order: an agent may write a message with all that came of it. */
  readonly inner?: readonly InnerRecord[]
}

/** A compaction of which no more is told than that it was. */
export const UNTOLD_COMPACTION: Part = {
  kind: "boundary",
  trigger: "unknown",
  preTokens: undefined,
  postTokens: undefined,
  preserved: [],
}

/** A record of which nothing else is known than its type and parts. @param program as in a record */
export const plainRecord = (
  program: string,
  type: string,
  parts: readonly Part[],
): TranscriptRecord & { readonly program: string } => ({
  type,
  uuid: undefined,
  parentUuid: undefined,
  timestamp: undefined,
  sessionId: undefined,
  cwd: undefined,
  version: undefined,
  gitBranch: undefined,
  agentId: undefined,
  promptId: undefined,
  program,
  sidechain: false,
  usage: undefined,
  parts,
})

export interface InnerRecord {
  readonly record: TranscriptRecord
  /** The JSON object that it is, as it stands in the line; decoded alone, it has the same parts. */
  readonly json: string
}

/** A compaction, as its line tells. */
export interface GlancedCompaction {
  readonly trigger: string
  /** Tokens in the context just before. */
  readonly preTokens: number | undefined
  /** Tokens of the messages that remain, reported by newer versions of Claude Code. */
  readonly postTokens: number | undefined
}

/** What new lines of a transcript tell of the window, without decoding them all. */
export interface Glance {
  readonly compactions: readonly GlancedCompaction[]
  /** Usage of the newest answer after the last compaction. */
  readonly usage: (Usage & { readonly version: string | undefined }) | undefined
  /** Tokens sent by the first request of these lines; undefined if there was a compaction. */
  readonly firstPrompt: number | undefined
  /** UTF-16 units of the conversation after the last compaction; counted only if there is no usage. */
  readonly chars: number
}
