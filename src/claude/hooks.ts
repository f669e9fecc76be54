/** Claude Code's hooks: what its settings call them, what it tells them and what it takes from them. Pure. */

import { dirname, isAbsolute, normalize, withSlashes } from "../base/path.ts"
import { isPlainId, sessionIdOf } from "../base/session-id.ts"
import type { EventName, HookEvent, HookForm, HookReply } from "../record/hook-event.ts"
import { compactionOffsets } from "./glance.ts"

/**
 * Claude Code's event → name of our hook. Only events that every supported version knows: a single unknown event name
 * makes 2.0.76 ignore the whole settings file, including permissions.
 */
export const HOOKS = {
  SessionStart: "session-start",
  UserPromptSubmit: "user-prompt-submit",
  PreCompact: "pre-compact",
  Stop: "stop",
  SubagentStop: "subagent-stop",
  SessionEnd: "session-end",
} as const satisfies Readonly<Record<string, EventName>>

/** The same of what is registered only while its option is on: one call for each call of a tool. */
export const ACTION_HOOKS = { PreToolUse: "pre-tool-use" } as const satisfies Readonly<
  Record<string, EventName>
>

export type ClaudeEvent = keyof typeof HOOKS
export type ActionEvent = keyof typeof ACTION_HOOKS

/** The tools for which that is called; of other events, whatever happens. */
export const MATCHERS: Readonly<Record<string, string>> = {
  PreToolUse: "Bash|PowerShell|Edit|MultiEdit|Write|NotebookEdit",
}

/**
 * In seconds. Our own deadline is 1.5 s, so Claude Code never has to kill us. Without a timeout, it gives all
 * SessionEnd hooks together 1.5 s.
 */
export const HOOK_TIMEOUT_SECONDS = 5

/** What `/hooks` lists instead of the command, and the spinner shows while it runs. 2.0.76 shows the command. */
export const HOOK_LABEL = "ctxbridge"

/** A group of the settings that runs the command at every occurrence of an event, unless that has a matcher. */
export const hookEntry = (
  command: string,
  event: string,
): { readonly matcher?: string; readonly hooks: readonly [object] } => ({
  ...(MATCHERS[event] !== undefined && { matcher: MATCHERS[event] }),
  hooks: [{ type: "command", command, timeout: HOOK_TIMEOUT_SECONDS, statusMessage: HOOK_LABEL }],
})

const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value.toWellFormed() : undefined

const folderNamed = (value: unknown): string | undefined => {
  const folder = text(value)
  return folder && withSlashes(folder)
}

/**
 * Accepts only paths that Claude Code writes, so hooks read no other files. Removes `..`, which might leave the vault.
 */
export const transcriptPath = (value: unknown): string | undefined =>
  typeof value === "string" && isAbsolute(value) && value.endsWith(".jsonl") && !value.includes("\0")
    ? normalize(value)
    : undefined

/** Besides a human's, Claude Code submits reports of tasks and others' words, and `/compact`. */
const HOSTS_PROMPT =
  /^\s*(?:<(?:(?:task|agent|bash)[-_]notif|(?:system|teammate|cross-session|local-command|mcp|ci-monitor|webhook|slack)-|channel\b)|\/(?:compact|clear)(?!\S))/

/** @returns undefined when the document is not about a session */
export function decodeEvent(name: EventName, document: unknown): HookEvent | undefined {
  if (typeof document !== "object" || document === null) return undefined
  const fields = document as Record<string, unknown>
  const told = text(fields["session_id"])
  if (told === undefined) return undefined
  const transcript = transcriptPath(fields["transcript_path"])
  const prompt = text(fields["prompt"])
  const source = text(fields["source"])
  return {
    name,
    session: sessionIdOf(told),
    isStrange: !isPlainId(told),
    transcript,
    folder: transcript && dirname(transcript),
    cwd: folderNamed(fields["cwd"]),
    prompt,
    isHuman: name === "user-prompt-submit" && source !== "system" && !HOSTS_PROMPT.test(prompt ?? ""),
    source: name === "session-start" ? source : undefined,
    trigger: text(fields["trigger"]),
    focus: name === "pre-compact" ? text(fields["custom_instructions"]) : undefined,
    reason: text(fields["reason"]),
    isSubagents:
      (name === "pre-compact" || name === "session-start") && text(fields["agent_id"]) !== undefined,
    agentType: text(fields["agent_type"]),
    agentTranscript: transcriptPath(fields["agent_transcript_path"]),
    lastMessage: text(fields["last_assistant_message"]),
  }
}

/**
 * What a hook answers, in Claude Code's format; empty if there is neither text nor note.
 *
 * @param text for the model; before a compaction, instructions for it or its refusal, which are taken as they are
 * @param note shown to the user only
 */
export function encodeReply({ name }: HookEvent, { text, note }: HookReply): string {
  if (text + note === "" || name === "pre-compact") return text
  const hookEventName = name === "session-start" ? "SessionStart" : "UserPromptSubmit"
  const systemMessage = note === "" ? {} : { systemMessage: note }
  const forModel = text === "" ? {} : { hookSpecificOutput: { hookEventName, additionalContext: text } }
  return JSON.stringify({ ...systemMessage, ...forModel })
}

export const CLAUDE_HOOKS: HookForm = { decode: decodeEvent, encode: encodeReply, compactionOffsets }
