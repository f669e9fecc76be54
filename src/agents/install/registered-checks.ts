/** What `doctor` looks at alike for each agent with hooks: those that are registered, the server, the version. */
import { readText } from "../../base/edited-file.ts"
import { messageOf } from "../../base/errors.ts"
import { output } from "../../base/processes.ts"
import { versionIn } from "../../claude/install/clients.ts"
import type { HookTable } from "../../claude/install/hooks-table.ts"
import { addHooks } from "../../claude/install/settings-edit.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import type { AgentCheck } from "./agent-installers.ts"

/** The command that registers everything with an agent. */
export const registering = (agent: string): string => `ctxbridge install --agent ${agent}`

/** A look at a file; one that cannot be read, or means nothing, is a failure. */
export function looked(file: string, check: (text: string | undefined) => AgentCheck): AgentCheck {
  try {
    return check(readText(file))
  } catch (error) {
    return { state: "fail", text: `${file}: ${messageOf(error)}`, hint: "correct the file" }
  }
}

/** @param empty what the file begins with, where there is none */
export const hooksCheck = (
  agent: string,
  file: string,
  { exePath, table, empty }: { readonly exePath: string; readonly table: HookTable; readonly empty?: string },
): AgentCheck =>
  looked(file, (text) => {
    const { added, replaced } = addHooks(text ?? empty, exePath, false, table)
    const hint = registering(agent)
    if (added.length === table.events.length)
      return { state: "skipped", text: "no hooks of ours are registered", hint }
    if (added.length + replaced.length === 0) return { state: "ok", text: `hooks are registered in ${file}` }
    const wrong = [...added, ...replaced].join(", ")
    const told = `hooks in ${file} are not as they should be: ${wrong}`
    return { state: "fail", text: told, hint, isMended: true }
  })

export const serverCheck = (agent: string, file: string, isListed: boolean): AgentCheck =>
  isListed
    ? { state: "ok", text: `the server is registered in ${file}` }
    : { state: "skipped", text: `${file} lists no server ${SERVER_NAME}`, hint: registering(agent) }

/**
 * @param agent also the name of its program
 * @param tried the oldest version that was tried, and the newest if that is another (docs/agents.md)
 */
export async function versionCheck(
  agent: string,
  title: string,
  tried: readonly [oldest: string, newest?: string],
): Promise<AgentCheck> {
  const command = Bun.which(agent)
  const version = command === null ? undefined : versionIn(await output([command, "--version"]))
  if (version === undefined) return { state: "skipped", text: `no \`${agent}\` on PATH` }
  const [oldest] = tried
  // opencode 2 has other tables and plugins than opencode 1.
  if (majorOf(version) > majorOf(tried.at(-1)!))
    return {
      state: "warn",
      text: `version ${version}; not tried: ${tried.join(" to ")} was`,
      hint: "docs/agents.md says what is read of it",
    }
  if (Bun.semver.order(version, oldest) >= 0)
    return { state: "ok", text: `version ${version}; tried with ${tried.join(" to ")}` }
  return {
    state: "warn",
    text: `version ${version}; older than ${oldest} is untested`,
    hint: `update ${title}`,
  }
}

const majorOf = (version: string): number => Number.parseInt(version, 10)
