/**
 * Whose file it is, by its path: each agent lays out its folder in its own way. Hooks use it, so it loads no decoder. An
 * agent whose sessions are files named by their ids needs no row here. Pure.
 */

import { sessionIdOf } from "../base/session-id.ts"
import { claudeLayout } from "../claude/places.ts"
import type { CopyPlace, FileLayout, PlaceBeside, TranscriptName } from "../record/agent.ts"
import { ampLayout } from "./amp/amp-places.ts"
import { clineLayout } from "./cline/cline-places.ts"
import { codexLayout } from "./codex/codex-places.ts"
import { copilotLayout } from "./copilot/copilot-places.ts"
import { cursorLayout } from "./cursor/cursor-places.ts"
import { droidLayout } from "./droid/droid-places.ts"
import { geminiLayout } from "./gemini/gemini-places.ts"
import { opencodeLayout } from "./opencode/opencode-places.ts"
import { qwenLayout } from "./qwen/qwen-places.ts"

/** The first one whose folder it is says what it is. */
const LAYOUTS: readonly FileLayout[] = [
  ampLayout,
  clineLayout,
  codexLayout,
  copilotLayout,
  cursorLayout,
  droidLayout,
  geminiLayout,
  opencodeLayout,
  qwenLayout,
  claudeLayout,
]

const layoutOf = (path: string): FileLayout => LAYOUTS.find(({ owns }) => owns(path)) ?? LAYOUTS.at(-1)!

/** Whose transcript it is, with the session's name as it is in the path. */
export const namesInPath = (transcript: string): TranscriptName =>
  layoutOf(transcript).namesInPath(transcript)

/** The same with the session's id. */
export function transcriptName(transcript: string): TranscriptName {
  const { session, agent } = namesInPath(transcript)
  return { session: session === undefined ? undefined : sessionIdOf(session), agent }
}

/** @returns undefined for a transcript, and for what is not in a session's folder */
export const placeBeside = (path: string): PlaceBeside | undefined => layoutOf(path).placeBeside?.(path)

/** Whether a file in an agent's folder is a transcript, by its path. */
export const isTranscriptFile = (path: string): boolean =>
  layoutOf(path).isTranscript?.(path) ?? (path.endsWith(".jsonl") && placeBeside(path) === undefined)

/** Whether a session's file is one document, of which a transcript is made. */
export const isDocument = (path: string): boolean => layoutOf(path).isDocument?.(path) ?? false

/** Whether a session is no transcript, but one is made of it: it is one document, or rows of a database. */
export const isMade = (path: string): boolean => (isDocument(path) || layoutOf(path).isRows) ?? false

/** The transcript of the session that a subagent's belongs to, where that lies in a place of its agent's own. */
export const parentTranscript = (subagent: string): string | undefined =>
  layoutOf(subagent).parentOf?.(subagent)

/** The project's folder that a line of a transcript names, where it stands in a place of its agent's own. */
export const folderInLine = (transcript: string, line: string): string | undefined =>
  layoutOf(transcript).folderInLine?.(line)

/** Names of the variables that say where agents' folders are. */
export const agentVariables = (): string[] => LAYOUTS.flatMap(({ variables = [] }) => variables)

/** Whether a folder of the vault holds an agent's copies, by its name. */
export const isTopOfCopies = (top: string): boolean => LAYOUTS.some((layout) => layout.top === top)

/** Where its copies are kept, if the agent's are not kept as Claude Code's are. */
export function copyPlace(transcript: string): (CopyPlace & { readonly top: string }) | undefined {
  const { top, copyPlace: place } = layoutOf(transcript)
  return top === undefined || place === undefined ? undefined : { top, ...place(transcript) }
}

/** Whether it is a list of all prompts, which is no transcript. */
export const isPromptHistory = (path: string): boolean =>
  LAYOUTS.some((layout) => layout.isPromptHistory?.(path))
