/** A place of its own for the real opencode: home, project, archive, its model on the loopback. */
import { Database } from "bun:sqlite"
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fromNpm } from "./from-npm.ts"
import { OpencodeModel } from "./opencode-model.ts"
import { createPlaces, installIn, toItsEnd } from "./world.ts"

export interface OpencodeClient {
  readonly version: string
  readonly command: string
}

/** For a suite that is there whether it can run or not. */
export async function opencodeFor(
  version: string,
): Promise<{ readonly client: OpencodeClient; readonly missing: string | undefined }> {
  const found = await fromNpm(`opencode-ai@${version}`, `opencode-${version}`)
  const command = "missing" in found ? undefined : nativeIn(found.modules)
  const missing =
    "missing" in found ? found.missing : command === undefined ? "no program for this system" : undefined
  if (missing !== undefined) console.warn(`skipped: opencode ${version}: ${missing}`)
  return { client: { version, command: command ?? "" }, missing }
}

/** Its script only starts the native program, in a package of the system's own. */
const nativeIn = (modules: string): string | undefined =>
  readdirSync(modules)
    .filter((name) => name.startsWith("opencode-") && name !== "opencode-ai")
    .sort((a, b) => a.length - b.length)
    .map((name) => join(modules, name, "bin", "opencode"))
    .find((file) => existsSync(file))

/** A context of this many tokens is compacted. */
export const OPENCODE_FULL = 90_000

export interface OpencodeWorld {
  readonly client: OpencodeClient
  readonly root: string
  readonly home: string
  readonly cwd: string
  /** Where its settings are. */
  readonly folder: string
  readonly database: string
  readonly store: string
  /** The copy of our binary that the plugin calls; a test may delete it. */
  readonly binary: string
  readonly env: Record<string, string>
  readonly model: OpencodeModel
  dispose(): void
}

export function createOpencodeWorld(client: OpencodeClient): OpencodeWorld {
  const places = createPlaces("opencode", [])
  const { root, home, cwd, store, binary } = places
  const folder = join(home, ".config", "opencode")
  mkdirSync(folder, { recursive: true })
  const model = new OpencodeModel()
  const settings = {
    $schema: "https://opencode.ai/config.json",
    model: "standin/m1",
    small_model: "standin/m1",
    permission: { "*": "allow" },
    provider: {
      standin: {
        npm: "@ai-sdk/openai-compatible",
        name: "Stand-in",
        options: { baseURL: model.url, apiKey: "no-key-of-anyone" },
        models: { m1: { name: "m1", tool_call: true, limit: { context: 95_000, output: 8000 } } },
      },
    },
  }
  writeFileSync(
    join(folder, "opencode.jsonc"),
    `// mine\n${JSON.stringify(settings, null, 2).replace(/\n\}$/, ",\n}")}\n`,
  )
  const env = {
    ...places.env,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  }
  const dispose = (): void => {
    model.stop()
    places.dispose()
  }
  const database = join(home, ".local/share/opencode/opencode.db")
  return { client, root, home, cwd, folder, database, store, binary, env, model, dispose }
}

/** Registers as a user would. */
export const installInOpencode = (world: OpencodeWorld): void => installIn(world, "opencode")

/** `opencode run`, to its end. */
export async function runOpencode({ client, env, cwd }: OpencodeWorld, args: readonly string[]) {
  return await toItsEnd([client.command, "run", ...args], { env, cwd })
}

/** Rows of opencode's own. */
export function rowsIn<T>(world: OpencodeWorld, sql: string): T[] {
  using db = new Database(world.database, { readonly: true })
  return db.query<T, []>(sql).all()
}
