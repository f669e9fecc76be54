/** Claude Code as one of the agents. It is the last that is asked: what no other wrote is its own. */

import { parseJson } from "../base/json-files.ts"
import type { Agent } from "../record/agent.ts"
import { isObject } from "../record/json.ts"
import { decodeRecord, partsOf } from "./decode-line.ts"
import { PROMPT_HISTORY } from "./file-layout.ts"
import { mediaData } from "./media-data.ts"
import { transcriptsFolder } from "./places.ts"
import { promptIn } from "./prompt-history.ts"
import { CLAUDE_CODE_TOOLS } from "./tool-table.ts"

export const claudeCode: Agent = {
  transcripts: ({ claudeDir }) => transcriptsFolder(claudeDir),
  promptHistory: ({ claudeDir }) => `${claudeDir}/${PROMPT_HISTORY}`,
  historyPrompt: (line) => {
    const value = parseJson(line)
    return isObject(value) ? promptIn(value) : undefined
  },
  wrote: () => true,
  decode: decodeRecord,
  partsOf,
  mediaData,
  tools: CLAUDE_CODE_TOOLS,
}
