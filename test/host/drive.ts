/** Two ways to use a client: print mode over pipes, and a terminal (tmux) in which keys are pressed. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { unfinishedCalls, until, type World } from "./world.ts"

/** One line of the client's `stream-json` output. */
export interface Output {
  readonly type: string
  readonly subtype?: string
  readonly session_id?: string
  readonly result?: string
  readonly is_error?: boolean
  readonly [key: string]: unknown
}

export interface PrintRun {
  readonly code: number
  readonly outputs: readonly Output[]
  readonly stderr: string
  /** The id in the first output that has one. */
  readonly sessionId: string
}

export interface Turn {
  readonly text: string
  /** When the next prompt may follow; by default at the first `result` after this one was sent. */
  readonly until?: (outputs: readonly Output[]) => boolean
  /** When the user stops it. */
  readonly stop?: () => boolean
}

const TURN_TIMEOUT = 60_000
/** Longer than a client takes to react to a key, on a busy machine, too: what comes again later is in the next text. */
const ENTER_AGAIN = 5_000
/** What follows a text sooner is part of a paste to some clients. */
const PASTE = 300

/** One session in print mode with any number of prompts, each sent when the turn before it is over. */
export async function runPrint(
  world: World,
  turns: readonly (string | Turn)[],
  args: readonly string[] = [],
): Promise<PrintRun> {
  const format = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
  const child = Bun.spawn([...world.client.command, ...format, ...args], {
    cwd: world.cwd,
    env: world.env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  })
  const outputs: Output[] = []
  const reading = readLines(child.stdout, (line) => outputs.push(JSON.parse(line) as Output))
  const stderr = new Response(child.stderr).text()
  try {
    for (const turn of turns) {
      const { text, until: over, stop } = typeof turn === "string" ? { text: turn } : turn
      const sent = outputs.length
      const message = { role: "user", content: [{ type: "text", text }] }
      child.stdin.write(`${JSON.stringify({ type: "user", message })}\n`)
      await child.stdin.flush()
      let stopped = stop === undefined
      await until(
        `the end of the turn "${text}"`,
        () => {
          const ended = child.exitCode ?? child.signalCode
          if (ended !== null) throw new Error(`the client ended (${ended}) during "${text}"`)
          const since = outputs.slice(sent)
          if (!stopped && stop!()) {
            stopped = true
            const request = {
              type: "control_request",
              request_id: `stop-${sent}`,
              request: { subtype: "interrupt" },
            }
            child.stdin.write(`${JSON.stringify(request)}\n`)
            void child.stdin.flush()
          }
          return over === undefined ? since.some((output) => output.type === "result") : over(since)
        },
        { timeout: TURN_TIMEOUT, state: () => outputs.map((output) => JSON.stringify(output)).join("\n") },
      )
    }
    child.stdin.end()
    const code = await within(child.exited, TURN_TIMEOUT, "the end of the client")
    await reading
    const sessionId = outputs.find((output) => output.session_id !== undefined)?.session_id ?? ""
    return { code, outputs, stderr: await stderr, sessionId }
  } finally {
    child.kill("SIGKILL") // no-op when it has ended
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ""
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line.trim() !== "") take(line)
  }
}

async function within<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`never saw ${what}`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A client in a terminal. Text on the screen is compared without blanks: lines wrap where they like. */
export class Terminal {
  private readonly world: World
  private readonly socket: string

  private constructor(world: World, socket: string) {
    this.world = world
    this.socket = socket
  }

  static async start(world: World, args: readonly string[] = []): Promise<Terminal> {
    // A server of our own, so that neither the user's sessions nor their configuration take part.
    const sockets = join(world.root, "tmux")
    mkdirSync(sockets, { recursive: true, mode: 0o700 })
    const terminal = new Terminal(world, join(sockets, "s"))
    const command = ["exec", ...[...world.client.command, ...args].map(quoted)].join(" ")
    terminal.tmux("-f", "/dev/null", "new-session", "-d", "-s", "host", "-x", "180", "-y", "50", command)
    await terminal.waitFor("the prompt", (screen) => /^[\s│]*[>❯](\s|$)/m.test(screen))
    return terminal
  }

  private tmux(...args: string[]): { stdout: string; ok: boolean } {
    const { stdout, exitCode } = Bun.spawnSync(["tmux", "-S", this.socket, ...args], {
      cwd: this.world.cwd,
      env: this.world.env,
      stdin: "ignore",
      stderr: "ignore",
    })
    return { stdout: stdout.toString(), ok: exitCode === 0 }
  }

  screen(): string {
    return this.tmux("capture-pane", "-p", "-t", "host").stdout
  }

  alive(): boolean {
    return this.tmux("has-session", "-t", "host").ok
  }

  async waitFor(what: string, condition: (screen: string) => boolean): Promise<void> {
    await until(what, () => condition(this.screen()), { state: () => this.screen() })
  }

  /**
   * Types a line, sees that the client has it, and presses Enter until that has taken it. On an empty line the key does
   * nothing; while a hook that the first one has led to is at work, the line may not be empty yet, and a second one
   * would put the text into the queue.
   */
  async enter(text: string, taken: () => boolean): Promise<void> {
    this.tmux("send-keys", "-t", "host", "-l", text)
    await this.waitFor(`"${text}" in the input`, (screen) =>
      squeezed(inputOf(screen)).includes(squeezed(text)),
    )
    let pressed = Date.now() - ENTER_AGAIN + PASTE
    const before = unfinishedCalls(this.world)
    const press = () => {
      if (taken()) return true
      if (Date.now() - pressed > ENTER_AGAIN && unfinishedCalls(this.world) <= before) {
        this.tmux("send-keys", "-t", "host", "Enter")
        pressed = Date.now()
      }
      return false
    }
    await until(`that "${text}" was taken`, press, { state: () => this.screen() })
  }

  /** A key that the client needs no time to tell from a paste: an arrow, Enter in a menu. */
  press(key: string): void {
    this.tmux("send-keys", "-t", "host", key)
  }

  shows(text: string): boolean {
    return squeezed(this.screen()).includes(squeezed(text))
  }

  /** Leaves as a user would, so that SessionEnd runs. */
  async leave(): Promise<void> {
    await this.enter("/exit", () => !this.alive())
  }

  kill(): void {
    this.tmux("kill-server")
  }
}

/** What stands in the input, above its border: below, a terminal shows what a client that is starting has not read yet. */
function inputOf(screen: string): string {
  const lines = screen.split("\n")
  const at = lines.findLastIndex((line) => /^[\s│]*[>❯]/.test(line))
  const below = at < 0 ? [] : lines.slice(at)
  const end = below.findIndex((line) => line.includes("──"))
  return below.slice(0, end < 0 ? below.length : end).join("\n")
}

const squeezed = (text: string) => text.replace(/[\s│]+/g, "")
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
