/** Claude Code, the first of the agents. Hooks import its parts instead: most of them need no decoder. */
import { join } from "../../util/path.ts"
import type { Agent } from "../agent.ts"
import { decodeLine } from "./decode.ts"
import { decodeEvent, HOOKS, hookEntry } from "./host-hooks.ts"
import { MEMORY, programFolders, transcriptsFolder, userSettings } from "./host-places.ts"
import { CLAUDE_CODE_TOOLS } from "./tool-table.ts"
import { transcriptName } from "./transcript-name.ts"

export const claudeCode: Agent = {
  title: "Claude Code",
  command: "claude",
  places: {
    transcripts: transcriptsFolder,
    settings: userSettings,
    programs: programFolders,
    memory: (folder) => join(folder, MEMORY.file),
  },
  layout: transcriptName,
  decode: decodeLine,
  hooks: { events: HOOKS, decode: decodeEvent, entry: hookEntry },
  tools: CLAUDE_CODE_TOOLS,
}
