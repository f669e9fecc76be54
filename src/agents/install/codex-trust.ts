/**
 * Whether Codex calls our hooks: it calls none that the user has not reviewed, and says nothing of it. Codex itself is
 * asked, which knows how it compares them; where it does not answer, its file says what was reviewed. And its version.
 */
import { readText } from "../../base/edited-file.ts"
import { tryTo } from "../../base/files.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { output } from "../../base/processes.ts"
import { count } from "../../base/text.ts"
import { versionIn } from "../../claude/install/clients.ts"
import { childEnvironment, type Paths } from "../../config/load.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { codexFolder } from "../codex/codex-places.ts"
import type { AgentCheck } from "./agent-installers.ts"

/** Versions that were tried, oldest and newest (docs/agents.md). */
const TRIED = ["0.169.0", "0.171.0"] as const
/** ms that Codex gets to answer; it takes a tenth of a second. */
const PATIENCE = 5000

/** @param isOurs whether a hook's command is ours */
export async function codexTrust(
  places: Paths,
  file: string,
  isOurs: (command: string) => boolean,
  hint: string,
): Promise<AgentCheck[]> {
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
      GIVING.includes(stringOf(eventName) ?? "") && limit !== undefined && limit !== 0,
  )
  return [
    ...(off.length === 0
      ? []
      : [
          {
            state: "warn",
            text: `switched off in Codex: ${off.join(", ")}`,
            hint: "/hooks in Codex",
          } as const,
        ]),
    ...(short.length === 0
      ? []
      : [
          {
            state: "warn",
            text: "long texts that are given back are cut (additionalContextLimit is not 0)",
            hint: "ctxbridge uninstall --agent codex, then install it again",
          } as const,
        ]),
  ]
}

/** Events at which something may be given to the model, as Codex lists them. */
const GIVING = ["sessionStart", "userPromptSubmit"]

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

export async function codexVersion(): Promise<AgentCheck> {
  const command = Bun.which("codex")
  const version = command === null ? undefined : versionIn(await output([command, "--version"]))
  if (version === undefined) return { state: "skipped", text: "no `codex` on PATH" }
  const isTried = Bun.semver.order(version, TRIED[0]) >= 0
  if (isTried) return { state: "ok", text: `version ${version}; tried with ${TRIED.join(" to ")}` }
  return {
    state: "warn",
    text: `version ${version}; older than ${TRIED[0]} is untested`,
    hint: "update Codex",
  }
}
