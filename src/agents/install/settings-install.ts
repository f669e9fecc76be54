/** What is ours in the settings of agents that follow Gemini CLI: one file has hooks, as in Claude Code's, and servers. */
import { isEmptySettings } from "../../base/json-text.ts"
import type { HookTable } from "../../claude/install/hooks-table.ts"
import { addServer, removeServer, serverCommand } from "../../claude/install/server-edit.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import type { Paths } from "../../config/load.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"
import { hooksCheck, looked, serverCheck, versionCheck } from "./registered-checks.ts"

interface SettingsOf {
  /** Its name, which is also that of its program. */
  readonly agent: string
  readonly title: string
  /** The oldest version that was tried, and the newest if that is another (docs/agents.md). */
  readonly tried: readonly [oldest: string, newest?: string]
  readonly table: HookTable
  readonly file: (places: Paths) => string
}

export function settingsInstaller({ agent, title, tried, table, file }: SettingsOf): AgentInstaller {
  const removeHooksOf = (text: string, original?: string) => removeHooks(text, original, table)
  const shared = (places: Paths) => ({
    agent,
    file: file(places),
    folderMode: 0o700,
    // It may hold keys.
    isPrivate: true,
    isEmpty: isEmptySettings,
    removeAll(text: string, original?: string) {
      const server = removeServer(text, original)
      const hooks = removeHooksOf(server.text, original)
      return { text: hooks.text, removed: [...server.removed, ...hooks.removed] }
    },
  })
  const files = (places: Paths, exePath: string): AgentFile[] => [
    {
      ...shared(places),
      add: (text) => addHooks(text, exePath, false, table),
      remove: removeHooksOf,
    },
    { ...shared(places), isServers: true, add: (text) => addServer(text, exePath), remove: removeServer },
  ]
  const checks = async (places: Paths, exePath: string): Promise<AgentCheck[]> => [
    hooksCheck(agent, file(places), { exePath, table }),
    looked(file(places), (text) =>
      serverCheck(agent, file(places), text !== undefined && serverCommand(text) !== undefined),
    ),
    await versionCheck(agent, title, tried),
  ]
  return { files, checks }
}
