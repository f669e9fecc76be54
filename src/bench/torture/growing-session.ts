/** A session as a host writes it, with small turns in which every line and prompt is unique. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs"
import { HostTranscript } from "../../claude/fake/transcript.ts"
import { endOfLines } from "../../util/byte-lines.ts"
import { isMissing } from "../../util/errors.ts"
import { tryTo } from "../../util/files.ts"
import { dirname } from "../../util/path.ts"

export class GrowingSession {
  readonly id: string
  readonly path: string
  readonly cwd: string
  /** Lines that were in the transcript when a hook began that then succeeded. */
  readonly told = new Set<string>()
  /** How often the transcript was changed other than by appending. */
  generation = 0
  #turns = 0
  readonly #written: HostTranscript

  constructor(id: string, path: string, cwd: string) {
    this.id = id
    this.path = path
    this.cwd = cwd
    this.#written = new HostTranscript({ session: id, cwd, version: "2.1.229" })
  }

  /** Appends turns, each a prompt, a tool call and an answer. */
  grow(turns: number): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.text(turns))
    return this
  }

  /** What `grow` would append. */
  text(turns: number): string {
    for (let n = 0; n < turns; n++) {
      const input = { file_path: `${this.cwd}/file-${++this.#turns}.ts`, old_string: "a", new_string: "b" }
      const edit = { tool: "Edit", input, output: `done ${"x".repeat(200)}` }
      this.#written.turn(`prompt ${this.#turns} of ${this.id} 語`, [edit])
    }
    return this.#written.take()
  }

  /** The transcript's whole lines; empty when there is no such file. */
  content(): Buffer {
    try {
      const bytes = readFileSync(this.path)
      return bytes.subarray(0, endOfLines(bytes))
    } catch (error) {
      if (isMissing(error)) return Buffer.alloc(0)
      throw error
    }
  }
}

/** Splits content that consists of whole lines. */
export const linesOf = (content: Uint8Array): string[] =>
  Buffer.from(content.buffer, content.byteOffset, content.length).toString("utf8").split("\n").slice(0, -1)

/** The prompts in these lines. A line that was cut and then continued may end with a whole record. */
export function promptsAmong(lines: Iterable<string>): string[] {
  const prompts: string[] = []
  for (const line of lines) {
    // Without our decoder, which is what is examined.
    for (const piece of line.split(/(?<=\})(?=\{)/)) {
      const found = /"content":"(prompt \d+ of [\w-]+ 語)"/.exec(lastRecordIn(piece))?.[1]
      if (found !== undefined) prompts.push(found)
    }
  }
  return prompts
}

/** `""` if nothing that begins in the text is a whole record at its end. */
function lastRecordIn(text: string): string {
  for (let at = text.indexOf('{"'); at >= 0; at = text.indexOf('{"', at + 1)) {
    const rest = text.slice(at)
    if (tryTo(() => JSON.parse(rest)) !== undefined) return rest
  }
  return ""
}
