/**
 * The agents whose sessions are kept. A further one is a file beside this one, and a row here: its transcripts are then
 * found, imported, searched and shown like the others'. Hooks, and what is given back after a compaction, are Claude
 * Code's (src/claude).
 */
import { claudeCode } from "../claude/claude-code.ts"
import type { Agent, AgentPlaces } from "../record/agent.ts"

/** The first one that says that it wrote a line is asked to decode it. */
export const AGENTS: readonly Agent[] = [claudeCode]

/** Where their transcripts are. */
export const transcriptFolders = (places: AgentPlaces): string[] =>
  AGENTS.map(({ transcripts }) => transcripts(places))

/** Where their lists of all prompts are, whether or not they are there. */
export const promptHistories = (places: AgentPlaces): string[] =>
  AGENTS.flatMap(({ promptHistory }) => (promptHistory === undefined ? [] : [promptHistory(places)]))
