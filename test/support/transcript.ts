/** A transcript on disk, written as the host does. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { HostTranscript, type TranscriptOptions } from "../../src/claude/fake/transcript.ts"

export class Transcript extends HostTranscript {
  readonly path: string

  constructor(options: TranscriptOptions & { readonly path: string }) {
    super(options)
    this.path = options.path
  }

  /** Appends to the file in one write, as the host does. */
  flush(): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.take())
    return this
  }

  /** Drops the lines not flushed yet. */
  discard(): void {
    this.take()
  }
}
