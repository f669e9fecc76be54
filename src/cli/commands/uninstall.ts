/**
 * `ctxbridge uninstall`: removes hooks and server from the files of Claude Code and other agents, and with --purge
 * everything else of ours.
 */
import { existsSync, rmSync } from "node:fs"
import { targetOf } from "../../base/edited-file.ts"
import { EXIT, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { realpathSync } from "../../base/fs.ts"
import { dirname } from "../../base/path.ts"
import { bytes, count, shellWord } from "../../base/text.ts"
import { oneAtATime, pieces, removeFootprint } from "../../claude/install/footprint.ts"
import { ourPlugins } from "../../claude/install/hook-status.ts"
import type { SettingsChange } from "../../claude/install/register.ts"
import {
  type ClaudeFolders,
  serverPath,
  uninstall,
  uninstallAll,
  uninstallServer,
} from "../../claude/install/registration.ts"
import { SCOPES, type SettingsScope, settingsPath } from "../../claude/settings/read-settings.ts"
import { withoutJob } from "../../job/requests.ts"
import { type RevertedPatch, revertInstalled } from "../../prune/patch/apply-patch.ts"
import { isPluginSet, revertPlugin } from "../../prune/plugin/set-plugin.ts"
import { filesWithNative, revertNativeWith } from "../../prune/set-native.ts"
import {
  type AgentChange,
  agentProblems,
  agentSteps,
  agentsPicked,
  isClaudePicked,
  unregisterAgents,
} from "../agent-setup.ts"
import { type Command, type Context, flag } from "../command.ts"
import { confirmed, YES_ARG } from "../confirm.ts"
import { safe } from "../style.ts"
import { filesBeside } from "../update/get-binary.ts"
import { isRemovable, managerOf } from "../update/replace-running.ts"
import { SETTINGS_ARGS, settingsOptions, wantsServer } from "./install.ts"

/** ms to wait for the background job to end. It checks after each slice of work, except during a rebuild. */
const PATIENCE = 120_000

export default {
  meta: {
    name: "uninstall",
    description: "Remove ctxbridge from Claude Code and other agents; the archive stays",
    badOptions: "told",
  },
  args: {
    ...SETTINGS_ARGS,
    purge: flag("Also delete the archive, everything else ctxbridge has written, and the program"),
    ...YES_ARG,
  },
  async run(context) {
    const { args, env, out } = context
    if (args["purge"] === true) return await purge(context)
    const options = settingsOptions(context)
    const picked = agentsPicked(context)
    const agents = await unregisterAgents(context)
    for (const line of agents.flatMap(({ files }) => files).flatMap(agentLines(picked))) out.print(safe(line))
    for (const line of [...agentSteps(agents), ...agentProblems(agents)]) out.print(safe(line))
    if (!isClaudePicked(picked)) {
      out.json({ agents })
      return exitOf(agents)
    }
    // First, since no settings file says where such a program is.
    const patches = options.scope === "user" ? revertPatches(context) : []
    const { change, natives, server, still } = oneAtATime(env.home, () => ({
      ...hooksAndNative(options),
      server: wantsServer(context) ? uninstallServer(options) : undefined,
      still: options.dryRun ? [] : registeredElsewhere(env.dataHome),
    }))
    const changes = server?.changed ? [change, server] : [change]
    for (const native of natives) out.print(safe(nativeLine(native)))
    out.print(patches.map((patch) => patchLine(patch, options.dryRun)))
    for (const line of changes.flatMap(settingsLines)) out.print(safe(line))
    for (const file of still) {
      out.print(safe(`Still registered in ${file}: ${wayOut(file, options) ?? "see --scope and --no-mcp"}`))
    }
    const plugins = ourPlugins(env)
    for (const name of plugins) out.print(safe(`The plugin stays: claude plugin uninstall ${name}`))
    if (change.changed && !change.dryRun) out.print(`The archive stays in ${env.dataHome}`)
    out.json({ ...change, mcp: server ?? null, agents, prune: natives, patches, still, plugins })
    return exitOf(agents)
  },
} satisfies Command

/** Whoever takes it for done would delete what the hooks call. */
const exitOf = (agents: readonly AgentChange[]): number =>
  agentProblems(agents).length > 0 ? EXIT.failed : EXIT.ok

/** Of files in which nothing of ours was, only those of agents that were named. */
const agentLines =
  (picked: readonly string[] | undefined) =>
  (change: SettingsChange): string[] =>
    change.changed || picked !== undefined ? settingsLines(change) : []

const nativeLine = ({ dryRun, file, removed }: SettingsChange): string =>
  `${dryRun ? "Would remove" : "Removed"} the settings of \`prune native\` from ${file}: ${removed.join(", ")}`

const revertPatches = (context: Context): readonly RevertedPatch[] =>
  revertInstalled(context.env.home, context.env.cwd, settingsOptions(context).dryRun)

function patchLine({ file, changed, failed }: RevertedPatch, dryRun: boolean): string {
  if (failed !== undefined) return safe(`Still patched: ${failed}`)
  if (!changed) return safe(`Nothing to remove from ${file}: it was replaced since it was patched`)
  return safe(`${dryRun ? "Would remove" : "Removed"} the patch from ${file}`)
}

/** What is no longer archived must not be pruned either. */
function hooksAndNative(options: ReturnType<typeof settingsOptions>) {
  const files = options.scope === "user" ? [settingsPath("user", options)] : []
  if (options.scope === "user" && isPluginSet(options)) revertPlugin(options)
  const { other: change, natives } = revertNativeWith(options, files, () => uninstall(options))
  return { change, natives }
}

/** Files of other scopes and projects that still contain something an install of ours has written. */
const registeredElsewhere = (dataHome: string): string[] =>
  uninstallAll({ dataHome, dryRun: true })
    .filter(({ changed }) => changed)
    .map(({ file }) => file)

/** The command that removes ours from such a file; undefined for one behind a project's link. */
function wayOut(file: string, places: ClaudeFolders): string | undefined {
  const isOf = (scope: SettingsScope, cwd: string): boolean => {
    const here = { ...places, cwd }
    const files = [settingsPath(scope, here), serverPath(scope, here)]
    return files.some((one) => one !== undefined && targetOf(one) === file)
  }
  const command = "ctxbridge uninstall"
  if (isOf("user", places.cwd)) return command
  for (const folder of [dirname(file), dirname(dirname(file))]) {
    const scope = SCOPES.find((one) => isOf(one, folder))
    if (scope !== undefined) return `cd ${shellWord(folder)} && ${command} --scope ${scope}`
  }
  return undefined
}

const settingsLine = ({ action, file, removed }: SettingsChange): string =>
  ({
    restored: `Restored, byte for byte as before the install: ${file}`,
    deleted: `Deleted, since it did not exist before the install: ${file}`,
    edited: `Removed from ${file}: ${removed.join(", ")}`,
    created: "",
    none: `Nothing to remove from ${file}`,
  })[action]

async function purge(context: Context): Promise<number> {
  const { env, out } = context
  const { dryRun } = settingsOptions(context)
  if (!wantsServer(context)) throw usageError("--purge and --no-mcp cannot be used together")
  if (agentsPicked(context) !== undefined) throw usageError("--purge is for all agents; leave --agent out")
  const program = Bun.isStandaloneExecutable ? realpathSync(env.exePath) : undefined
  const isLast = program !== undefined && isRemovable(program)
  const beside = program === undefined ? [] : filesBeside(program)
  const found = pieces(env)
  const total = found.reduce((sum, piece) => sum + piece.bytes, 0)
  const files = found.reduce((sum, piece) => sum + piece.files, 0)
  const what = `${count(files, "file")}, ${bytes(total)}, in ${env.dataHome}`
  const asked = isLast
    ? `Remove the hooks, ${program} and the whole archive`
    : "Remove the hooks and the whole archive"
  if (!dryRun && !confirmed(context, `${asked} for good: ${what}?`)) return EXIT.failed
  const others = await unregisterAgents(context, true)
  const agents = others.flatMap(({ files }) => files)
  const problems = agentProblems(others)
  if (problems.length > 0) {
    // Their hooks still call the program.
    for (const line of [...agents.filter(({ changed }) => changed).flatMap(settingsLines), ...problems])
      out.print(safe(line))
    out.print("Nothing else was removed: correct that first, and repeat the command.")
    out.json({ dryRun, agents: others })
    return EXIT.failed
  }
  const patches = revertPatches(context)
  const {
    settings: claudes,
    natives,
    left,
  } = oneAtATime(env.home, () => ({
    ...removedSettings(context),
    left: dryRun ? [] : withoutJob(env.stateHome, PATIENCE, () => removeFootprint(env)),
  }))
  const settings = [...agents.filter(({ changed }) => changed), ...claudes]
  for (const native of natives) out.print(safe(nativeLine(native)))
  out.print(patches.map((patch) => patchLine(patch, dryRun)))
  for (const change of settings) for (const line of settingsLines(change)) out.print(safe(line))
  for (const line of agentSteps(others)) out.print(safe(line))
  out.print(`${dryRun ? "Would remove" : "Removed"} ${what}`)
  for (const path of beside) {
    if (!dryRun) tryTo(() => rmSync(path, { force: true }))
    out.print(`${dryRun ? "Would remove" : "Removed"} ${safe(path)}, kept by an update`)
  }
  for (const path of left) out.print(`Left alone, not ours: ${safe(path)}`)
  // Last, and only if nothing is left that takes the program to undo.
  const isDone = patches.every(({ failed }) => failed === undefined)
  const isRemoved = isLast && isDone && (dryRun || isGone(program))
  if (isRemoved) out.print(`${dryRun ? "Would remove" : "Removed"} ${safe(program)}`)
  if (!dryRun) {
    const titles = others
      .filter(({ files }) => files.some(({ changed }) => changed))
      .map(({ title }) => title)
    out.print(
      `Sessions that are open still call the hooks: restart ${["Claude Code", ...titles].join(", ")}.`,
    )
    if (program !== undefined && !isRemoved) out.print(`The program stays: ${removalOf(program)}`)
  }
  out.json({
    dryRun,
    settings,
    agents: others,
    prune: natives,
    patches,
    removed: found,
    beside,
    left,
    ...(isRemoved && { program }),
  })
  return EXIT.ok
}

function isGone(file: string): boolean {
  tryTo(() => rmSync(file))
  return !existsSync(file)
}

/** How to be rid of a program that stays. */
function removalOf(program: string): string {
  const manager = managerOf(program)
  return manager === undefined ? `rm ${shellWord(program)}` : `${manager.name} removes it`
}

function removedSettings(context: Context): { settings: SettingsChange[]; natives: SettingsChange[] } {
  const options = settingsOptions(context)
  if (isPluginSet(options)) revertPlugin(options)
  const { other: settings, natives } = revertNativeWith(options, filesWithNative(options), () =>
    uninstallAll(options),
  )
  // The requested scope may have hooks that no install has recorded. Records name the file behind a link.
  for (const named of [uninstall(options), uninstallServer(options)]) {
    if (named === undefined) continue
    const target = targetOf(named.file)
    if (!settings.some(({ file }) => file === target)) settings.push(named)
  }
  return { settings, natives }
}

function settingsLines(change: SettingsChange): string[] {
  if (!change.dryRun || !change.changed) return [settingsLine(change)]
  return change.diff.length === 0
    ? [`Would change ${change.file}`]
    : [`Would change ${change.file}:`, ...change.diff]
}
