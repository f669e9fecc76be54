/** Host JSON → what we act on. Lenient: a field of the wrong type counts as missing. Pure. */
import { normalize } from "../util/path.ts"

/** Our names for the host's events, as used in hook commands. */
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
  readonly session: string
  /** Absolute path of a `.jsonl` file; the file need not exist. */
  readonly transcript: string | undefined
  readonly cwd: string | undefined
  /** Only with UserPromptSubmit. */
  readonly prompt: string | undefined
  /** Only with SessionStart: startup, resume, clear, compact, fork. */
  readonly source: string | undefined
  /** Only with UserPromptSubmit, if the host tells: user, sdk, system. */
  readonly promptSource: string | undefined
  /** Only with PreCompact: manual, auto. */
  readonly trigger: string | undefined
  /** Only with PreCompact: the words after `/compact`. */
  readonly focus: string | undefined
  /** Only with SessionEnd: clear, other, … */
  readonly reason: string | undefined
  /** The subagent that the event is about (from 2.1); `session` is the one it works for. */
  readonly agent: string | undefined
  /** Only with SubagentStop; `""` means the compaction itself (from 2.1). */
  readonly agentType: string | undefined
  readonly agentTranscript: string | undefined
  readonly lastMessage: string | undefined
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value.toWellFormed() : undefined

/** Accepts only paths that a host writes, so hooks read no other files. Removes `..`, which might leave the vault. */
const transcriptPath = (value: unknown): string | undefined =>
  typeof value === "string" && value.startsWith("/") && value.endsWith(".jsonl") && !value.includes("\0")
    ? normalize(value)
    : undefined

/** @returns undefined when the document is not about a session */
export function decodeEvent(name: EventName, document: unknown): HookEvent | undefined {
  if (typeof document !== "object" || document === null) return undefined
  const fields = document as Record<string, unknown>
  const session = text(fields["session_id"])
  if (session === undefined || !/^[\w.-]{1,200}$/.test(session)) return undefined
  return {
    name,
    session,
    transcript: transcriptPath(fields["transcript_path"]),
    cwd: text(fields["cwd"]),
    prompt: text(fields["prompt"]),
    source: name === "session-start" ? text(fields["source"]) : undefined,
    promptSource: name === "user-prompt-submit" ? text(fields["source"]) : undefined,
    trigger: text(fields["trigger"]),
    focus: name === "pre-compact" ? text(fields["custom_instructions"]) : undefined,
    reason: text(fields["reason"]),
    agent: text(fields["agent_id"]),
    agentType: text(fields["agent_type"]),
    agentTranscript: transcriptPath(fields["agent_transcript_path"]),
    lastMessage: text(fields["last_assistant_message"]),
  }
}

/**
 * Wraps text for the model in the host's format; empty if there is no text.
 *
 * @param note shown to the user only
 */
export function additionalContext({ name }: HookEvent, text: string, note = ""): string {
  if (text === "") return ""
  const hookEventName = name === "session-start" ? "SessionStart" : "UserPromptSubmit"
  const systemMessage = note === "" ? {} : { systemMessage: note }
  return JSON.stringify({
    ...systemMessage,
    hookSpecificOutput: { hookEventName, additionalContext: text },
  })
}

/** From 2.1 on, the host reports the start and end of a subagent's compaction under the session it works for. */
export const isSubagents = ({ name, agent }: HookEvent): boolean =>
  agent !== undefined && (name === "pre-compact" || name === "session-start")

/** Whether a human asked for something: the host also submits reports of tasks and others' words, and `/compact`. */
export const isHumanPrompt = ({ prompt = "", promptSource }: HookEvent): boolean =>
  promptSource !== "system" && !HOSTS_PROMPT.test(prompt)

const HOSTS_PROMPT =
  /^\s*(?:<(?:task[-_]notification|system-reminder|(?:teammate|cross-session|local-command|mcp|ci-monitor|webhook|slack)-|channel\b)|\/(?:compact|clear)(?!\S))/
