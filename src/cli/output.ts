/** Writes everything that a command prints. */

import { CtxError, codeOf, messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { fstatSync } from "../base/fs.ts"
import { once } from "../base/once.ts"
import { STDERR, STDOUT, writeAll } from "../base/write-output.ts"
import { columnsFromEnv, isDumb, wantsUnicode } from "../config/load.ts"
import type { Output } from "./command.ts"
import { type ProgressUnit, progressLine } from "./progress.ts"
import { wrapped } from "./screen.ts"
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

/** On one line, whoever reads it, but for a terminal that would break it inside a word. */
export function writeErrorLine(line: string): void {
  const lines = isTerminal(STDERR) ? wrapped(line, process.stderr.columns || 80) : [line]
  writeError(`${lines.join("\n")}\n`)
}

/** Error code for unwritable output. The system's own code would suggest that the archive's disk is full. */
export const UNWRITTEN = "output-unwritten"

const unwritten = (cause: unknown): CtxError =>
  new CtxError(UNWRITTEN, `the output cannot be written: ${messageOf(cause)}`, {
    hint: "free some space there; what the command has changed stays changed",
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

/** Minimum ms between two drawings of the bar. */
const REDRAW = 100
/** ms of progress after which it is worth saying what Ctrl-C leaves behind. */
const LONG = 1000

/** Shows text in a pager; false: there is none, and nothing was written. */
type Pager = (text: string) => Promise<boolean>

interface OutputOptions {
  readonly json: boolean
  /** Whether colours are wanted; called only for output that people read. */
  readonly color: () => boolean
  /** The lines of a --json document in another format. */
  readonly format?: ((document: unknown) => readonly string[]) | undefined
  /** Whether links are wanted, where a terminal understands them. */
  readonly links?: () => boolean
  readonly pager?: Pager | undefined
  /** Whether the pager also gets what would fit on the screen. */
  readonly pagesAll?: boolean
}

export function createOutput(options: OutputOptions): Output {
  const { json, color, format, links = () => false, pager, pagesAll = false } = options
  const wantsJson = json || format !== undefined
  const terminal = once(() => isTerminal())
  const isAscii = once(() => terminal() && !wantsUnicode())
  const lines: string[] = []
  const bar = progressBar(wantsJson)
  let isBegun = false
  const columns = (): number =>
    // Terminals on serial lines and in containers may report 0.
    (terminal() && process.stdout.columns) || columnsFromEnv() || 80
  const taken = (): string => {
    bar.clear()
    if (lines.length === 0) return ""
    const all = isAscii()
      ? lines.flatMap((line) => line.split("\n")).map((line) => inAscii(line, columns()))
      : lines
    const text = `${all.join("\n")}\n`
    lines.length = 0
    return text
  }
  const flush = (): void => {
    const text = taken()
    isBegun ||= text !== ""
    if (text !== "") writeOut(text)
  }
  return {
    wantsJson,
    get terminal() {
      return terminal()
    },
    get links() {
      return terminal() && !isDumb() && links()
    },
    get color() {
      return color()
    },
    get columns() {
      return columns()
    },
    print(text) {
      if (wantsJson) return
      if (typeof text === "string") lines.push(text)
      else for (const line of text) lines.push(line)
    },
    json(value) {
      if (format !== undefined) for (const line of format(value)) lines.push(line)
      else if (json) lines.push(safeJson(value, 2))
    },
    event(value) {
      if (json) writeOut(`${safeJson(value)}\n`)
    },
    raw(bytes) {
      flush()
      writeOut(bytes)
    },
    progress: bar.draw,
    resumable: bar.resumable,
    clear: bar.clear,
    flush,
    async end() {
      // What came before is gone from a pager's sight, so the rest is not shown there alone.
      const mayPage = pager !== undefined && !wantsJson && !isBegun && terminal()
      const text = taken()
      if (text === "") return
      if (mayPage && (pagesAll || isLonger(text, columns(), process.stdout.rows)) && (await pager(text)))
        return
      writeOut(text)
    },
  }
}

/** Whether the text and the next prompt need more rows than the screen has; unknown: 0. */
function isLonger(text: string, columns: number, rows: number | undefined): boolean {
  let left = (rows || Number.POSITIVE_INFINITY) - 1
  for (const line of text.split("\n").slice(0, -1)) {
    left -= Math.max(1, Math.ceil(Bun.stringWidth(line) / columns))
    if (left < 0) return true
  }
  return false
}

function progressBar(silent: boolean) {
  let shown: boolean | undefined
  let drawn = Number.NEGATIVE_INFINITY
  let last = ""
  let current: { readonly label: string; readonly at: number; readonly began: number } | undefined
  let hint = ""
  let isHinted = false
  const columns = (): number => process.stderr.columns || 80
  const clear = (): void => {
    if (last !== "") writeError(`\r${" ".repeat(last.length)}\r`)
    if (isHinted) writeError("\x1b[1A\x1b[2K")
    last = ""
    isHinted = false
  }
  return {
    draw(label: string, done: number, total: number, unit: ProgressUnit = "items"): void {
      shown ??= !silent && isTerminal(STDERR)
      const now = performance.now()
      if (!shown || (now - drawn < REDRAW && done < total)) return
      drawn = now
      if (current?.label !== label) current = { label, at: now, began: done }
      const { at, began } = current
      const line = progressLine({ label, done, total, unit, elapsed: now - at, began, columns: columns() })
      if (hint !== "" && !isHinted && now - at > LONG && !isDumb()) {
        clear()
        writeError(`${hint.slice(0, columns() - 1)}\n`)
        isHinted = true
      }
      writeError(`\r${line.padEnd(last.length)}`)
      last = line
    },
    resumable(text: string): void {
      hint = text
    },
    clear,
  }
}

/* What stands for our signs where the locale has none of them. Pure. */

/** Each as wide as what it stands for, so that what fitted still fits. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ "·": "-", "•": "*", "→": ">", "✓": "+", "✗": "x", "☐": "o", "☒": "x", "📷": "[]", "⊘": "-", "−": "-" },
  ...{ "─": "-", "═": "=", "│": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+" },
  ...{ "┬": "+", "┴": "+", "┼": "+", "█": "#", "░": ".", "⋮": ":", "\u{fffd}": "?" },
}
const SIGNS = new RegExp(`[${Object.keys(PLAIN).join("")}]`, "gu")

/** A line with our signs in ASCII, and no wider than `columns` if it was not before. */
export function inAscii(line: string, columns: number): string {
  const plain = line.replace(SIGNS, (sign) => PLAIN[sign]!)
  if (!plain.includes("…")) return plain
  const dots = plain.replaceAll("…", "...")
  return Bun.stringWidth(dots) <= columns ? dots : plain.replaceAll("…", "~")
}
