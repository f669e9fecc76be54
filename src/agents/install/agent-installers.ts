/**
 * The agents besides Claude Code that ctxbridge can be registered with: one row each, loaded where it is wanted. What is
 * ours in their files is added and removed as in Claude Code's (claude/install/register.ts): repeated it changes nothing,
 * and an uninstall leaves every other byte as it was.
 */
import { isCtxError, messageOf } from "../../base/errors.ts"
import { existsSync } from "../../base/fs.ts"
import { basename } from "../../base/path.ts"
import {
  type OursToAdd,
  recordedTargets,
  register,
  type SettingsChange,
  unregister,
} from "../../claude/install/register.ts"
import type { Paths } from "../../config/load.ts"
import { agentTitle, commandLineOf } from "../agents.ts"
import { codexFolder } from "../codex/codex-places.ts"
import { copilotFolder } from "../copilot/copilot-places.ts"
import { geminiFolder } from "../gemini/gemini-places.ts"
import { opencodeConfigFolder } from "../opencode/opencode-places.ts"
import { qwenFolder } from "../qwen/qwen-places.ts"

/** A file of an agent's, and what of ours is in it. */
export interface AgentFile extends OursToAdd {
  readonly agent: string
  /** Whether it is our server that is listed there, and not hooks. */
  readonly isServers?: boolean
}

/** One thing that was looked at, as `doctor` tells it. */
export interface AgentCheck {
  readonly state: "ok" | "warn" | "fail" | "skipped"
  /** One line. */
  readonly text: string
  readonly hint?: string
  readonly details?: readonly string[]
  /** Whether another install mends it. */
  readonly isMended?: boolean
}

export interface AgentInstaller {
  /** @param exePath absolute path of the binary that is to be called */
  readonly files: (places: Paths, exePath: string) => readonly AgentFile[]
  /** What the user has to do after an install, if anything. */
  readonly next?: string
  /** The same after an uninstall, looked up before it. */
  readonly afterwards?: (places: Paths) => string | undefined
  /** Looks at a registration: only where there is one. */
  readonly checks: (places: Paths, exePath: string) => Promise<AgentCheck[]>
}

export interface InstallableAgent {
  /** As options and hook commands name it. */
  readonly name: string
  /** As people call it. */
  readonly title: string
  /** The program that people start. */
  readonly command: string
  readonly folder: (places: Paths) => string
  readonly load: () => Promise<AgentInstaller>
}

const installable = (
  name: string,
  folder: InstallableAgent["folder"],
  load: InstallableAgent["load"],
): InstallableAgent => ({
  name,
  title: agentTitle(name),
  command: commandLineOf(name)?.program ?? name,
  folder,
  load,
})

/* No part of the table of agents: what is installed stands above it, and so does what it is told of our own places. */

export const INSTALLABLE_AGENTS: readonly InstallableAgent[] = [
  installable("codex", codexFolder, async () => (await import("./codex-install.ts")).CODEX_INSTALLER),
  installable("copilot", copilotFolder, async () => (await import("./copilot-install.ts")).COPILOT_INSTALLER),
  installable("gemini", geminiFolder, async () => (await import("./gemini-install.ts")).GEMINI_INSTALLER),
  installable(
    "opencode",
    opencodeConfigFolder,
    async () => (await import("./opencode-install.ts")).OPENCODE_INSTALLER,
  ),
  installable("qwen", qwenFolder, async () => (await import("./qwen-install.ts")).QWEN_INSTALLER),
]

/** Whether the agent has been used here, or can be. */
export const isAgentHere = ({ folder, command }: InstallableAgent, places: Paths): boolean =>
  existsSync(folder(places)) || Bun.which(command) !== null

interface AgentOptions {
  readonly places: Paths
  readonly exePath: string
  /** Work out the changes but write nothing. */
  readonly dryRun?: boolean
  /** Also our server; default: yes. */
  readonly withServer?: boolean
}

/** Adds what is ours to an agent's files. All are worked out before the first one is written. */
export function installAgent(installer: AgentInstaller, options: AgentOptions): SettingsChange[] {
  const { places, exePath, dryRun = false, withServer = true } = options
  const files = installer.files(places, exePath).filter(({ isServers }) => withServer || isServers !== true)
  const { dataHome } = places
  const planned = files.map((file) => register(file, { dataHome, dryRun: true }))
  return dryRun ? planned : files.map((file) => register(file, { dataHome }))
}

/**
 * Removes it again, also from where an install has found the agent's folder then.
 *
 * @returns what was changed, and why something of ours may still be there
 */
export function uninstallAgent(
  installer: AgentInstaller,
  options: AgentOptions,
): { files: SettingsChange[]; problems: readonly string[] } {
  const { places, exePath, dryRun = false, withServer = true } = options
  const { dataHome } = places
  // Latest first: folders are removed with the file that they were made for.
  const files = installer
    .files(places, exePath)
    .filter(({ isServers }) => withServer || isServers !== true)
    .toReversed()
  const problems: string[] = []
  // One that cannot be edited keeps none of the others.
  const removed = (file: AgentFile): SettingsChange[] => {
    try {
      return [unregister(file, { dataHome, dryRun })]
    } catch (error) {
      const hint = isCtxError(error) && error.hint !== undefined ? `; ${error.hint}` : ""
      problems.push(messageOf(error) + hint)
      return []
    }
  }
  const named = files.flatMap(removed)
  const targets = files.flatMap(({ agent }) => recordedTargets(dataHome, agent))
  const known = new Set(files.map(({ file }) => file))
  const others = [...new Set(targets)]
    .toReversed()
    .flatMap((target) =>
      known.has(target)
        ? []
        : files
            .filter(({ file }) => basename(file) === basename(target))
            .flatMap((file) => removed({ ...file, file: target })),
    )
  // One file may have both.
  return { files: [...named, ...others.filter(({ changed }) => changed)], problems: [...new Set(problems)] }
}
