/** A real terminal (tmux) in which commands are typed and keys pressed, and what its screen shows. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Machine } from "./machine.ts"
import { limit } from "./slowness.ts"

/** Why tests with a terminal cannot run here; undefined: they can. */
export const noTmux = Bun.which("tmux") === null ? "tmux is not installed" : undefined

interface ScreenSize {
  readonly cols: number
  readonly rows?: number
}

let terminals = 0
/** ms that a screen may take to show what a test waits for. */
const PATIENCE = limit(20_000)

/** One terminal, in which a shell without a prompt of its own waits. */
export class TmuxScreen {
  readonly #socket: string
  readonly #env: Record<string, string>
  #commands = 0

  /** @param env beside the machine's own variables */
  constructor(machine: Machine, { cols, rows = 24 }: ScreenSize, env: Record<string, string> = {}) {
    const folder = join(machine.root, "tmux")
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // A socket's path has at most 107 bytes.
    this.#socket = join(folder, String(++terminals))
    this.#env = { PATH: process.env["PATH"] ?? "", ...machine.env, PS1: "$ ", TZ: "UTC", ...env }
    // The server takes UTF-8 for granted with -u; programs in it see the locale of the test.
    const size = ["-x", String(cols), "-y", String(rows)]
    this.#tmux("-u", "-f", "/dev/null", "new-session", "-d", "-c", machine.cwd, ...size, this.#shell())
    this.#tmux("set", "-g", "status", "off")
    this.#tmux("resize-window", ...size)
  }

  /** A shell with the test's variables only: the server adds its own. */
  #shell(): string {
    const set = Object.entries({ TERM: "tmux-256color", ...this.#env }).map(
      ([name, value]) => `${name}=${quoted(value)}`,
    )
    return `env -i ${set.join(" ")} sh -i`
  }

  #tmux(...args: string[]): string {
    const { stdout, stderr, exitCode } = Bun.spawnSync(["tmux", "-S", this.#socket, ...args], {
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" },
    })
    if (exitCode !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`)
    return stdout.toString()
  }

  /** Types a line and presses Enter. */
  type(line: string): void {
    this.#tmux("send-keys", "-l", line)
    this.press("Enter")
  }

  /** Runs a command on an empty screen, and returns what it left there, with colours. */
  async ran(command: string): Promise<string> {
    const end = `=end ${++this.#commands}=`
    this.type(`clear; ${command}; echo '${end}'`)
    await this.until((text) => text.split("\n").includes(end))
    return this.colored().split(`${end}\n`)[0]!.trimEnd()
  }

  /** @param keys by tmux's names: `q`, `C-c`, `Enter` */
  press(...keys: string[]): void {
    this.#tmux("send-keys", ...keys)
  }

  /** What is on the screen: lines without trailing blanks. */
  text(): string {
    return this.#tmux("capture-pane", "-p").trimEnd()
  }

  /** The same with colours. */
  colored(): string {
    return inOneForm(this.#tmux("capture-pane", "-p", "-e").trimEnd())
  }

  get title(): string {
    return this.#tmux("display-message", "-p", "#{pane_title}").trim()
  }

  async until(isThere: (text: string) => boolean): Promise<string> {
    const end = performance.now() + PATIENCE
    for (;;) {
      const text = this.text()
      if (isThere(text)) return text
      if (performance.now() > end) throw new Error(`the screen still shows\n${text}`)
      await Bun.sleep(20)
    }
  }

  [Symbol.dispose](): void {
    this.#tmux("kill-server")
  }
}

const quoted = (value: string): string => `'${value.replaceAll("'", String.raw`'\''`)}'`

/** Versions of tmux differ in how they write colours: here, each change of them is all that holds from there on. */
function inOneForm(text: string): string {
  const on = new Map<string, string>()
  let written = ""
  let shown = ""
  for (const [, codes, plain = ""] of text.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
    if (codes === undefined) {
      const now = [...on.values()].sort().join(";")
      if (now !== written && plain.trim() !== "") {
        shown += `\x1b[${now || 0}m`
        written = now
      }
      shown += plain
    } else for (const code of codes.match(/[34]8;5;\d+|\d+/g) ?? ["0"]) change(on, code)
  }
  return shown
}

function change(on: Map<string, string>, code: string): void {
  const number = Number(code.split(";")[0])
  if (number === 0) on.clear()
  else if (number === 22) for (const one of ["1", "2"]) on.delete(one)
  else if (number > 22 && number < 30) on.delete(String(number - 20))
  else if (number === 39 || number === 49) on.delete(number === 39 ? "fg" : "bg")
  else on.set(number < 30 ? code : (number >= 30 && number < 40) || number >= 90 ? "fg" : "bg", code)
}
