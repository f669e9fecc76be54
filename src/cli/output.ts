/** Writes everything that a command prints. */
import { columnsFromEnv } from "../config/load.ts"
import { CtxError, codeOf, messageOf } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { fstatSync } from "../util/fs.ts"
import { STDERR, STDOUT, writeAll } from "../util/write-output.ts"
import type { Output } from "./command.ts"
import { safeJson } from "./style.ts"

/** Writes all of `data` to stdout, however slowly it is read. */
export function writeOut(data: string | Uint8Array): void {
  try {
    writeAll(STDOUT, data)
  } catch (error) {
    // The reader has seen enough, as with `ctxbridge sessions | head -1`.
    if (codeOf(error) === "EPIPE") process.exit(0)
    throw unwritten(error)
  }
}

/** The same for stderr, because the process may exit right after it. If nobody can read it, the text is dropped. */
export const writeError = (text: string): void => tryTo(() => writeAll(STDERR, text))

/** Error code for unwritable output. The system's own code would suggest that the archive's disk is full. */
export const UNWRITTEN = "output-unwritten"

const unwritten = (cause: unknown): CtxError =>
  new CtxError(UNWRITTEN, `the output cannot be written: ${messageOf(cause)}`, {
    hint: "make room where it goes; what the command has changed stays changed",
    cause,
  })

/**
 * Whether a person reads stdout (or stderr). Avoids `process.stdout` (see `writeOut`) and `node:tty`, which adds 3 ms
 * to each command's start. Other character devices, such as /dev/null, discard what they get.
 */
export function isTerminal(fd = STDOUT): boolean {
  try {
    return fstatSync(fd).isCharacterDevice()
  } catch {
    return false
  }
}

/** Columns of the bar, and of what surrounds it: space, brackets, space, percentage. */
const BAR = 24
const AROUND = 8
/** Minimum ms between two drawings of the bar. */
const REDRAW = 100

/** @param options.color whether colours are wanted; called only for output that people read */
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
      // Terminals on serial lines and in containers may report 0.
      return (isTerminal() && process.stdout.columns) || columnsFromEnv() || 80
    },
    print(text) {
      if (options.json) return
      if (typeof text === "string") lines.push(text)
      else for (const line of text) lines.push(line)
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
      // A line that wraps cannot be overdrawn.
      const bar = Math.min(BAR, (process.stderr.columns || 80) - label.length - AROUND - 1)
      const full = Math.round(share * bar)
      const drawing = bar > 0 ? ` [${"=".repeat(full)}${" ".repeat(bar - full)}]` : ""
      last = `${label}${drawing} ${Math.floor(share * 100)}%`
      writeError(`\r${last}`)
    },
    clear(): void {
      if (last === "") return
      writeError(`\r${" ".repeat(last.length)}\r`)
      last = ""
    },
  }
}
