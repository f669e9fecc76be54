/** Commands at a terminal. */
import { binary } from "./binary.ts"
import type { Machine } from "./machine.ts"

export interface TerminalOptions {
  /** Default: 80. */
  readonly cols?: number
  /** Beside the machine's own variables. NO_COLOR is set unless this says otherwise. */
  readonly env?: Readonly<Record<string, string>>
  /** What is run. Default: the binary with `args`. */
  readonly command?: readonly string[]
  /** What is typed once a question waits for an answer. */
  readonly answer?: string
}

export interface Seen {
  readonly code: number
  /** All that the terminal was sent. */
  readonly text: string
}

/** Nobody presses keys in a pager. */
const TERMINAL = { TERM: "xterm", LC_ALL: "C.UTF-8", CTXBRIDGE_PAGER: "cat" }

export async function runAtTerminal(
  machine: Machine,
  args: readonly string[],
  { cols = 80, env = { NO_COLOR: "1" }, command = [binary(), ...args], answer }: TerminalOptions = {},
): Promise<Seen> {
  const decoder = new TextDecoder()
  let text = ""
  let isAnswered = answer === undefined
  const child = Bun.spawn([...command], {
    env: { PATH: process.env["PATH"] ?? "", ...machine.env, ...TERMINAL, ...env },
    cwd: machine.cwd,
    terminal: {
      cols,
      rows: 24,
      data(terminal, data) {
        text += decoder.decode(data, { stream: true })
        if (isAnswered || !/\[(y\/N|Y\/n|none|\d+)\] /.test(text)) return
        isAnswered = true
        terminal.write(answer ?? "")
      },
    },
  })
  return { code: await child.exited, text }
}
