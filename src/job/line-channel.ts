/** JSON lines between two of our processes, over a socket that both have open. Waits instead of returning to a loop. */
import { readSync, writeSync } from "node:fs"
import { NEWLINE } from "../util/byte-lines.ts"
import { codeOf } from "../util/errors.ts"
import { readable } from "../util/libc.ts"

/** ms to wait for the other process before looking again. */
const LOOK = 1000

export class LineChannel {
  readonly #fd: number
  #unread: Buffer = Buffer.alloc(0)

  constructor(fd: number) {
    this.#fd = fd
  }

  /** @throws the system's error if the other process is gone */
  send(value: unknown): void {
    let bytes = Buffer.from(`${JSON.stringify(value)}\n`)
    while (bytes.length > 0) {
      try {
        bytes = bytes.subarray(writeSync(this.#fd, bytes))
      } catch (error) {
        // The other process is busy and its socket full.
        if (codeOf(error) !== "EAGAIN") throw error
        Bun.sleepSync(1)
      }
    }
  }

  /**
   * Waits for the next line.
   *
   * @param onWait called before waiting, if there is none yet
   * @returns undefined if the other process has closed its end, or is gone
   */
  next(onWait: () => void = () => {}): unknown {
    // One line, over as many reads as it takes, where `linesIn` would need them all.
    const parts: Buffer[] = [this.#unread]
    let end = this.#unread.indexOf(NEWLINE)
    while (end < 0) {
      const more = this.#read(onWait)
      if (more === undefined) return undefined
      parts.push(more)
      end = more.indexOf(NEWLINE)
      if (end >= 0) end += parts.slice(0, -1).reduce((sum, part) => sum + part.length, 0)
    }
    const bytes = Buffer.concat(parts)
    this.#unread = bytes.subarray(end + 1)
    return JSON.parse(bytes.toString("utf8", 0, end))
  }

  #read(onWait: () => void): Buffer | undefined {
    const room = Buffer.alloc(1 << 14)
    for (;;) {
      try {
        const length = readSync(this.#fd, room, 0, room.length, null)
        return length === 0 ? undefined : room.subarray(0, length)
      } catch (error) {
        if (codeOf(error) === "ECONNRESET") return undefined
        if (codeOf(error) !== "EAGAIN") throw error
        onWait()
        readable(this.#fd, LOOK)
      }
    }
  }
}
