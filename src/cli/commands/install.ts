/** `ctxbridge install`: register our hooks with the host. */
import { foldersBefore, rememberFolders } from "../../host/footprint.ts"
import { install, SCOPES, type Scope, type SettingsChange } from "../../host/install.ts"
import { usageError } from "../../util/errors.ts"
import type { ArgSpec, Command, Context } from "../command.ts"

/** Flags that install and uninstall share. */
export const SETTINGS_ARGS = {
  scope: {
    type: "string",
    description: "Whose settings: user, project (shared, in the repository) or local (yours, this project)",
    default: "user",
    valueHint: SCOPES.join("|"),
  },
  "dry-run": { type: "boolean", description: "Show what would change; write nothing" },
} as const satisfies Record<string, ArgSpec>

export default {
  meta: { name: "install", description: "Register the hooks in Claude Code's settings" },
  args: SETTINGS_ARGS,
  run(context) {
    const { env, out } = context
    const options = settingsOptions(context)
    const folders = foldersBefore(env)
    const change = install({ ...options, exePath: env.exePath })
    if (!options.dryRun) rememberFolders(env.dataHome, folders)
    for (const line of report(change)) out.print(line)
    out.json(change)
  },
} satisfies Command

/** The options that install and uninstall share, from the command line. */
export function settingsOptions({ args, env }: Context) {
  const scope = SCOPES.find((known) => known === args["scope"])
  if (scope === undefined) {
    throw usageError(`unknown scope: ${args["scope"]}`, `one of ${SCOPES.join(", ")}`)
  }
  const { home, claudeDir, cwd, dataHome } = env
  return {
    scope: scope satisfies Scope,
    dryRun: args["dry-run"] === true,
    home,
    configDir: claudeDir,
    cwd,
    dataHome,
  }
}

function report(change: SettingsChange): string[] {
  if (!change.changed) return [`Already installed: ${change.file}`]
  if (change.dryRun) return [`Would change ${change.file}:`, ...change.diff]
  const lines = [`Hooks written to ${change.file}`]
  if (change.added.length > 0) lines.push(`  new       ${change.added.join(", ")}`)
  if (change.replaced.length > 0) lines.push(`  replaced  ${change.replaced.join(", ")}`)
  if (change.backup !== undefined) lines.push(`  backup    ${change.backup}`)
  return [...lines, "Sessions started from now on are archived. Undo with `ctxbridge uninstall`."]
}
