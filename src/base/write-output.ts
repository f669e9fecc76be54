/** Writes output: all of it, once, however slowly it is read. */
import { codeOf } from "./errors.ts"
import { writeSync } from "./fs.ts"
import { writable } from "./libc.ts"

export const STDIN = 0
export const STDOUT = 1
export const STDERR = 2

/** Bytes for which a pipe has room whenever poll(2) says that it has any. */
const PIPE_BUF = 4096
/** ms between two looks at a full pipe when there is time. */
const PATIENCE = 1000

/**
 * Calls write(2), which says how much of it was taken. Bun.write does not care, and sends what did not fit into a
 * non-blocking pipe a second time (Bun 1.4.5, oven-sh/bun#35953); `process.stdout` makes pipes non-blocking.
 *
 * @param until ms of performance.now() after which the rest is dropped; by default, waits as long as it takes
 * @throws the system's error, such as EPIPE when nobody reads any more
 */
export function writeAll(fd: number, data: string | Uint8Array, until?: number): void {
  // Not Buffer: its first use costs the engine 0.17 ms.
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data
  for (let done = 0; done < bytes.length; ) {
    // More than fits would block, if the pipe is an ordinary one.
    if (until !== undefined && !writable(fd, until - performance.now())) return
    const end = until === undefined ? bytes.length : Math.min(done + PIPE_BUF, bytes.length)
    try {
      done += writeSync(fd, bytes, done, end - done)
    } catch (error) {
      // Full, and made non-blocking by another process that shares it.
      if (codeOf(error) !== "EAGAIN") throw error
      writable(fd, PATIENCE)
    }
  }
}

/** ms that a program which Claude Code waits for spends on writing. */
const HOST_READS = 1000

/** Writes what Claude Code gets, as far as it reads. There is nobody else to tell. */
export function answerClaude(text: string): void {
  try {
    writeAll(STDOUT, text, performance.now() + HOST_READS)
  } catch {
    // It is gone, or has closed the pipe.
  }
}
