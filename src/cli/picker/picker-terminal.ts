/**
 * The terminal of a program that has the whole screen: raw keys in, text out, and everything as it was before when the
 * program ends, however it does.
 */
import { isatty, WriteStream } from "node:tty"
import { CtxError } from "../../base/errors.ts"
import { closeSync, openSync } from "../../base/fs.ts"
import { STDIN, STDOUT, writeAll } from "../../base/write-output.ts"
import { isDumb } from "../../config/load.ts"
import { KeyDecoder, type KeyInput } from "./key-decoder.ts"

/** The other screen; no line breaks of its own; pastes in brackets; clicks and wheel, with coordinates as numbers. */
const ENTER = "\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?1000h\x1b[?1006h"
const LEAVE = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"

/** ms after which an escape that nothing follows is the key. Over a slow line, a sequence may come in pieces. */
const LONE_ESCAPE = 50

/** ms after which we would have been stopped. */
const NOT_STOPPED = 100

interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export type TerminalEvent =
  | KeyInput
  | ({ readonly kind: "resized" } & TerminalSize)
  /** We were stopped and go on. */
  | { readonly kind: "continued" }
  /** A signal, or the terminal is gone. */
  | { readonly kind: "ended"; readonly code: number }

/** With what a shell reports for each of these signals. */
const ENDING = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const

/** @throws CtxError if there is no terminal, or one that cannot be drawn on */
export function openPickerTerminal(): PickerTerminal {
  const output = isatty(STDOUT) ? STDOUT : openTty()
  if (output === undefined || !isatty(STDIN) || isDumb()) {
    if (output !== undefined && output !== STDOUT) closeSync(output)
    throw new CtxError("no-terminal", "the picker needs a terminal", {
      hint: "ctxbridge search finds the same without one",
    })
  }
  return new PickerTerminal(output)
}

/** What is written to stdout may be for another program. */
function openTty(): number | undefined {
  try {
    return openSync("/dev/tty", "w")
  } catch {
    return undefined
  }
}

export class PickerTerminal {
  readonly #output: number
  readonly #decoder = new KeyDecoder()
  readonly #utf8 = new TextDecoder()
  #events: TerminalEvent[] = []
  #wake: (() => void) | undefined
  #lone: ReturnType<typeof setTimeout> | undefined
  #isEntered = false

  constructor(output: number) {
    this.#output = output
    process.stdin.on("data", this.#read)
    process.stdin.on("end", this.#gone)
    process.stdin.on("error", this.#gone)
    process.on("SIGWINCH", this.#resized)
    process.on("SIGCONT", this.#continued)
    for (const signal of Object.keys(ENDING)) process.on(signal, this.#signalled)
    // The last thing that runs, also after an error that nobody caught.
    process.on("exit", this.leave)
    this.enter()
  }

  get size(): TerminalSize {
    // A stream remembers the size it had at first.
    const [columns, rows] = new WriteStream(this.#output).getWindowSize()
    return { columns: columns || 80, rows: rows || 24 }
  }

  enter(): void {
    if (this.#isEntered) return
    process.stdin.setRawMode(true)
    process.stdin.resume()
    this.#isEntered = true
    this.write(ENTER)
  }

  readonly leave = (): void => {
    if (!this.#isEntered) return
    try {
      this.write(LEAVE)
      process.stdin.setRawMode(false)
      // Whoever has the terminal now gets its keys, too.
      process.stdin.pause()
    } catch {
      // The terminal is gone.
    }
    this.#isEntered = false
  }

  /** Writes nothing while another program has the screen: where the cursor is then, it goes on when we end. */
  write(text: string): void {
    if (this.#isEntered) writeAll(this.#output, text)
  }

  /** Stops us as Ctrl-Z does other programs, until the shell has us go on. Where no shell could, the system does not. */
  suspend(): void {
    this.leave()
    process.kill(process.pid, "SIGTSTP")
    setTimeout(() => this.#add({ kind: "continued" }), NOT_STOPPED)
  }

  /**
   * Everything that has happened since the last call.
   *
   * @param ms how long to wait for something; undefined: as long as it takes
   * @returns nothing if nothing happened
   */
  async next(ms?: number): Promise<readonly TerminalEvent[]> {
    if (this.#events.length === 0) {
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((done) => {
        this.#wake = done
        if (ms !== undefined) timer = setTimeout(done, ms)
      })
      clearTimeout(timer)
      this.#wake = undefined
    }
    const events = this.#events
    this.#events = []
    return events
  }

  [Symbol.dispose](): void {
    this.leave()
    clearTimeout(this.#lone)
    process.stdin.off("data", this.#read)
    process.stdin.off("end", this.#gone)
    process.stdin.off("error", this.#gone)
    process.stdin.pause()
    process.off("SIGWINCH", this.#resized)
    process.off("SIGCONT", this.#continued)
    for (const signal of Object.keys(ENDING)) process.off(signal, this.#signalled)
    process.off("exit", this.leave)
    if (this.#output !== STDOUT) closeSync(this.#output)
  }

  #add(...events: readonly TerminalEvent[]): void {
    this.#events.push(...events)
    if (this.#events.length > 0) this.#wake?.()
  }

  readonly #read = (bytes: Uint8Array): void => {
    clearTimeout(this.#lone)
    this.#add(...this.#decoder.decode(this.#utf8.decode(bytes, { stream: true })))
    if (this.#decoder.isWaiting)
      this.#lone = setTimeout(() => this.#add(...this.#decoder.flush()), LONE_ESCAPE)
  }

  readonly #gone = (): void => this.#add({ kind: "ended", code: ENDING.SIGHUP })
  readonly #resized = (): void => this.#add({ kind: "resized", ...this.size })
  readonly #continued = (): void => this.#add({ kind: "continued" })
  readonly #signalled = (signal: string): void => {
    // Ctrl-C in a program that has the screen is for that program.
    if (signal === "SIGINT" && !this.#isEntered) return
    this.#add({ kind: "ended", code: ENDING[signal as keyof typeof ENDING] })
  }
}
