/**
 * What is ours in Copilot CLI's files: hooks, in a file of their own, and the server in its list of servers. No hook is
 * called before a tool: one that fails there denies the tool.
 */
import { parseJson } from "../../base/json-files.ts"
import { isEmptySettings } from "../../base/json-text.ts"
import { join } from "../../base/path.ts"
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { addServer, removeServer, serverCommand } from "../../claude/install/server-edit.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import type { Paths } from "../../config/load.ts"
import { isObject } from "../../record/json.ts"
import { copilotFolder, SERVERS_FILE } from "../copilot/copilot-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"
import { hooksCheck, looked, serverCheck, versionCheck } from "./registered-checks.ts"

const AGENT = "copilot"
const TRIED = ["1.0.102"] as const

/** Whatever tool it was, and whatever a compaction was begun for. On Windows, PowerShell runs them all. */
const TABLE = hookTable(
  AGENT,
  {
    sessionStart: "session-start",
    userPromptSubmitted: "user-prompt-submit",
    postToolUse: "post-tool-use",
    preCompact: "pre-compact",
    agentStop: "stop",
    sessionEnd: "session-end",
  },
  () => ({ timeout: HOOK_TIMEOUT_SECONDS }),
  "powershell",
)

/** What such a file begins with. */
const NEW = '{\n  "version": 1\n}\n'

const hooksFile = (places: Paths): string => join(copilotFolder(places), "hooks", "ctxbridge.json")
const serversFile = (places: Paths): string => join(copilotFolder(places), SERVERS_FILE)

function isEmpty(text: string): boolean {
  const content = parseJson(text)
  return isEmptySettings(text) || (isObject(content) && Object.keys(content).join() === "version")
}

const files = (places: Paths, exePath: string): AgentFile[] => [
  {
    agent: AGENT,
    file: hooksFile(places),
    folderMode: 0o700,
    add: (text) => addHooks(text ?? NEW, exePath, false, TABLE),
    remove: (text, original) => removeHooks(text, original, TABLE),
    isEmpty,
  },
  {
    agent: AGENT,
    file: serversFile(places),
    isServers: true,
    // It may hold keys.
    isPrivate: true,
    folderMode: 0o700,
    add: (text) => addServer(text, exePath),
    remove: removeServer,
    isEmpty: isEmptySettings,
  },
]

const checks = async (places: Paths, exePath: string): Promise<AgentCheck[]> => {
  const servers = serversFile(places)
  return [
    hooksCheck(AGENT, hooksFile(places), { exePath, table: TABLE, empty: NEW }),
    looked(servers, (text) =>
      serverCheck(AGENT, servers, text !== undefined && serverCommand(text) !== undefined),
    ),
    await versionCheck(AGENT, "Copilot CLI", TRIED),
  ]
}

export const COPILOT_INSTALLER: AgentInstaller = { files, checks }
