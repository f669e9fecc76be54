/**
 * What is ours in Codex' files: hooks in `hooks.json`, which Codex calls once the user has trusted them, and the server in
 * `config.toml`. A changed entry has to be trusted again, so an entry that is sound is never touched.
 */
import { readText } from "../../base/edited-file.ts"
import { messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { parseJson } from "../../base/json-files.ts"
import { isEmptySettings, splitBom } from "../../base/json-text.ts"
import { join } from "../../base/path.ts"
import { HOOK_LABEL, HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import type { Paths } from "../../config/load.ts"
import { objectOf, stringOf } from "../../record/json.ts"
import { codexFolder } from "../codex/codex-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"
import { addCodexServer, codexServer, removeCodexServer } from "./codex-config.ts"
import { codexTrust, codexVersion } from "./codex-trust.ts"

const AGENT = "codex"

/** Codex allows no more for the end of a session. */
const END_SECONDS = 3
/** Events at which something may be given to the model. */
const GIVING = ["SessionStart", "UserPromptSubmit"]

/** Without a matcher, a start is told whatever its source is: `compact` matters most. */
export const CODEX_TABLE = hookTable(
  AGENT,
  {
    SessionStart: "session-start",
    UserPromptSubmit: "user-prompt-submit",
    PreCompact: "pre-compact",
    Stop: "stop",
    SubagentStop: "subagent-stop",
    SessionEnd: "session-end",
  },
  (event) => ({
    timeout: event === "SessionEnd" ? END_SECONDS : HOOK_TIMEOUT_SECONDS,
    statusMessage: HOOK_LABEL,
    // Otherwise a part of a longer text goes into a file. What we give has a limit of its own.
    ...(GIVING.includes(event) && { additionalContextLimit: 0 }),
  }),
)

const hooksFile = (places: Paths): string => join(codexFolder(places), "hooks.json")
const configFile = (places: Paths): string => join(codexFolder(places), "config.toml")

const files = (places: Paths, exePath: string): AgentFile[] => [
  {
    agent: AGENT,
    file: hooksFile(places),
    folderMode: 0o700,
    add: (text) => addHooks(text, exePath, false, CODEX_TABLE),
    remove: (text, original) => removeHooks(text, original, CODEX_TABLE),
    isEmpty: isEmptySettings,
  },
  {
    agent: AGENT,
    file: configFile(places),
    isServers: true,
    // It may hold keys.
    isPrivate: true,
    folderMode: 0o700,
    add: (text) => addCodexServer(text, exePath),
    remove: removeCodexServer,
    isEmpty: (text) => text.trim() === "",
  },
]

const TRUST =
  'start codex at a terminal, and choose "Trust all and continue" where it says that hooks need review'
const REGISTER = `ctxbridge install --agent ${AGENT}`

async function checks(places: Paths, exePath: string): Promise<AgentCheck[]> {
  const found: AgentCheck[] = [...hooksCheck(places, exePath), ...serverCheck(places)]
  const [first] = found
  if (first?.state === "ok")
    found.push(...(await codexTrust(places, hooksFile(places), CODEX_TABLE.isOurs, TRUST)))
  return [...found, await codexVersion()]
}

function hooksCheck(places: Paths, exePath: string): AgentCheck[] {
  const file = hooksFile(places)
  try {
    const { added, replaced } = addHooks(readText(file), exePath, false, CODEX_TABLE)
    if (added.length === CODEX_TABLE.events.length)
      return [{ state: "skipped", text: "no hooks of ours are registered", hint: REGISTER }]
    if (added.length + replaced.length === 0)
      return [{ state: "ok", text: `hooks are registered in ${file}` }]
    const text = `hooks in ${file} are not as they should be: ${[...added, ...replaced].join(", ")}`
    return [{ state: "fail", text, hint: REGISTER, isMended: true }]
  } catch (error) {
    return [{ state: "fail", text: `${file}: ${messageOf(error)}`, hint: "correct the file" }]
  }
}

function serverCheck(places: Paths): AgentCheck[] {
  const file = configFile(places)
  try {
    const server = codexServer(readText(file))
    if (server === "on") return [{ state: "ok", text: `the server is registered in ${file}` }]
    if (server === "off")
      return [{ state: "warn", text: `the server is switched off in ${file}`, hint: "enabled = false there" }]
    return [{ state: "skipped", text: `${file} lists no server ${SERVER_NAME}`, hint: REGISTER }]
  } catch (error) {
    // Codex reads some that are not read here, such as numbers of more than 53 bits.
    const hint = "codex mcp list tells whether the server is registered"
    return [{ state: "warn", text: `${file}: ${messageOf(error)}`, hint }]
  }
}

/** Codex tells trust by the place: others' hooks behind ours get another one. */
function afterwards(places: Paths): string | undefined {
  const text = tryTo(() => readText(hooksFile(places))) ?? ""
  const left = tryTo(() => removeHooks(text, undefined, CODEX_TABLE).text) ?? text
  const still = new Set(placesOfOthers(left))
  return placesOfOthers(text).every((place) => still.has(place))
    ? undefined
    : "start codex: it may ask again for your other hooks, which have moved up"
}

function placesOfOthers(text: string): string[] {
  const { hooks: events } = objectOf(parseJson(splitBom(text)[1]))
  return Object.entries(objectOf(events)).flatMap(([event, groups]) =>
    listOf(groups).flatMap((group, n) =>
      listOf(objectOf(group)["hooks"]).flatMap((hook, m) => {
        const command = stringOf(objectOf(hook)["command"]) ?? ""
        return CODEX_TABLE.isOurs(command) ? [] : [`${event} ${n} ${m} ${command}`]
      }),
    ),
  )
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const CODEX_INSTALLER: AgentInstaller = { files, next: TRUST, afterwards, checks }
