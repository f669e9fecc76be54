/** `ctxbridge uninstall`: take our hooks out of the host's settings. The archive stays. */
import { type SettingsChange, uninstall } from "../../host/install.ts"
import type { Command } from "../command.ts"
import { SETTINGS_ARGS, settingsOptions } from "./install.ts"

export default {
  meta: { name: "uninstall", description: "Take the hooks out of Claude Code's settings; the archive stays" },
  args: SETTINGS_ARGS,
  run(context) {
    const { env, out } = context
    const change = uninstall(settingsOptions(context))
    for (const line of report(change, env.dataHome)) out.print(line)
    out.json(change)
  },
} satisfies Command

function report(change: SettingsChange, dataHome: string): string[] {
  if (!change.changed) return [`No hooks of ours in ${change.file}`]
  if (change.dryRun) return [`Would change ${change.file}:`, ...change.diff]
  const done = {
    restored: `Restored, byte for byte as before the install: ${change.file}`,
    deleted: `Deleted, as it did not exist before the install: ${change.file}`,
    edited: `Removed from ${change.file}: ${change.removed.join(", ")}`,
    created: "",
    none: "",
  }
  return [done[change.action], `The archive stays in ${dataHome}`]
}
