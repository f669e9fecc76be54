/** `ctxbridge install`: registers our hooks with Claude Code, and with other agents. */

import { messageOf, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { existsSync } from "../../base/fs.ts"
import { addressShown, bytes, oneLine } from "../../base/text.ts"
import { foldersBefore, oneAtATime, rememberFolders } from "../../claude/install/footprint.ts"
import { claudeTable } from "../../claude/install/hooks-table.ts"
import type { SettingsChange } from "../../claude/install/register.ts"
import {
  type HooksChange,
  install,
  installServer,
  type RegistrationOptions,
} from "../../claude/install/registration.ts"
import type { StatusLineWish } from "../../claude/install/status-line.ts"
import { SCOPES, type SettingsScope } from "../../claude/settings/read-settings.ts"
import { modelState } from "../../find/embed/model-files.ts"
import { MINILM, sizeOfModel } from "../../find/embed/model-manifest.ts"
import { type History, importInBackground } from "../../job/history-import.ts"
import { databasePath } from "../../views/database.ts"
import {
  agentsPicked,
  isClaudePicked,
  PICK_AGENT_ARG,
  registerAgents,
  registeredLines,
} from "../agent-setup.ts"
import { oneOf } from "../args.ts"
import { type ArgSpec, type Command, type Context, type Environment, flag } from "../command.ts"
import { ask } from "../confirm.ts"
import { amountOf, historyAtStake } from "../first-look.ts"
import { safe } from "../style.ts"
import { addModel, embedNow, sourceOfModel } from "./model.ts"

/** Flags shared by install and uninstall. */
export const SETTINGS_ARGS = {
  scope: {
    type: "string",
    description: "Whose settings: user, project (shared, in the repository) or local (yours, this project)",
    default: "user",
    valueHint: SCOPES.join("|"),
  },
  agent: PICK_AGENT_ARG,
  "no-mcp": flag("The hooks only, not the MCP server"),
  "dry-run": flag("Show what would change; write nothing"),
} as const satisfies Record<string, ArgSpec>

export default {
  meta: {
    name: "install",
    description: "Register hooks and the MCP server with your agents",
  },
  args: {
    ...SETTINGS_ARGS,
    statusline: flag("Show ctxbridge's status line before your own"),
    import: flag("Archive the existing history, in the background"),
    "no-import": flag("Do not import the existing history, and do not ask"),
    model: flag("Download the model for search by meaning, unless it is there"),
    "no-model": flag("Do not download it, and do not ask"),
    quiet: flag("Print only what comes next", "q"),
  },
  async run(context) {
    const { args, env, out } = context
    const options = settingsOptions(context)
    const refused = args["no-import"] === true
    for (const name of ["import", "model"])
      if (args[name] === true && args[`no-${name}`] === true)
        throw usageError(`--${name} and --no-${name} cannot be used together`)
    const { dryRun } = options
    const picked = agentsPicked(context)
    const { change, server } = isClaudePicked(picked)
      ? oneAtATime(env.home, () => registered(context, options))
      : {}
    if (args["quiet"] !== true && change !== undefined) {
      for (const line of [...report(change), ...reportServer(server)]) out.print(safe(line))
      const undo = options.scope === "user" ? "" : ` --scope ${options.scope}`
      if (change.changed && !dryRun) out.print(`Undo with \`ctxbridge uninstall${undo}\`.`)
    }
    const agrees = (question: string): boolean => {
      out.flush()
      return !out.wantsJson && ask(question) === true
    }
    const agents = await registerAgents(context, agrees)
    const told = agents.flatMap((one) => registeredLines(one, dryRun))
    if (args["quiet"] !== true) for (const line of told) out.print(safe(line))
    const history = historyAtStake(env)
    const wants = (name: string, question: string): boolean => args[name] === true || agrees(question)
    const importing =
      history.left > 0 && !dryRun && !refused && wants("import", `Archive ${amountOf(history)} now?`)
    // Both are asked before either begins: nobody waits between two questions.
    const adding =
      !dryRun &&
      isModelMissing(context) &&
      wants("model", `Download the model for search by meaning (${aboutModel(env)}) now?`)
    if (importing) importInBackground(env)
    const failure = adding ? await failureOfAdding(context) : undefined
    if (!dryRun) {
      const restart = change?.changed ? "Claude Code: sessions that are open are not archived" : "not needed"
      out.print([
        `Import     ${importText(history, importing, refused)}`,
        `Model      ${modelText(context, failure)}`,
        `Restart    ${restart}`,
        "Try        `ctxbridge demo`, or `ctxbridge search WORDS` in a project",
      ])
    }
    const model = { id: modelState(env.dataHome).model?.manifest.id ?? null, problem: failure ?? null }
    out.json({ ...change, mcp: server ?? null, agents, history: { ...history, importing }, model })
    // Also of what was archived before this program had a model.
    const isUsed = model.id !== null && env.config["search.meaning"] === "auto"
    if (!dryRun && isUsed && existsSync(databasePath(env.dataHome))) tryTo(() => embedNow(env))
  },
} satisfies Command

function registered(context: Context, options: RegistrationOptions) {
  const { env } = context
  // A dry run, so that problems with the server are reported before the hooks are written.
  if (wantsServer(context)) installServer({ ...options, dryRun: true })
  const folders = foldersBefore(env)
  const change = install({
    ...options,
    table: claudeTable(env.config),
    statusLine: wishOf(context, options.scope),
  })
  const server = wantsServer(context) ? installServer(options) : undefined
  if (!options.dryRun) rememberFolders(env.dataHome, folders)
  return { change, server }
}

function importText(history: History, importing: boolean, refused: boolean): string {
  if (history.left === 0) return "nothing to import"
  if (refused) return "skipped"
  return importing
    ? `${amountOf(history)}, in the background; your next session tells when it is done`
    : `\`ctxbridge import\` archives ${amountOf(history)}`
}

/** Whether there is a model to be fetched, and nobody has said that they do not want it. */
const isModelMissing = ({ args, env }: Context): boolean =>
  args["no-model"] !== true &&
  (env.config["search.meaning"] === "auto" || args["model"] === true) &&
  modelState(env.dataHome).model === undefined

function aboutModel(env: Environment): string {
  const source = sourceOfModel(env, MINILM)
  return `${bytes(sizeOfModel(MINILM))} from ${safe(URL.parse(source)?.hostname || addressShown(source))}`
}

/** @returns why the model could not be had: everything else goes on without */
async function failureOfAdding(context: Context): Promise<string | undefined> {
  try {
    await addModel(context, MINILM, sourceOfModel(context.env, MINILM), false)
    return undefined
  } catch (error) {
    return oneLine(messageOf(error))
  }
}

function modelText({ args, env }: Context, failure: string | undefined): string {
  if (failure !== undefined) return `not there; \`ctxbridge model install\` gets it later (${safe(failure)})`
  const isOff = env.config["search.meaning"] === "off"
  if (modelState(env.dataHome).model !== undefined)
    return isOff
      ? "not used: search.meaning is off"
      : "there; the background job makes vectors, for search by meaning"
  return isOff || args["no-model"] === true
    ? "skipped"
    : `\`ctxbridge model install\` adds search by meaning (${aboutModel(env)})`
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
