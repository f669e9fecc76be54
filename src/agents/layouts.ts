/**
 * Whose file it is, by its path: each agent lays out its folder in its own way. Hooks use it, so the table of agents is
 * loaded only for a path that might not be Claude Code's. Pure.
 */

import { sessionIdOf } from "../base/session-id.ts"
import { claudeLayout, isClaudesForSure } from "../claude/places.ts"
import type { CopyPlace, FileLayout, PlaceBeside, TranscriptName } from "../record/agent.ts"
import type { AgentRow } from "./agent-table.ts"

/** All agents, for whoever must not load them before they are needed. */
export const agentRows = (): readonly AgentRow[] =>
  (require("./agent-table.ts") as typeof import("./agent-table.ts")).AGENT_ROWS

/** The first one whose folder it is; undefined: nobody's, which is read as Claude Code's. */
const rowOf = (path: string): AgentRow | undefined =>
  isClaudesForSure(path) ? undefined : agentRows().find(({ layout }) => layout.owns(path))

const layoutOf = (path: string): FileLayout => rowOf(path)?.layout ?? claudeLayout

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
export const agentVariables = (): string[] =>
  agentRows().flatMap(({ layout: { variables = [] } }) => variables)

/** Whether a folder of the vault holds an agent's copies, by its name. Claude Code's have none of their own. */
export const isTopOfCopies = (top: string): boolean =>
  agentRows().some(({ name, layout }) => name === top && layout.copyPlace !== undefined)

/** Where its copies are kept, if the agent's are not kept as Claude Code's are. */
export function copyPlace(transcript: string): (CopyPlace & { readonly top: string }) | undefined {
  const { name: top = "", layout } = rowOf(transcript) ?? {}
  const place = layout?.copyPlace?.(transcript)
  return place && { top, ...place }
}
