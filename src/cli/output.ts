/** Every byte of a command's output. */

import { columnsFromEnv } from "../config/load.ts"
import { CtxError, codeOf, messageOf } from "../util/errors.ts"
import { fstatSync, writeSync } from "../util/fs.ts"
import type { Output } from "./command.ts"
import { safeJson } from "./style.ts"

/**
 * Writes all of it, however slowly the reader takes it.
 *
 * By write(2) on the descriptor: once `process.stdout` has been touched a pipe does not block any more, and then
 * Bun.write sends what did not fit at once a second time (Bun 1.4.5, oven-sh/bun#35953).
 */
export const writeOut = (data: string | Uint8Array): void => writeAll(STDOUT, data)

/** The same for what went wrong: the process may end right behind it. Where nobody listens, nobody is told. */
export function writeError(text: string): void {
  try {
    writeAll(STDERR, text)
  } catch {
    // Closed, or another end of a pipe that is gone.
  }
}

function writeAll(fd: number, data: string | Uint8Array): void {
  // Not Buffer: the engine takes 0.17 ms for its first use.
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(fd, bytes, done)
    } catch (error) {
      const code = codeOf(error)
      // The reader has seen enough: `ctxbridge sessions | head -1`.
      if (code === "EPIPE" && fd === STDOUT) process.exit(0)
      // Somebody who shares the pipe with us made it non-blocking, and it is full.
      if (code !== "EAGAIN") throw unwritten(error)
      Bun.sleepSync(1)
    }
  }
}

/** Code of the error when the output has no place to go to. Not the system's own: the archive is not what is full. */
export const UNWRITTEN = "output-unwritten"

const unwritten = (cause: unknown): CtxError =>
  new CtxError(UNWRITTEN, `the output cannot be written: ${messageOf(cause)}`, {
    hint: "make room where it goes; what the command has changed stays changed",
    cause,
  })

const STDOUT = 1
const STDERR = 2

/**
 * Whether a person reads stdout, or stderr. Without touching `process.stdout`, see writeOut, and without `node:tty`, which
 * costs each command's start 3 ms. The other devices of this kind read nothing.
 */
export function isTerminal(fd = STDOUT): boolean {
  try {
    return fstatSync(fd).isCharacterDevice()
  } catch {
    return false
  }
}

/** Characters of the bar, and of what stands around it: blank, brackets, blank, percentage. */
const BAR = 24
const AROUND = 8
/** ms between two drawings of the bar. */
const REDRAW = 100

/** @param options.color whether colours are wanted: asked only by what people read */
export function createOutput(options: { json: boolean; color: () => boolean }): Output {
  const lines: string[] = []
  const bar = progressBar(options.json)
  const flush = (): void => {
    bar.clear()
    if (lines.length === 0) return
    const text = `${lines.join("\n")}\n`
    lines.length = 0
    writeOut(text)
  }
  return {
    wantsJson: options.json,
    get color() {
      return options.color()
    },
    get columns() {
      // Serial lines and containers have terminals that say 0.
      return (isTerminal() && process.stdout.columns) || columnsFromEnv() || 80
    },
    print(text) {
      if (!options.json) lines.push(text)
    },
    json(value) {
      if (options.json) lines.push(safeJson(value, 2))
    },
    event(value) {
      if (options.json) writeOut(`${safeJson(value)}\n`)
    },
    raw(bytes) {
      flush()
      writeOut(bytes)
    },
    progress: bar.draw,
    clear: bar.clear,
    flush,
  }
}

function progressBar(silent: boolean) {
  let shown: boolean | undefined
  let drawn = 0
  let last = ""
  return {
    draw(label: string, done: number, total: number): void {
      shown ??= !silent && isTerminal(STDERR)
      const now = performance.now()
      if (!shown || (now - drawn < REDRAW && done < total)) return
      drawn = now
      const share = total === 0 ? 1 : Math.min(1, done / total)
      // A line that is wrapped cannot be drawn over.
      const bar = Math.min(BAR, (process.stderr.columns || 80) - label.length - AROUND - 1)
      const full = Math.round(share * bar)
      const drawing = bar > 0 ? ` [${"=".repeat(full)}${" ".repeat(bar - full)}]` : ""
      last = `${label}${drawing} ${Math.floor(share * 100)}%`
      process.stderr.write(`\r${last}`)
    },
    clear(): void {
      if (last === "") return
      process.stderr.write(`\r${" ".repeat(last.length)}\r`)
      last = ""
    },
  }
}
