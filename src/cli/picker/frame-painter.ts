/** Brings a terminal from one frame to the next: only lines that differ are written. Pure. */
import type { Frame } from "./picker-frame.ts"

/** Terminals that know this mark show the frame at once; others ignore it. */
const BEGIN = "\x1b[?2026h\x1b[?25l"
const END = "\x1b[?25h\x1b[?2026l"

export class FramePainter {
  #shown: readonly string[] = []

  /** Forgets what is on the screen: something else has written there. */
  forget(): void {
    this.#shown = []
  }

  /** @returns what to write */
  paint({ lines, cursor }: Frame): string {
    let text = BEGIN
    for (const [row, line] of lines.entries()) {
      // Erased before, not after: behind the last column, the cursor stays on it.
      if (line !== this.#shown[row]) text += `\x1b[${row + 1};1H\x1b[0m\x1b[2K${line}`
    }
    this.#shown = lines
    return `${text}\x1b[${cursor.row + 1};${cursor.column + 1}H${END}`
  }
}
