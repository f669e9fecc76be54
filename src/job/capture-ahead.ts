/**
 * A long import on two cores: a child takes transcripts into the vault while its parent makes the views of those that
 * are already there (docs/adr/0015).
 *
 * The parent names the transcripts in order, a few at a time, so that the vault never gets far ahead of the views. The
 * child reports each slice and, at the end of a transcript, what has become of it. If either is killed, the other
 * notices: the child ends, the parent goes on alone.
 */

import { closeSync, readSync, writeSync } from "node:fs"
import { codeOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { readable } from "../base/libc.ts"
import { childEnvironment } from "../config/load.ts"
import { NEWLINE } from "../record/lines-with.ts"
import type { Tail } from "../vault/copy-file.ts"
import type { Pending } from "../vault/pending.ts"
import { tailOf } from "../vault/reader.ts"
import { copyOf, type ImportedFile, type ImportPlace, importFile, sizeOf } from "./import-file.ts"
import { ownCommand } from "./spawn.ts"

/** The first line to the child. */
interface Task {
  readonly place: ImportPlace
  /** Whether to wait for other processes as long as it takes. */
  readonly waits: boolean
}

/** What the child has committed of the transcript at hand. */
export interface Slice extends Pending {
  /** Bytes of the transcript in the vault, and of these how many the slice brought. */
  readonly archived: number
  readonly taken: number
}

type Report = { readonly slice: Slice } | { readonly file: ImportedFile } | { readonly waits: true }

/** Descriptor of the socket in the child. */
const SOCKET = 3
/** Bytes of transcripts that are named to the child before their views are made. */
const AHEAD = 32 << 20
/** How many of them at most. They must fit into the socket: each process would wait for the other to read. */
const MOST_AHEAD = 16
/** Maximum ms of capture between two reports: what is reported can be indexed meanwhile. */
const SLICE = 50

export class CaptureAhead {
  readonly #child: Bun.Subprocess
  readonly #fd: number
  readonly #channel: LineChannel
  readonly #place: ImportPlace
  readonly #onBusy: (() => void) | undefined
  readonly #waiting: string[]
  /** Named to the child, and not yet done. */
  readonly #named: { readonly path: string; readonly size: number; readonly old: Tail | undefined }[] = []

  /**
   * @param paths in the order in which they are taken
   * @param onBusy called while another process keeps the child waiting; without it, the child waits only briefly
   */
  constructor(place: ImportPlace, paths: readonly string[], onBusy: (() => void) | undefined) {
    this.#child = Bun.spawn([...ownCommand(), "__capture"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      cwd: "/",
      env: childEnvironment(),
    })
    this.#fd = this.#child.stdio[SOCKET] as unknown as number
    this.#channel = new LineChannel(this.#fd)
    this.#place = place
    this.#onBusy = onBusy
    this.#waiting = [...paths]
    this.#send({ place: taskPlace(place), waits: onBusy !== undefined } satisfies Task)
  }

  /**
   * Waits for the next transcript to be taken.
   *
   * @param onSlice called after each slice
   * @param onWait called before waiting for the child
   * @returns what has become of it; if the child is gone, only how its copy had ended before
   */
  next(
    onSlice: (slice: Slice) => void,
    onWait: () => void,
  ): ImportedFile | { readonly old: Tail | undefined } {
    this.#name()
    const { old } = this.#named[0]!
    for (;;) {
      const report = this.#receive(onWait)
      if (report === undefined) return { old }
      if ("file" in report) {
        this.#named.shift()
        this.#name()
        return report.file
      }
      if ("waits" in report) this.#onBusy?.()
      else onSlice(report.slice)
    }
  }

  close(): void {
    this.#child.kill()
    closeSync(this.#fd)
  }

  /** Names as many as may be taken ahead. */
  #name(): void {
    let bytes = this.#named.reduce((sum, { size }) => sum + size, 0)
    while (this.#waiting.length > 0 && this.#named.length < MOST_AHEAD) {
      if (bytes >= AHEAD) return
      const path = this.#waiting.shift()!
      const size = sizeOf(path)
      // A copy that cannot be read is an error only when its turn has come.
      const old = tryTo(() => tailOf(copyOf(this.#place, path)))
      this.#named.push({ path, size, old })
      bytes += size
      this.#send(path)
    }
  }

  #send(value: unknown): void {
    try {
      this.#channel.send(value)
    } catch {
      // The child is gone. Whoever waits for its report notices.
    }
  }

  #receive(onWait: () => void): Report | undefined {
    try {
      return this.#channel.next(onWait) as Report | undefined
    } catch {
      // Half a line of a child that was killed.
      return undefined
    }
  }
}

/** Only what the child needs: whoever imports may pass more. */
const taskPlace = ({ dataHome, home, stateHome, secrets, exclude }: ImportPlace): ImportPlace => ({
  dataHome,
  home,
  stateHome,
  secrets,
  exclude,
})

/** The child: takes what it is told to take, until its parent is gone. */
export function runCapture(): void {
  const channel = new LineChannel(SOCKET)
  const task = channel.next() as Task | undefined
  if (task === undefined) return
  const { place, waits } = task
  for (let path = channel.next(); typeof path === "string"; path = channel.next()) {
    const file = importFile(place, path, {
      slice: SLICE,
      onWait: waits ? () => channel.send({ waits: true } satisfies Report) : undefined,
      old: tryTo(() => tailOf(copyOf(place, path))),
      onTaken: ({ path, copy, session, captured }) => {
        if (captured.id === undefined) return
        const { archived, taken } = captured
        channel.send({ slice: { path, copy, session, archived, taken } } satisfies Report)
      },
    })
    channel.send({ file } satisfies Report)
  }
}

/* JSON lines between two of our processes, over a socket that both have open. Waits instead of returning to a loop. */

/** ms to wait for the other process before looking again. */
const LOOK = 1000

class LineChannel {
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
