/** Programs that have the whole screen, in a real terminal: tmux, with a server and a socket of its own. */
import { join } from "node:path"
import { type Machine, until } from "./machine.ts"
import { limit } from "./slowness.ts"

export const hasTmux = Bun.which("tmux") !== null

interface TmuxOptions {
  readonly columns: number
  readonly rows: number
  /** Of the program, beside the machine's own. Its locale is C.UTF-8 unless this says otherwise. */
  readonly env?: Readonly<Record<string, string>>
  /** Commands of tmux's own, before the program starts. */
  readonly configuration?: readonly string[]
}

let sockets = 0

export class Tmux {
  readonly #socket: string
  readonly #env: Record<string, string>

  /**
   * Runs a shell's command line in a window of its own. The window stays when it has ended, but scrolls by a line.
   */
  constructor(machine: Machine, command: string, options: TmuxOptions) {
    const { columns, rows, env = {}, configuration = [] } = options
    this.#socket = join(machine.root, `tmux-${++sockets}`)
    this.#env = { PATH: process.env["PATH"] ?? "", ...machine.env, LC_ALL: "C.UTF-8", ...env }
    const file = join(machine.root, "tmux.conf")
    Bun.spawnSync([
      "sh",
      "-c",
      `printf '%s\\n' "$@" > "$0"`,
      file,
      ...configuration,
      "set -g remain-on-exit on",
    ])
    this.#tmux(
      "-f",
      file,
      "new-session",
      "-d",
      "-x",
      `${columns}`,
      "-y",
      `${rows}`,
      "-c",
      machine.cwd,
      command,
    )
  }

  #tmux(...args: readonly string[]): string {
    // Our own terminal's tmux, if there is one, is none of this one's business.
    const { stdout, stderr, exitCode } = Bun.spawnSync(["tmux", "-u", "-S", this.#socket, ...args], {
      env: this.#env,
    })
    if (exitCode !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`)
    return stdout.toString()
  }

  /** Keys by tmux's names: `Enter`, `C-o`, `Down`. */
  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys)
  }

  type(text: string): void {
    this.#tmux("send-keys", "-l", "--", text)
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-x", `${columns}`, "-y", `${rows}`)
  }

  /** What is visible, line by line, without blanks at the end. */
  screen(): string {
    return this.#tmux("capture-pane", "-p").trimEnd()
  }

  /** The same with colours, as escape sequences. */
  colors(): string {
    return this.#tmux("capture-pane", "-p", "-e").trimEnd()
  }

  /** The same once nothing more comes: a screen is drawn in pieces. */
  async settled(): Promise<string> {
    let before = ""
    for (let screen = this.colors(); screen !== before; screen = this.colors()) {
      before = screen
      await Bun.sleep(limit(200))
    }
    return before
  }

  /** What tmux knows of the window: `#{cursor_x}` and the like. */
  ask(format: string): string {
    return this.#tmux("display-message", "-p", format).trim()
  }

  /** tmux's own clipboard. */
  buffer(): string {
    return this.#tmux("show-buffer")
  }

  /** Waits until something is visible. */
  async sees(what: string | RegExp, ms = 20_000): Promise<string> {
    let seen = ""
    const holds = (): boolean => {
      seen = this.screen()
      return typeof what === "string" ? seen.includes(what) : what.test(seen)
    }
    await until(holds, ms, `${what} in the terminal`).catch((error: unknown) => {
      throw new Error(`${error}:\n${seen}`)
    })
    return seen
  }

  [Symbol.dispose](): void {
    Bun.spawnSync(["tmux", "-S", this.#socket, "kill-server"], { env: this.#env })
  }
}
