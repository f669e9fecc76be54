/** `ctxbridge install`: registers our hooks with Claude Code. */

import { usageError } from "../../base/errors.ts"
import { bytes } from "../../base/text.ts"
import { foldersBefore, rememberFolders } from "../../claude/install/footprint.ts"
import { oneAtATime } from "../../claude/install/install-lock.ts"
import type { SettingsChange } from "../../claude/install/register.ts"
import {
  type HooksChange,
  install,
  installServer,
  type RegistrationOptions,
} from "../../claude/install/registration.ts"
import type { StatusLineWish } from "../../claude/install/status-line.ts"
import { SCOPES, type SettingsScope } from "../../claude/settings/read-settings.ts"
import { type History, historyOf, importInBackground } from "../../job/history-import.ts"
import { oneOf } from "../args.ts"
import { type ArgSpec, type Command, type Context, flag } from "../command.ts"
import { ask } from "../confirm.ts"
import { safe } from "../style.ts"

/** Flags shared by install and uninstall. */
export const SETTINGS_ARGS = {
  scope: {
    type: "string",
    description: "Whose settings: user, project (shared, in the repository) or local (yours, this project)",
    default: "user",
    valueHint: SCOPES.join("|"),
  },
  "no-mcp": flag("The hooks only, not the MCP server"),
  "dry-run": flag("Show what would change; write nothing"),
} as const satisfies Record<string, ArgSpec>

export default {
  meta: { name: "install", description: "Register the hooks and the MCP server with Claude Code" },
  args: {
    ...SETTINGS_ARGS,
    statusline: flag("Show ctxbridge's status line before your own"),
    import: flag("Archive the existing history, in the background"),
    "no-import": flag("Do not import the existing history, and do not ask"),
    quiet: flag("Print only what comes next", "q"),
  },
  run(context) {
    const { args, env, out } = context
    const options = settingsOptions(context)
    const refused = args["no-import"] === true
    if (refused && args["import"] === true)
      throw usageError("--import and --no-import cannot be used together")
    const { change, server } = oneAtATime(env.home, () => registered(context, options))
    if (args["quiet"] !== true) {
      for (const line of [...report(change), ...reportServer(server)]) out.print(safe(line))
      const undo = options.scope === "user" ? "" : ` --scope ${options.scope}`
      if (change.changed && !change.dryRun) out.print(`Undo with \`ctxbridge uninstall${undo}\`.`)
    }
    const history = historyOf(env)
    let importing = false
    if (history.left > 0 && !change.dryRun && !refused) {
      out.flush()
      importing =
        args["import"] === true || (!out.wantsJson && ask(`Archive ${amountOf(history)} now?`) === true)
      if (importing) importInBackground(env)
    }
    if (!change.dryRun) {
      const restart = change.changed ? "Claude Code: sessions that are open are not archived" : "not needed"
      out.print([
        `Import     ${importText(history, importing, refused)}`,
        `Restart    ${restart}`,
        "Try        `ctxbridge demo`, or `ctxbridge search WORDS` in a project",
      ])
    }
    out.json({ ...change, mcp: server ?? null, history: { ...history, importing } })
  },
} satisfies Command

function registered(context: Context, options: RegistrationOptions) {
  const { env } = context
  // A dry run, so that problems with the server are reported before the hooks are written.
  if (wantsServer(context)) installServer({ ...options, dryRun: true })
  const folders = foldersBefore(env)
  const change = install({ ...options, statusLine: wishOf(context, options.scope) })
  const server = wantsServer(context) ? installServer(options) : undefined
  if (!options.dryRun) rememberFolders(env.dataHome, folders)
  return { change, server }
}

const amountOf = ({ left, bytesLeft }: History): string =>
  `the ${left === 1 ? "transcript" : `${left} transcripts`} that Claude Code has kept (${bytes(bytesLeft)})`

function importText(history: History, importing: boolean, refused: boolean): string {
  if (history.left === 0) return "nothing to import"
  if (refused) return "skipped"
  return importing
    ? `${amountOf(history)}, in the background; your next session tells when it is done`
    : `\`ctxbridge import\` archives ${amountOf(history)}`
}

/** The options shared by install and uninstall, from the command line. */
export function settingsOptions({ args, env }: Context) {
  return { ...env, scope: oneOf(args, "scope", SCOPES) ?? "user", dryRun: args["dry-run"] === true }
}

const LINES: Partial<Record<HooksChange["statusLine"], string>> = {
  added: "status line added",
  chained: "status line added before yours",
  updated: "status line brought up to date",
}

/** A status line is personal, so a project's file gets one only on request. */
function wishOf({ args, env }: Context, scope: SettingsScope): StatusLineWish {
  if (args["statusline"] === true) return "chain"
  return scope === "user" && env.config["statusline.enabled"] ? "new" : "update"
}

function report(change: HooksChange): string[] {
  const hint =
    change.statusLine === "theirs"
      ? ["Your status line stays; `install --statusline` puts ours before it."]
      : []
  if (!change.changed) return [`Already installed: ${change.file}`, ...hint]
  if (change.dryRun) return [`Would change ${change.file}:`, ...change.diff]
  const lines = [`Hooks written to ${change.file}`]
  if (change.added.length > 0) lines.push(`  new       ${change.added.join(", ")}`)
  if (change.replaced.length > 0) lines.push(`  replaced  ${change.replaced.join(", ")}`)
  const line = LINES[change.statusLine]
  if (line !== undefined) lines.push(`  line      ${line}`)
  if (change.backup !== undefined) lines.push(`  backup    ${change.backup}`)
  return [...lines, ...hint]
}

export const wantsServer = ({ args }: Context): boolean => args["no-mcp"] !== true

function reportServer(change: SettingsChange | undefined): string[] {
  if (change === undefined) return []
  if (!change.changed) return [`MCP server already registered: ${change.file}`]
  if (change.dryRun) return [`Would register the MCP server in ${change.file}`]
  return [`MCP server registered in ${change.file}`]
}
