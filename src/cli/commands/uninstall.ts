/** `ctxbridge uninstall`: take our hooks out of the host's settings. The archive stays. */
import { uninstall, uninstallServer } from "../../host/install.ts"
import type { SettingsChange } from "../../host/register.ts"
import type { Command } from "../command.ts"
import { SETTINGS_ARGS, settingsOptions, wantsServer } from "./install.ts"

export default {
  meta: {
    name: "uninstall",
    description: "Take hooks and MCP server out of Claude Code again; the archive stays",
  },
  args: SETTINGS_ARGS,
  run(context) {
    const { env, out } = context
    const options = settingsOptions(context)
    const change = uninstall(options)
    const server = wantsServer(context) ? uninstallServer(options) : undefined
    const lines = server?.changed ? [...report(change), ...report(server)] : report(change)
    for (const line of lines) out.print(line)
    if (change.changed && !change.dryRun) out.print(`The archive stays in ${env.dataHome}`)
    out.json({ ...change, mcp: server ?? null })
  },
} satisfies Command

function report(change: SettingsChange): string[] {
  if (!change.changed) return [`Nothing of ours in ${change.file}`]
  if (change.dryRun && change.diff.length === 0) return [`Would change ${change.file}`]
  if (change.dryRun) return [`Would change ${change.file}:`, ...change.diff]
  const done = {
    restored: `Restored, byte for byte as before the install: ${change.file}`,
    deleted: `Deleted, as it did not exist before the install: ${change.file}`,
    edited: `Removed from ${change.file}: ${change.removed.join(", ")}`,
    created: "",
    none: "",
  }
  return [done[change.action]]
}
