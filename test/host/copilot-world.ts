/** A place of its own for the real Copilot CLI: home, project, archive, and its model on the loopback. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type ChatModel, type ChatReply, type ChatRequest, startChatModel } from "./copilot-model.ts"
import { fromNpm } from "./from-npm.ts"
import { createPlaces, installIn, toItsEnd } from "./world.ts"

const PACKAGE = "@github/copilot"

export interface CopilotClient {
  readonly version: string
  readonly command: string
}

/** For a suite that is there whether it can run or not. */
export async function copilotFor(
  version: string,
): Promise<{ readonly client: CopilotClient; readonly missing: string | undefined }> {
  const found = await fromNpm(`${PACKAGE}@${version}`, `copilot-${version}`)
  const told = "missing" in found ? found.missing : undefined
  const command = "missing" in found ? "" : nativeIn(found.modules)
  const missing = told ?? (existsSync(command) ? undefined : "no program for this system")
  if (missing !== undefined) console.warn(`skipped: Copilot CLI ${version}: ${missing}`)
  return { client: { version, command }, missing }
}

/** Its script only starts the native program, in a package of the system's own. */
const nativeIn = (modules: string): string =>
  join(modules, `${PACKAGE}-${process.platform}-${process.arch}`, "copilot")

/** Tokens of a context, and when Copilot begins to compact it. */
const WINDOW = 60_000
export const COPILOT_FULL = 55_000

export interface CopilotWorld {
  readonly client: CopilotClient
  readonly root: string
  readonly home: string
  readonly cwd: string
  /** Copilot's folder. */
  readonly folder: string
  readonly store: string
  /** The copy of our binary that the hooks call; a test may delete it. */
  readonly binary: string
  readonly env: Record<string, string>
  readonly model: ChatModel
  dispose(): void
}

/** @param folder Copilot's, below the home folder; another one than usual is named by its variable */
export function createCopilotWorld(
  client: CopilotClient,
  answer: (request: ChatRequest) => ChatReply,
  folder = ".copilot",
): CopilotWorld {
  const places = createPlaces("copilot", [dirname(client.command)])
  const { root, home, cwd, store, binary } = places
  const model = startChatModel(answer)
  const env = {
    ...places.env,
    COPILOT_OFFLINE: "true",
    COPILOT_MODEL: "m1",
    COPILOT_PROVIDER_BASE_URL: model.url,
    COPILOT_PROVIDER_API_KEY: "no-key-of-anyone",
    COPILOT_PROVIDER_MAX_PROMPT_TOKENS: `${WINDOW}`,
    COPILOT_PROVIDER_MAX_OUTPUT_TOKENS: "8000",
    ...(folder !== ".copilot" && { COPILOT_HOME: join(home, folder) }),
    // What it unpacks, 190 MB, is there once.
    XDG_CACHE_HOME: join(dirname(client.command), ".unpacked"),
  }
  const dispose = (): void => {
    model.stop()
    places.dispose()
  }
  return { client, root, home, cwd, folder: join(home, folder), store, binary, env, model, dispose }
}

/** Registers as a user would. */
export const installInCopilot = (world: CopilotWorld): void => installIn(world, "copilot")

/** Print mode, to its end. */
export async function runCopilot(world: CopilotWorld, args: readonly string[]) {
  const { client, env, cwd } = world
  return await toItsEnd([client.command, "--allow-all-tools", "--no-auto-update", ...args], { env, cwd })
}

/** Transcripts of its sessions. */
export function eventsOf({ folder }: CopilotWorld): string[] {
  const sessions = join(folder, "session-state")
  return readdirSync(sessions)
    .map((id) => join(sessions, id, "events.jsonl"))
    .filter((path) => existsSync(path))
}

export interface CopilotEvent {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

export const readEvents = (path: string): CopilotEvent[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as CopilotEvent)
