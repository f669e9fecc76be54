/** What is ours in Qwen Code's settings: hooks, and the server in its list of servers. */
import { isEmptySettings } from "../../base/json-text.ts"
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { addServer, removeServer, serverCommand } from "../../claude/install/server-edit.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import type { Paths } from "../../config/load.ts"
import { qwenSettings } from "../qwen/qwen-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"
import { hooksCheck, looked, serverCheck, versionCheck } from "./registered-checks.ts"

const AGENT = "qwen"
const TRIED = ["0.24.4"] as const

/** After a compaction, the next tool or prompt is answered. */
const TABLE = hookTable(
  AGENT,
  {
    SessionStart: "session-start",
    UserPromptSubmit: "user-prompt-submit",
    PostToolUse: "post-tool-use",
    PreCompact: "pre-compact",
    Stop: "stop",
    SubagentStop: "subagent-stop",
    SessionEnd: "session-end",
  },
  () => ({ timeout: HOOK_TIMEOUT_SECONDS }),
)

/** One file has both. */
const shared = (places: Paths) => ({
  agent: AGENT,
  file: qwenSettings(places),
  folderMode: 0o700,
  // It may hold keys.
  isPrivate: true,
  isEmpty: isEmptySettings,
})

const files = (places: Paths, exePath: string): AgentFile[] => [
  {
    ...shared(places),
    add: (text) => addHooks(text, exePath, false, TABLE),
    remove: (text, original) => removeHooks(text, original, TABLE),
  },
  { ...shared(places), isServers: true, add: (text) => addServer(text, exePath), remove: removeServer },
]

async function checks(places: Paths, exePath: string): Promise<AgentCheck[]> {
  const file = qwenSettings(places)
  return [
    hooksCheck(AGENT, file, { exePath, table: TABLE }),
    looked(file, (text) => serverCheck(AGENT, file, text !== undefined && serverCommand(text) !== undefined)),
    await versionCheck(AGENT, "Qwen Code", TRIED),
  ]
}

export const QWEN_INSTALLER: AgentInstaller = { files, checks }
