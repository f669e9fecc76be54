/** A transcript on disk, written as Claude Code does. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { FakeTranscript, type TranscriptOptions } from "../../src/claude/fake/transcript.ts"

export class Transcript extends FakeTranscript {
  readonly path: string

  constructor(options: TranscriptOptions & { readonly path: string }) {
    super(options)
    this.path = options.path
  }

  /** Appends to the file in one write, as Claude Code does. */
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
