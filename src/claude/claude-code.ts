/** Claude Code as one of the agents. It is the last that is asked: what no other wrote is its own. */
import type { Agent } from "../transcript/agent.ts"
import { decodeRecord, partsOf } from "./decode-line.ts"
import { transcriptsFolder } from "./places.ts"
import { CLAUDE_CODE_TOOLS } from "./tool-table.ts"

export const claudeCode: Agent = {
  transcripts: ({ claudeDir }) => transcriptsFolder(claudeDir),
  wrote: () => true,
  decode: decodeRecord,
  partsOf,
  tools: CLAUDE_CODE_TOOLS,
}
