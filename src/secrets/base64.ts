/** Finds runs of base64, URL-safe or not, wrapped or not, that hold text. Pure. */
import { look, tick } from "./clock.ts"

/**
 * Matches up to the end of the first group of four. It must decode to printable ASCII, which one random group in
 * fourteen does.
 */
const gateOf = (): RegExp =>
  /[^A-Za-mo-qsu-z0-9][I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-](?=[A-Za-z0-9+/_-]{20})/g

let gate: RegExp | undefined

interface Encoded {
  readonly start: number
  readonly end: number
  /** The decoded content, one character per byte. */
  readonly decoded: string
  /** Whether it contains line breaks, so that positions in `decoded` do not map to positions in it. */
  readonly isWrapped: boolean
}

/**
 * Calls `found` with each run.
 *
 * @param isLines whether a run ends with its line
 */
export function findEncoded(text: string, isLines: boolean, found: (encoded: Encoded) => void): void {
  for (let at = gateAfter(text, 0); at >= 0; ) {
    tick()
    const start = at - 4
    // The gate takes `n`, `r` and `t` before a run for the end of an escape.
    if (!isText(text, start) || (/[nrt]/.test(text[start - 1]!) && text[start - 2] !== "\\")) {
      at = gateAfter(text, at)
      continue
    }
    const run = whole(text, start, isLines)
    found(run)
    at = gateAfter(text, run.end)
  }
}

/** What the gate sees at once, so that the clock is looked at in between, and more than it needs for a match. */
const PIECE = 256 << 10
const GATE_LENGTH = 32

/** Where the gate's next match ends; -1 if there is none. */
function gateAfter(text: string, from: number): number {
  gate ??= gateOf()
  for (let start = 0; ; start += PIECE - GATE_LENGTH) {
    const isLast = text.length - start <= PIECE
    if (!isLast && start + PIECE - GATE_LENGTH < from) continue
    look()
    const piece = start === 0 && isLast ? text : text.slice(start, start + PIECE)
    gate.lastIndex = Math.max(0, from - start)
    if (gate.test(piece)) return start + gate.lastIndex
    if (isLast) return -1
  }
}

/** Whether the first groups decode to printable ASCII or line breaks, told without decoding them. */
function isText(text: string, start: number): boolean {
  for (let at = start; at < start + 4 * GROUPS; at += 4) {
    if (!FIRST.includes(text[at]!) || !SECOND.includes(text[at + 1]!) || !THIRD.includes(text[at + 2]!))
      return false
  }
  return true
}

const GROUPS = 5
const FIRST = "CDIJKLMNOPQRSTUVWXYZabcdef"
const SECOND = "CDEFGHSTUVWXijklmnyz0123QgAw"
const THIRD = "ABEFIJMNQRUVYZcdghklopstwx014589"

/** A run continues after a line break or an escaped one. */
const runAt = (): RegExp => /[A-Za-z0-9+/_-]+={0,2}(?:(?:\\+[nr])+[A-Za-z0-9+/_-]{4,}={0,2})*/y
const runOfLinesAt = (): RegExp => /[A-Za-z0-9+/_-]+={0,2}(?:(?:\\+[nr]|\n)+[A-Za-z0-9+/_-]{4,}={0,2})*/y

function whole(text: string, start: number, isLines: boolean): Encoded {
  const regex = isLines ? runAt() : runOfLinesAt()
  regex.lastIndex = start
  const end = regex.test(text) ? regex.lastIndex : start
  const run = text.slice(start, end)
  const isWrapped = /[\\\n]/.test(run)
  return { start, end, decoded: decode(isWrapped ? run.replace(/\\+[nr]|\n/g, "") : run), isWrapped }
}

const decode = (base64: string): string => Buffer.from(base64, "base64").toString("latin1")
