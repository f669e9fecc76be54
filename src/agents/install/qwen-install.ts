/** What is ours in Qwen Code's settings: hooks, and the server in its list of servers. */
import { readText } from "../../base/edited-file.ts"
import { messageOf } from "../../base/errors.ts"
import { isEmptySettings } from "../../base/json-text.ts"
import { output } from "../../base/processes.ts"
import { HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { versionIn } from "../../claude/install/clients.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { addServer, removeServer, serverCommand } from "../../claude/install/server-edit.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import type { Paths } from "../../config/load.ts"
import { qwenSettings } from "../qwen/qwen-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"

const AGENT = "qwen"
/** Version that was tried (docs/agents.md). */
const TRIED = "0.24.4"

/** After a compaction, the next tool or prompt is answered. */
const TABLE = hookTable(
  AGENT,
  {
    SessionStart: "session-start",
    UserPromptSubmit: "user-prompt-submit",
    PostToolUse: "post-tool-use",
    PreCompact: "pre-compact",
    Stop: "stop",
    SubagentStop: "subagent-stop",
    SessionEnd: "session-end",
  },
  () => ({ timeout: HOOK_TIMEOUT_SECONDS }),
)

/** One file has both. */
const shared = (places: Paths) => ({
  agent: AGENT,
  file: qwenSettings(places),
  folderMode: 0o700,
  // It may hold keys.
  isPrivate: true,
  isEmpty: isEmptySettings,
})

const files = (places: Paths, exePath: string): AgentFile[] => [
  {
    ...shared(places),
    add: (text) => addHooks(text, exePath, false, TABLE),
    remove: (text, original) => removeHooks(text, original, TABLE),
  },
  { ...shared(places), isServers: true, add: (text) => addServer(text, exePath), remove: removeServer },
]

const REGISTER = `ctxbridge install --agent ${AGENT}`

async function checks(places: Paths, exePath: string): Promise<AgentCheck[]> {
  const file = qwenSettings(places)
  const looked = (check: (text: string | undefined) => AgentCheck): AgentCheck => {
    try {
      return check(readText(file))
    } catch (error) {
      return { state: "fail", text: `${file}: ${messageOf(error)}`, hint: "correct the file" }
    }
  }
  return [
    looked((text) => hooksCheck(text, file, exePath)),
    looked((text) => serverCheck(text, file)),
    await versionCheck(),
  ]
}

function hooksCheck(text: string | undefined, file: string, exePath: string): AgentCheck {
  const { added, replaced } = addHooks(text, exePath, false, TABLE)
  if (added.length === TABLE.events.length)
    return { state: "skipped", text: "no hooks of ours are registered", hint: REGISTER }
  if (added.length + replaced.length === 0) return { state: "ok", text: `hooks are registered in ${file}` }
  const wrong = [...added, ...replaced].join(", ")
  const told = `hooks in ${file} are not as they should be: ${wrong}`
  return { state: "fail", text: told, hint: REGISTER, isMended: true }
}

const serverCheck = (text: string | undefined, file: string): AgentCheck =>
  text !== undefined && serverCommand(text) !== undefined
    ? { state: "ok", text: `the server is registered in ${file}` }
    : { state: "skipped", text: `${file} lists no server ${SERVER_NAME}`, hint: REGISTER }

async function versionCheck(): Promise<AgentCheck> {
  const command = Bun.which(AGENT)
  const version = command === null ? undefined : versionIn(await output([command, "--version"]))
  if (version === undefined) return { state: "skipped", text: `no \`${AGENT}\` on PATH` }
  const isTried = Bun.semver.order(version, TRIED) >= 0
  if (isTried) return { state: "ok", text: `version ${version}; tried with ${TRIED}` }
  return {
    state: "warn",
    text: `version ${version}; older than ${TRIED} is untested`,
    hint: "update Qwen Code",
  }
}

export const QWEN_INSTALLER: AgentInstaller = { files, checks }
