/**
 * A preview of opencode 2, which is a server without a terminal: a conversation with calls and an undo, archived from its
 * tables on the way and at the end.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fromNpm } from "./from-npm.ts"
import { bash, reply } from "./opencode-model.ts"
import { createOpencodeWorld, OPENCODE_FULL, type OpencodeWorld, rowsIn } from "./opencode-world.ts"
import { ctxbridge, toItsEnd, until } from "./world.ts"

setDefaultTimeout(240_000)

const VERSION = "1.18.18"
const PACKAGE = `@opencode-ai/cli-${process.platform}-${process.arch}`
const found = await fromNpm(`${PACKAGE}@${VERSION}`, `opencode-2-preview-${VERSION}`)
const missing = "missing" in found ? found.missing : undefined
if (missing !== undefined) console.warn(`skipped: a preview of opencode 2: ${missing}`)
const command = "missing" in found ? "" : join(found.modules, PACKAGE, "bin", "lildax")

let preview: Preview | undefined
afterAll(() => preview?.stop())

/** Its server, called as its own command line does it. */
class Preview {
  readonly world: OpencodeWorld
  readonly #env: Record<string, string>
  readonly #server: Bun.Subprocess<"ignore", "pipe", "ignore">
  #session = ""

  constructor() {
    this.world = createOpencodeWorld({ version: VERSION, command })
    const { folder, model, cwd, env } = this.world
    // Nothing but the loopback can be reached.
    const nowhere = {
      HTTPS_PROXY: "http://127.0.0.1:1",
      HTTP_PROXY: "http://127.0.0.1:1",
      NO_PROXY: "127.0.0.1",
    }
    this.#env = { ...env, ...nowhere, STANDIN_KEY: "none" }
    const api = {
      type: "aisdk",
      package: "@ai-sdk/openai-compatible",
      url: model.url,
      settings: { apiKey: "none" },
    }
    const m1 = {
      name: "m1",
      capabilities: { tools: true, input: ["text"], output: ["text"] },
      limit: { context: OPENCODE_FULL, output: 8000 },
    }
    const settings = {
      model: "standin/m1",
      permissions: [{ action: "*", resource: "*", effect: "allow" }],
      providers: { standin: { name: "Stand-in", env: ["STANDIN_KEY"], api, models: { m1 } } },
    }
    writeFileSync(join(folder, "opencode.json"), JSON.stringify(settings))
    const serve = ["serve", "--hostname", "127.0.0.1", "--port", "0", "--register"]
    const io = { stdin: "ignore", stdout: "pipe", stderr: "ignore" } as const
    this.#server = Bun.spawn([command, ...serve], { env: this.#env, cwd, ...io })
  }

  stop(): void {
    this.#server.kill()
    this.world.dispose()
  }

  async #api(method: string, path: string, body?: object): Promise<unknown> {
    const sent = body === undefined ? [] : ["--data", JSON.stringify(body)]
    const all = [command, "api", method, `/api/${path}`, ...sent]
    const { stdout } = await toItsEnd(all, { env: this.#env, cwd: this.world.cwd })
    return (JSON.parse(stdout.trim() || "{}") as { data?: unknown }).data
  }

  async begin(): Promise<string> {
    // Its command line would start another one that nobody ends.
    for await (const text of this.#server.stdout) if (Buffer.from(text).includes("listening")) break
    const knows = async (): Promise<boolean> =>
      JSON.stringify(await this.#api("GET", "model")).includes('"m1"')
    await until("the stand-in among its models", knows)
    const created = (await this.#api("POST", "session", { model: { providerID: "standin", id: "m1" } })) as {
      id: string
    }
    this.#session = created.id
    return this.#session
  }

  /** A prompt until it is answered, and the id of the message. */
  async say(text: string): Promise<string> {
    const prompted = await this.#api("POST", `session/${this.#session}/prompt`, { prompt: { text } })
    await until(`an answer to «${text}»`, () => this.#isAnswered(), {
      state: () => JSON.stringify(this.#rows()),
    })
    return (prompted as { id: string }).id
  }

  #isAnswered(): boolean {
    const { type, data } = this.#rows().at(-1) ?? {}
    const { finish, time } = JSON.parse(data ?? "{}") as { finish?: string; time?: { completed?: number } }
    return type === "assistant" && time?.completed !== undefined && finish !== "tool-calls"
  }

  #rows(): { type: string; data: string }[] {
    return rowsIn(this.world, "SELECT type, data FROM session_message ORDER BY seq")
  }

  async undo(messageID: string): Promise<void> {
    await this.#api("POST", `session/${this.#session}/revert/stage`, { messageID })
    await this.#api("POST", `session/${this.#session}/revert/commit`, {})
  }
}

describe.skipIf(missing !== undefined)("opencode 2, a preview", () => {
  test("a conversation in its tables: taken on the way, whole, with what was undone", async () => {
    preview = new Preview()
    const { world } = preview
    const ours = (...args: string[]) => ctxbridge(world, args)
    world.model.plan("Survey the kiln", [bash("echo embers"), bash("echo ashes; exit 3"), reply("Surveyed.")])
    world.model.plan("Paint it red", [reply("Painted red.")])
    world.model.plan("Paint it green", [reply("Painted green.")])
    const session = await preview.begin()
    await preview.say("Survey the kiln")
    expect(ours("import")).toMatchObject({ exitCode: 0 })
    const red = await preview.say("Paint it red")
    expect(ours("import")).toMatchObject({ exitCode: 0 })
    await preview.undo(red)
    await preview.say("Paint it green")
    expect(ours("import")).toMatchObject({ exitCode: 0 })
    expect(ours("import").stdout).toContain("Nothing new")
    expect(ours("verify")).toMatchObject({ exitCode: 0 })
    const shown = JSON.parse(ours("show", session, "--json").stdout) as {
      session: { program: string }
      turns: { prompt: string; tools: number; errors: number }[]
    }
    expect(shown.session.program).toBe("opencode")
    expect(shown.turns).toMatchObject([
      { prompt: "Survey the kiln", tools: 2, errors: 1 },
      { prompt: "Paint it red" },
      { prompt: "Paint it green" },
    ])
    expect(ours("search", "embers").stdout).toContain("echo embers")
    const { total } = JSON.parse(ours("stats", "--agent", "opencode", "--json").stdout)
    expect(total.tokens).toMatchObject({ input: 10_000, output: 100 })
  })
})
