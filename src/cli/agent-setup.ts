/** The part of `install` and `uninstall` that is about agents other than Claude Code. */
import { UNMARKED } from "../agents/agents.ts"
import {
  type AgentInstaller,
  INSTALLABLE_AGENTS,
  type InstallableAgent,
  installAgent,
  isAgentHere,
  uninstallAgent,
} from "../agents/install/agent-installers.ts"
import { messageOf, usageError } from "../base/errors.ts"
import { oneAtATime } from "../claude/install/footprint.ts"
import type { SettingsChange } from "../claude/install/register.ts"
import { dropPointers } from "../views/pointers.ts"
import { type Context, option } from "./command.ts"
import { safe } from "./style.ts"

const NAMES = [UNMARKED, ...INSTALLABLE_AGENTS.map(({ name }) => name)]

export const PICK_AGENT_ARG = option("Only this agent, or several with commas between", NAMES.join("|"))

/** Which agents the user named; undefined: none. */
export function agentsPicked({ args }: Context): readonly string[] | undefined {
  if (typeof args["agent"] !== "string") return undefined
  const picked = args["agent"].split(",").map((name) => name.trim())
  const wrong = picked.find((name) => !NAMES.includes(name))
  if (wrong !== undefined) throw usageError(`--agent must be among ${NAMES.join(", ")}, not ${safe(wrong)}`)
  if (args["scope"] !== "user" && picked.some((name) => name !== UNMARKED))
    throw usageError("--scope is about Claude Code's settings; other agents have the user's only")
  return picked
}

export const isClaudePicked = (picked: readonly string[] | undefined): boolean =>
  picked === undefined || picked.includes(UNMARKED)

/** What was done in an agent's files, or would be. */
export interface AgentChange {
  readonly agent: string
  readonly title: string
  /** What the user has to do then. */
  readonly next: string | null
  /** Whether it is registered, before or now. */
  readonly registered: boolean
  readonly files: readonly SettingsChange[]
  /** Why its files are left alone, if they cannot be edited. */
  readonly problem: string | null
}

interface Offered {
  readonly agent: InstallableAgent
  readonly installer: AgentInstaller
  readonly planned: readonly SettingsChange[]
}

/**
 * Registers with the agents that were picked; if none was, with those that are here and the user agrees to. Where we are
 * registered already, that is brought up to date without asking.
 *
 * @param agrees asks once for all
 */
export async function registerAgents(
  context: Context,
  agrees: (question: string) => boolean,
): Promise<AgentChange[]> {
  const { args, env } = context
  const picked = agentsPicked(context)
  if (picked === undefined && args["scope"] !== "user") return []
  const dryRun = args["dry-run"] === true
  const options = { places: env, exePath: env.exePath, withServer: args["no-mcp"] !== true }
  const wanted = INSTALLABLE_AGENTS.filter((one) => picked?.includes(one.name) ?? isAgentHere(one, env))
  const offered: Offered[] = []
  const failed: AgentChange[] = []
  for (const agent of wanted) {
    const installer = await agent.load()
    try {
      offered.push({ agent, installer, planned: installAgent(installer, { ...options, dryRun: true }) })
    } catch (error) {
      // What is wrong in a file of an agent that nobody named keeps us out of no other.
      if (picked !== undefined) throw error
      failed.push({ ...changeOf(agent, []), problem: messageOf(error) })
    }
  }
  const unknown = picked === undefined ? offered.filter((one) => !isRegistered(one)) : []
  const names = unknown.map(({ agent }) => agent.title).join(", ")
  const isAgreed =
    unknown.length === 0 || dryRun || agrees(`${names} too: register the hooks and the server there?`)
  const done = offered.map((one): AgentChange => {
    const { agent, installer, planned } = one
    const isDone = isAgreed || !unknown.includes(one)
    const files =
      isDone && !dryRun
        ? oneAtATime(env.home, () => installAgent(installer, { ...options, dryRun }))
        : planned
    if (isDone && !dryRun && files.some(({ changed }) => changed)) dropPointers(env.dataHome)
    return { ...changeOf(agent, files), next: installer.next ?? null, registered: isDone && !dryRun }
  })
  return [...done, ...failed]
}

const changeOf = ({ name, title }: InstallableAgent, files: readonly SettingsChange[]): AgentChange => ({
  agent: name,
  title,
  next: null,
  registered: false,
  files,
  problem: null,
})

/** Whether something of ours is there, so that an install only brings it up to date. */
const isRegistered = ({ planned }: Offered): boolean =>
  planned.some(({ changed, replaced }) => !changed || replaced.length > 0)

/** What is said of an agent, and its changes in a dry run. */
export function registeredLines(change: AgentChange, isDryRun: boolean): string[] {
  const { agent, title, next, registered, files, problem } = change
  if (problem !== null) return [`${title}: not registered: ${problem}`]
  const changed = files.filter((one) => one.changed)
  // Hooks and the server may be in one file.
  const names = [...new Set(changed.map(({ file }) => file))].join(", ")
  if (changed.length === 0) return [`${title}: already registered`]
  if (!registered)
    return [
      `${title}: \`ctxbridge install --agent ${agent}\` would change ${names}`,
      ...(isDryRun ? changed.flatMap(({ diff }) => diff) : []),
    ]
  return [
    `${title}: registered in ${names}`,
    ...(next === null ? [] : [`  next      ${next}`]),
    `  undo      ctxbridge uninstall --agent ${agent}`,
  ]
}

/**
 * Removes what is ours from the agents that were picked; if none was, from all.
 *
 * @param isWhole whatever the options say of scopes
 */
export async function unregisterAgents(context: Context, isWhole = false): Promise<AgentChange[]> {
  const { args, env } = context
  const picked = agentsPicked(context)
  if (picked === undefined && args["scope"] !== "user" && !isWhole) return []
  const dryRun = args["dry-run"] === true
  const options = { places: env, exePath: env.exePath, dryRun, withServer: args["no-mcp"] !== true }
  const changes: AgentChange[] = []
  for (const agent of INSTALLABLE_AGENTS.filter(({ name }) => picked?.includes(name) ?? true)) {
    const installer = await agent.load()
    const next = installer.afterwards?.(env) ?? null
    const { files, problems } = oneAtATime(env.home, () => uninstallAgent(installer, options))
    const isChanged = files.some(({ changed }) => changed)
    if (!dryRun && isChanged) dropPointers(env.dataHome)
    const problem = problems.length === 0 ? null : problems.join("; ")
    changes.push({ ...changeOf(agent, files), next: isChanged ? next : null, problem })
  }
  return changes
}

/** Why something of ours may still be with an agent. */
export const agentProblems = (changes: readonly AgentChange[]): string[] =>
  changes.flatMap(({ title, problem }) => (problem === null ? [] : [`${title}: not removed: ${problem}`]))

/** What the user has to do after an uninstall. */
export const agentSteps = (changes: readonly AgentChange[]): string[] =>
  changes.flatMap(({ title, next }) => (next === null ? [] : [`${title}: ${next}`]))
