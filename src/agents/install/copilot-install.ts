/**
 * What is ours in Copilot CLI's files: hooks, in a file of their own, and the server in its list of servers. No hook is
 * called before a tool: one that fails there denies the tool.
 */
import { readText } from "../../base/edited-file.ts"
import { messageOf } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { isEmptySettings } from "../../base/json-text.ts"
import { join } from "../../base/path.ts"
import { output } from "../../base/processes.ts"
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { versionIn } from "../../claude/install/clients.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { addServer, removeServer, serverCommand } from "../../claude/install/server-edit.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import type { Paths } from "../../config/load.ts"
import { isObject } from "../../record/json.ts"
import { copilotFolder, SERVERS_FILE } from "../copilot/copilot-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"

const AGENT = "copilot"
/** Version that was tried (docs/agents.md). */
const TRIED = "1.0.102"

/** Whatever tool it was, and whatever a compaction was begun for. */
const TABLE = hookTable(
  AGENT,
  {
    sessionStart: "session-start",
    userPromptSubmitted: "user-prompt-submit",
    postToolUse: "post-tool-use",
    preCompact: "pre-compact",
    agentStop: "stop",
    sessionEnd: "session-end",
  },
  () => ({ timeout: HOOK_TIMEOUT_SECONDS }),
)

/** What such a file begins with. */
const NEW = '{\n  "version": 1\n}\n'

const hooksFile = (places: Paths): string => join(copilotFolder(places), "hooks", "ctxbridge.json")
const serversFile = (places: Paths): string => join(copilotFolder(places), SERVERS_FILE)

function isEmpty(text: string): boolean {
  const content = parseJson(text)
  return isEmptySettings(text) || (isObject(content) && Object.keys(content).join() === "version")
}

const files = (places: Paths, exePath: string): AgentFile[] => [
  {
    agent: AGENT,
    file: hooksFile(places),
    folderMode: 0o700,
    add: (text) => addHooks(text ?? NEW, exePath, false, TABLE),
    remove: (text, original) => removeHooks(text, original, TABLE),
    isEmpty,
  },
  {
    agent: AGENT,
    file: serversFile(places),
    isServers: true,
    // It may hold keys.
    isPrivate: true,
    folderMode: 0o700,
    add: (text) => addServer(text, exePath),
    remove: removeServer,
    isEmpty: isEmptySettings,
  },
]

const REGISTER = `ctxbridge install --agent ${AGENT}`

const checks = async (places: Paths, exePath: string): Promise<AgentCheck[]> => [
  looked(hooksFile(places), (text) => hooksCheck(text, hooksFile(places), exePath)),
  looked(serversFile(places), (text) => serverCheck(text, serversFile(places))),
  await versionCheck(),
]

function looked(file: string, check: (text: string | undefined) => AgentCheck): AgentCheck {
  try {
    return check(readText(file))
  } catch (error) {
    return { state: "fail", text: `${file}: ${messageOf(error)}`, hint: "correct the file" }
  }
}

function hooksCheck(text: string | undefined, file: string, exePath: string): AgentCheck {
  const { added, replaced } = addHooks(text ?? NEW, exePath, false, TABLE)
  if (added.length === TABLE.events.length)
    return { state: "skipped", text: "no hooks of ours are registered", hint: REGISTER }
  if (added.length + replaced.length === 0) return { state: "ok", text: `hooks are registered in ${file}` }
  const wrong = [...added, ...replaced].join(", ")
  const told = `hooks in ${file} are not as they should be: ${wrong}`
  return { state: "fail", text: told, hint: REGISTER, isMended: true }
}

function serverCheck(text: string | undefined, file: string): AgentCheck {
  return text !== undefined && serverCommand(text) !== undefined
    ? { state: "ok", text: `the server is registered in ${file}` }
    : { state: "skipped", text: `${file} lists no server ${SERVER_NAME}`, hint: REGISTER }
}

async function versionCheck(): Promise<AgentCheck> {
  const command = Bun.which(AGENT)
  const version = command === null ? undefined : versionIn(await output([command, "--version"]))
  if (version === undefined) return { state: "skipped", text: `no \`${AGENT}\` on PATH` }
  if (Bun.semver.order(version, TRIED) >= 0)
    return { state: "ok", text: `version ${version}; tried with ${TRIED}` }
  return {
    state: "warn",
    text: `version ${version}; older than ${TRIED} is untested`,
    hint: "update Copilot CLI",
  }
}

export const COPILOT_INSTALLER: AgentInstaller = { files, checks }
