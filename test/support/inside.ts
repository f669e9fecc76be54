/**
 * Hooks, commands and the server without processes, for tests of what they say and not of how they start: the
 * functions that main.ts leads to, called in this process. A background job that they ask for does not start; any other
 * process fails the test. A hook that replies leaves the database open, as hooks do: no rebuild inside after one.
 */
import { spyOn } from "bun:test"
import { EXIT, isCtxError } from "../../src/base/errors.ts"
import { oneLine } from "../../src/base/text.ts"
import type { HookName } from "../../src/claude/fake/transcript.ts"
import { decodeEvent, encodeReply } from "../../src/claude/hooks.ts"
import { argsOf, type Environment, type Output } from "../../src/cli/command.ts"
import { serverWorld } from "../../src/cli/commands/mcp.ts"
import { COMMANDS } from "../../src/cli/commands.ts"
import { endOfFlags, parseArguments } from "../../src/cli/router.ts"
import type { PeerLine } from "../../src/cli/server/sdk.ts"
import type { ServerWorld } from "../../src/cli/server/tool.ts"
import { safe, safeJson } from "../../src/cli/style.ts"
import { loadSettings, type Settings, toldToServer } from "../../src/config/load.ts"
import { withOwnPatterns } from "../../src/config/own-patterns.ts"
import { handle } from "../../src/hook/steps.ts"
import { binary, type Ran, type RunOptions } from "./binary.ts"
import { Machine } from "./machine.ts"
import type { Called, Reply } from "./mcp.ts"
import type { Transcript } from "./transcript.ts"

type Options = Pick<RunOptions, "env" | "cwd">

const settingsOf = ({ env = {}, cwd }: Options): Settings => withOwnPatterns(loadSettings(cwd, env))

/** Does `work` while nothing can be started. */
async function startingNothing<T>(work: () => T | Promise<T>): Promise<T> {
  const spawned = spyOn(Bun, "spawn").mockImplementation(((command: readonly string[]) => {
    if (command.at(-1) !== "__job") throw new Error(`inside, nothing is started: ${command.join(" ")}`)
    return { unref: () => undefined }
  }) as never)
  try {
    return await work()
  } finally {
    spawned.mockRestore()
  }
}

/** A machine whose hooks run in this process. */
export class Inside extends Machine {
  /** Set: hooks find themselves past their deadline many times over, as where fifty wait for two cores. */
  isStarved = false

  override async hook(
    event: HookName,
    transcript: Transcript,
    fields: Record<string, unknown> = {},
    options: RunOptions = {},
  ): Promise<Ran> {
    if ("through" in options) throw new Error("inside, no other program comes before ours")
    const started = performance.now()
    const called = decodeEvent(event, JSON.parse(this.payload(event, transcript, fields)))
    const settings = settingsOf({
      env: { ...this.env, ...options.env },
      ...(called?.cwd ? { cwd: called.cwd } : {}),
    })
    const deadline = this.isStarved ? 1 : started + settings.resolved.config["hook.deadline"]
    const stdout =
      called === undefined
        ? ""
        : await startingNothing(async () => encodeReply(called, await handle(called, settings, deadline)))
    return { code: 0, stdout, stderr: "", ms: performance.now() - started }
  }
}

/** What a command prints where nobody looks on. */
function collecting(wantsJson: boolean, text: string[]): Output {
  return {
    wantsJson,
    terminal: false,
    links: false,
    color: false,
    columns: 80,
    print: (lines) => wantsJson || text.push(...[lines].flat().map((line) => `${line}\n`)),
    json: (value) => wantsJson && text.push(`${safeJson(value, 2)}\n`),
    event: (value) => wantsJson && text.push(`${safeJson(value)}\n`),
    raw: (bytes) => text.push(Buffer.from(bytes).toString()),
    flush: () => undefined,
    end: async () => undefined,
    progress: () => undefined,
    resumable: () => undefined,
    clear: () => undefined,
  }
}

/** What the router gives a command. */
export function environmentOf(options: Options): Environment {
  const { paths, resolved, broken } = settingsOf(options)
  const cwd = options.cwd ?? paths.home
  return { ...paths, cwd, exePath: binary(), config: resolved.config, resolved, broken }
}

/** A command as the router runs it. What is neither the command's nor the user's fault is thrown on. */
export async function run([name = "", ...words]: readonly string[], options: Options): Promise<Ran> {
  const started = performance.now()
  const text: string[] = []
  const ended = (code: number, stderr = ""): Ran => ({
    code,
    stdout: text.join(""),
    stderr,
    ms: performance.now() - started,
  })
  try {
    const command = (await COMMANDS[name]!()).default
    const args = parseArguments(words, argsOf(command), name)
    const out = collecting(args["json"] === true, text)
    const env = environmentOf(options)
    return ended((await startingNothing(() => command.run({ args, out, env }))) ?? EXIT.ok)
  } catch (error) {
    if (!isCtxError(error)) throw error
    const { code, message, hint, exit } = error
    if (endOfFlags(words).includes("--json")) {
      text.push(`${safeJson({ error: { code, message, hint } })}\n`)
      return ended(exit)
    }
    const lines = [`ctxbridge: ${oneLine(safe(message))}`, ...(hint ? [`hint: ${oneLine(safe(hint))}`] : [])]
    return ended(exit, lines.map((line) => `${line}\n`).join(""))
  }
}

const worldOf = (options: Options): ServerWorld =>
  serverWorld(environmentOf(options), toldToServer(options.env))

/** Gives the server all lines at once, and collects its replies. */
export async function exchange(lines: readonly PeerLine[], options: Options) {
  // Loaded only by those who need it, as the program does.
  const [{ serve }, { serviceOf }] = await Promise.all([
    import("../../src/cli/server/sdk.ts"),
    import("../../src/cli/server/server.ts"),
  ])
  const written: string[] = []
  const all = async function* () {
    yield* lines
  }
  await startingNothing(() => serve(serviceOf(worldOf(options)), all(), (line) => written.push(line)))
  const replies = written.map((line) => JSON.parse(line) as Reply)
  return { code: 0, stderr: "", stdout: written.join(""), replies }
}

/** What the server answers; the same as `Peer` of mcp.ts. */
export class Peer {
  readonly #options: Options

  private constructor(options: Options) {
    this.#options = options
  }

  static async connect(cwd: string, env: Record<string, string>): Promise<Peer> {
    return new Peer({ cwd, env })
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<Called> {
    const { replies } = await exchange(
      [JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } })],
      this.#options,
    )
    const result = replies[0]!.result!
    return {
      text: (result["content"] as { text: string }[])[0]!.text,
      isError: result["isError"] === true,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing was started.
  }
}
