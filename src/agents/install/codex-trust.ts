/** What Codex says of our hooks: whether the user has trusted them. And which version it is. */
import { readText } from "../../base/edited-file.ts"
import { tryTo } from "../../base/files.ts"
import { join } from "../../base/path.ts"
import { output } from "../../base/processes.ts"
import { versionIn } from "../../claude/install/clients.ts"
import type { Paths } from "../../config/load.ts"
import { objectOf } from "../../record/json.ts"
import { codexFolder } from "../codex/codex-places.ts"
import type { AgentCheck } from "./agent-installers.ts"

/** Versions that were tried, oldest and newest (docs/agents.md). */
const TRIED = ["0.150.0", "0.171.0"] as const

/** Whether the hooks of a file are called: Codex calls none that the user has not reviewed, and says nothing of it. */
export async function codexTrust(places: Paths, file: string, hint: string): Promise<AgentCheck[]> {
  const text = tryTo(() => readText(join(codexFolder(places), "config.toml")))
  const config = objectOf(tryTo(() => Bun.TOML.parse(text ?? "")))
  if (objectOf(config["features"])["hooks"] === false)
    return [
      {
        state: "fail",
        text: "hooks are switched off (features.hooks in config.toml)",
        hint: "remove that line",
      },
    ]
  const states = Object.keys(objectOf(objectOf(config["hooks"])["state"]))
  const isReviewed = states.some((key) => key.startsWith(`${file}:`))
  if (isReviewed)
    return [{ state: "ok", text: "hooks were reviewed; a changed one has to be reviewed again" }]
  return [{ state: "warn", text: "hooks are not trusted yet, so Codex does not call them", hint }]
}

export async function codexVersion(): Promise<AgentCheck> {
  const command = Bun.which("codex")
  const version = command === null ? undefined : versionIn(await output([command, "--version"]))
  if (version === undefined) return { state: "skipped", text: "no `codex` on PATH" }
  const isTried = Bun.semver.order(version, TRIED[0]) >= 0
  if (isTried) return { state: "ok", text: `Codex ${version}; tried with ${TRIED.join(" to ")}` }
  return {
    state: "warn",
    text: `Codex ${version}; versions older than ${TRIED[0]} are untested`,
    hint: "update Codex",
  }
}
