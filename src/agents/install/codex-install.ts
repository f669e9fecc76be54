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
import { count } from "../../base/text.ts"
import { HOOK_LABEL, HOOK_TIMEOUT_SECONDS } from "../../claude/hooks.ts"
import { hookTable } from "../../claude/install/hooks-table.ts"
import { addHooks, removeHooks } from "../../claude/install/settings-edit.ts"
import { childEnvironment, type Paths } from "../../config/load.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { codexFolder } from "../codex/codex-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"
import { addCodexServer, codexServer, removeCodexServer } from "./codex-config.ts"
import { hooksCheck, serverCheck, versionCheck } from "./registered-checks.ts"

const AGENT = "codex"
const TRIED = ["0.169.0", "0.171.0"] as const

/** Codex allows no more for the end of a session. */
const END_SECONDS = 3
/** Events at which something may be given to the model. */
const GIVING = ["SessionStart", "UserPromptSubmit"]

/** Without a matcher, a start is told whatever its source is: `compact` matters most. */
const CODEX_TABLE = hookTable(
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
async function checks(places: Paths, exePath: string): Promise<AgentCheck[]> {
  const hooks = hooksCheck(AGENT, hooksFile(places), { exePath, table: CODEX_TABLE })
  const trust = hooks.state === "ok" ? await codexTrust(places, hooksFile(places)) : []
  return [hooks, codexServerCheck(places), ...trust, await versionCheck(AGENT, "Codex", TRIED)]
}

function codexServerCheck(places: Paths): AgentCheck {
  const file = configFile(places)
  try {
    const server = codexServer(readText(file))
    if (server !== "off") return serverCheck(AGENT, file, server === "on")
    return {
      state: "warn",
      text: `the server is switched off in ${file}`,
      hint: "take out enabled = false there",
    }
  } catch (error) {
    // Codex reads some that are not read here, such as numbers of more than 53 bits.
    const hint = "codex mcp list tells whether the server is registered"
    return { state: "warn", text: `${file}: ${messageOf(error)}`, hint }
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

/*
 * Whether Codex calls our hooks: it calls none that the user has not reviewed, and says nothing of it. Codex itself is
 * asked, which knows how it compares them; where it does not answer, its file says what was reviewed.
 */

/** ms that Codex gets to answer; it takes a tenth of a second. */
const PATIENCE = 5000

async function codexTrust(places: Paths, file: string): Promise<AgentCheck[]> {
  const { isOurs } = CODEX_TABLE
  const hint = TRUST
  const text = tryTo(() => readText(join(codexFolder(places), "config.toml")))
  const config = objectOf(tryTo(() => Bun.TOML.parse(text ?? "")))
  if (objectOf(config["features"])["hooks"] === false)
    return [
      {
        state: "fail",
        text: "hooks are switched off (features.hooks in config.toml)",
        hint: "set it to true",
      },
    ]
  const listed = await listedBy(places)
  const own = listed?.filter((hook) => hook["sourcePath"] === file && isOurs(stringOf(hook["command"]) ?? ""))
  if (own !== undefined && own.length > 0) {
    const waiting = own.filter(({ trustStatus }) => trustStatus !== "trusted" && trustStatus !== "managed")
    const trust: AgentCheck =
      waiting.length === 0
        ? { state: "ok", text: `${count(own.length, "hook")} are trusted` }
        : untrusted(count(waiting.length, "hook"), hint)
    return [trust, ...limits(own)]
  }
  const reviewed = Object.keys(objectOf(objectOf(config["hooks"])["state"])).some((key) =>
    key.startsWith(`${file}:`),
  )
  if (!reviewed) return [untrusted("hooks", hint)]
  return [
    { state: "ok", text: "hooks were reviewed; Codex was not there to say whether they are still trusted" },
  ]
}

/** What keeps a trusted hook from doing what it is for. */
function limits(hooks: readonly JsonObject[]): AgentCheck[] {
  const off = hooks
    .filter(({ enabled }) => enabled === false)
    .map(({ eventName }) => stringOf(eventName) ?? "")
  // Versions that have no such limit do not tell it.
  const short = hooks.filter(
    ({ eventName, additionalContextLimit: limit }) =>
      GIVING_AS_LISTED.includes(stringOf(eventName) ?? "") && limit !== undefined && limit !== 0,
  )
  return [
    ...(off.length === 0
      ? []
      : [
          {
            state: "warn",
            text: `switched off in Codex: ${off.join(", ")}`,
            hint: "/hooks in Codex switches them on",
          } as const,
        ]),
    ...(short.length === 0
      ? []
      : [
          {
            state: "warn",
            text: "long restores are cut (additionalContextLimit is not 0)",
            hint: "ctxbridge uninstall --agent codex, then install it again",
          } as const,
        ]),
  ]
}

/** Events at which something may be given to the model, as Codex lists them. */
const GIVING_AS_LISTED = ["sessionStart", "userPromptSubmit"]

const untrusted = (which: string, hint: string): AgentCheck => ({
  state: "warn",
  text: `${which} are not trusted yet, so Codex does not call them`,
  hint,
})

/** The hooks that Codex knows in a folder without a project's; undefined if it does not say. */
async function listedBy(places: Paths): Promise<JsonObject[] | undefined> {
  const command = Bun.which("codex")
  if (command === null) return undefined
  const asked = [
    {
      id: 1,
      method: "initialize",
      params: { clientInfo: { name: "ctxbridge", title: "ctxbridge", version: "0" } },
    },
    { method: "initialized" },
    { id: 2, method: "hooks/list", params: { cwds: [places.home] } },
  ]
  const child = Bun.spawn([command, "app-server"], {
    cwd: places.home,
    env: { ...childEnvironment(), CODEX_HOME: codexFolder(places) },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    timeout: PATIENCE,
  })
  try {
    // It stays open: at its end, Codex ends without an answer.
    child.stdin.write(asked.map((one) => `${JSON.stringify(one)}\n`).join(""))
    child.stdin.flush()
    const decoder = new TextDecoder()
    let said = ""
    for await (const chunk of child.stdout) {
      said += decoder.decode(chunk, { stream: true })
      const answer = said
        .split("\n")
        .slice(0, -1)
        .map(parseJson)
        .map(objectOf)
        .find(({ id }) => id === 2)
      if (answer === undefined) continue
      const { data } = objectOf(answer["result"])
      return (Array.isArray(data) ? data : []).flatMap((one) => {
        const { hooks } = objectOf(one)
        return Array.isArray(hooks) ? hooks.filter(isObject) : []
      })
    }
    return undefined
  } finally {
    child.kill()
  }
}

export const CODEX_INSTALLER: AgentInstaller = { files, next: TRUST, afterwards, checks }
