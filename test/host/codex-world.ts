/** A place of its own for the real Codex: home, project, archive, its model on the loopback, recorded hook calls. */
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { CodexModel } from "./codex-model.ts"
import { fromNpm } from "./from-npm.ts"
import { createPlaces, installIn, recordHooks, toItsEnd } from "./world.ts"

const PACKAGE = "@openai/codex"

export interface CodexClient {
  readonly version: string
  readonly command: string
}

/** For a suite that is there whether it can run or not. */
export async function codexFor(
  version: string,
): Promise<{ readonly client: CodexClient; readonly missing: string | undefined }> {
  const found = await fromNpm(`${PACKAGE}@${version}`, `codex-${version}`)
  const command = "missing" in found ? undefined : nativeIn(found.modules)
  const missing =
    "missing" in found ? found.missing : command === undefined ? "no program for this system" : undefined
  if (missing !== undefined) console.warn(`skipped: Codex ${version}: ${missing}`)
  return { client: { version, command: command ?? "" }, missing }
}

/** Its script only starts the native program, in a package of the system's own. */
function nativeIn(modules: string): string | undefined {
  const scope = join(modules, "@openai")
  const files = readdirSync(scope).flatMap((name) => [
    ...new Bun.Glob("vendor/*/{bin,codex}/codex").scanSync({ cwd: join(scope, name), absolute: true }),
  ])
  return files.sort().at(0)
}

/** A context of this many tokens is compacted. */
export const CODEX_FULL = 90_000
const LIMIT = 80_000

type Message = Record<string, unknown>

/** Codex' server for editors, which says and does more than `codex exec`. */
export class AppServer {
  readonly #child
  readonly #messages: Message[] = []
  readonly #waiting: (() => void)[] = []
  #last = 0

  constructor({ client, env, cwd }: Pick<CodexWorld, "client" | "env" | "cwd">) {
    const pipes = { stdin: "pipe", stdout: "pipe", stderr: "ignore" } as const
    this.#child = Bun.spawn([client.command, "app-server"], { env, cwd, ...pipes })
    void this.#read()
  }

  async #read(): Promise<void> {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const chunk of this.#child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) this.#messages.push(JSON.parse(line) as Message)
      for (const wake of this.#waiting.splice(0)) wake()
    }
  }

  async started(): Promise<this> {
    await this.call("initialize", { clientInfo: { name: "test", title: "test", version: "0" } })
    this.#send({ method: "initialized" })
    return this
  }

  #send(message: Message): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
    this.#child.stdin.flush()
  }

  async call(method: string, params: Message): Promise<Message> {
    const id = ++this.#last
    this.#send({ id, method, params })
    const { result, error } = await this.#find((one) => one["id"] === id && !("method" in one))
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as Message
  }

  /** The next message of a kind that has not been waited for. */
  async next(method: string): Promise<Message> {
    return (await this.#find((one) => one["method"] === method))["params"] as Message
  }

  async #find(isWanted: (one: Message) => boolean): Promise<Message> {
    const end = Date.now() + 60_000
    for (;;) {
      const at = this.#messages.findIndex(isWanted)
      if (at >= 0) return this.#messages.splice(at, 1)[0]!
      if (Date.now() > end) throw new Error(`Codex says nothing: ${JSON.stringify(this.#messages.at(-1))}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.push(resolve)
      await Promise.race([promise, Bun.sleep(1000)])
    }
  }

  /** Says something, and waits for the end of the turn. */
  async turn(threadId: string, text: string): Promise<void> {
    await this.call("turn/start", { threadId, input: [{ type: "text", text }] })
    await this.next("turn/completed")
  }

  async stop(): Promise<void> {
    this.#child.stdin.end()
    await Promise.race([this.#child.exited, Bun.sleep(5000)])
    this.#child.kill()
    await this.#child.exited
  }
}

export interface CodexWorld {
  readonly client: CodexClient
  readonly root: string
  readonly home: string
  readonly cwd: string
  /** Codex' folder. */
  readonly folder: string
  readonly store: string
  /** The copy of our binary that the hooks call; a test may delete it. */
  readonly binary: string
  readonly env: Record<string, string>
  readonly model: CodexModel
  dispose(): void
}

export function createCodexWorld(client: CodexClient): CodexWorld {
  const places = createPlaces("codex", [dirname(client.command)])
  const { root, home, cwd, store, binary } = places
  const folder = join(home, ".codex")
  mkdirSync(folder, { recursive: true })
  const model = new CodexModel()
  const config = [
    'model = "gpt-5.4"',
    'model_provider = "standin"',
    `model_context_window = ${LIMIT + 20_000}`,
    `model_auto_compact_token_limit = ${LIMIT}`,
    'approval_policy = "never"',
    'sandbox_mode = "danger-full-access"',
    "[model_providers.standin]",
    'name = "Stand-in"',
    `base_url = "${model.url}"`,
    'wire_api = "responses"',
    "",
  ]
  writeFileSync(join(folder, "config.toml"), config.join("\n"))
  const env = {
    ...places.env,
    OPENAI_API_KEY: "no-key-of-anyone",
  }
  const dispose = (): void => {
    model.stop()
    places.dispose()
  }
  return { client, root, home, cwd, folder, store, binary, env, model, dispose }
}

/** Registers as a user would. */
export const installInCodex = (world: CodexWorld): void => installIn(world, "codex")

interface ListedHook {
  readonly key: string
  readonly currentHash: string
  readonly trustStatus: string
}

export async function listedHooks(world: CodexWorld): Promise<ListedHook[]> {
  const server = await new AppServer(world).started()
  try {
    const { data } = await server.call("hooks/list", { cwds: [world.cwd] })
    return (data as { hooks: ListedHook[] }[]).flatMap(({ hooks }) => hooks)
  } finally {
    await server.stop()
  }
}

/** Puts a recorder around each hook, which is another hook to Codex: call it before they are trusted. */
export const recordCodexHooks = (world: CodexWorld): void =>
  recordHooks(world, join(world.folder, "hooks.json"))

/** As Codex does when the user accepts its review. */
export async function trustHooks(world: CodexWorld): Promise<void> {
  const tables = (await listedHooks(world)).map(
    ({ key, currentHash }) => `\n[hooks.state."${key}"]\ntrusted_hash = "${currentHash}"\n`,
  )
  appendFileSync(join(world.folder, "config.toml"), tables.join(""))
}

/** `codex exec`, to its end. */
export async function runExec(world: CodexWorld, args: readonly string[]) {
  const { client, env, cwd } = world
  const command = [client.command, "exec", ...args, "--skip-git-repo-check"]
  return await toItsEnd(command, { env, cwd })
}

/** Its rollouts, oldest first. */
export const rolloutsOf = ({ folder }: CodexWorld): string[] =>
  [...new Bun.Glob("sessions/**/rollout-*.jsonl").scanSync({ cwd: folder, absolute: true })].sort()
