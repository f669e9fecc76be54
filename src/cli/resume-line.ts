/** The shell command that resumes a session. Pure. */
import type { Resume } from "../export/resurrect-sessions.ts"
import { shellWord } from "../util/shell-quote.ts"

export function resumeLine(session: string, { folder, configDir }: Resume): string {
  const variable = configDir === undefined ? "" : `CLAUDE_CONFIG_DIR=${shellWord(configDir)} `
  const start = folder === undefined ? "" : `cd ${shellWord(folder)} && `
  return `${start}${variable}claude --resume ${shellWord(session)}`
}
