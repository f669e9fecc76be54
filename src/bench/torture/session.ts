/** A session as a host writes it, with small turns in which every line and prompt is unique. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { isMissing } from "../../util/errors.ts"

const NEWLINE = 0x0a

export class Session {
  readonly id: string
  readonly path: string
  readonly cwd: string
  /** Lines that were in the transcript when a hook began that then succeeded. */
  readonly told = new Set<string>()
  /** How often the transcript was changed other than by appending. */
  generation = 0
  #lines = 0
  #turns = 0
  #parent: string | null = null
  /** 12 characters that make ids unique to this session. */
  readonly #name: string

  constructor(id: string, path: string, cwd: string) {
    this.id = id
    this.path = path
    this.cwd = cwd
    this.#name = Bun.hash.xxHash64(id, 0n).toString(16).padStart(16, "0").slice(0, 12)
  }

  /** Appends turns, each a prompt, a tool call and an answer. */
  grow(turns: number): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.text(turns))
    return this
  }

  /** What `grow` would append. */
  text(turns: number): string {
    let text = ""
    for (let n = 0; n < turns; n++) text += this.#turn(`prompt ${++this.#turns} of ${this.id} 語`)
    return text
  }

  /** The transcript's whole lines; empty when there is no such file. */
  content(): Buffer {
    try {
      const bytes = readFileSync(this.path)
      return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
    } catch (error) {
      if (isMissing(error)) return Buffer.alloc(0)
      throw error
    }
  }

  #turn(prompt: string): string {
    const tool = `toolu_${this.#name}${this.#lines}`
    const input = { file_path: `${this.cwd}/file-${this.#turns}.ts`, old_string: "a", new_string: "b" }
    return [
      this.#line("user", { role: "user", content: prompt }),
      this.#assistant({ type: "tool_use", id: tool, name: "Edit", input }),
      this.#line("user", {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: tool, content: `done ${"x".repeat(400)}` }],
      }),
      this.#assistant({ type: "text", text: `Answer to: ${prompt}` }),
    ].join("")
  }

  #assistant(block: object): string {
    return this.#line("assistant", {
      id: `msg_${this.#name}${this.#lines}`,
      role: "assistant",
      model: "claude-sonnet-4-6",
      content: [block],
      usage: { input_tokens: 10, output_tokens: 20 },
    })
  }

  #line(type: string, message: object): string {
    const n = ++this.#lines
    const uuid = `${this.#name.slice(0, 8)}-${this.#name.slice(8)}-4000-8000-${String(n).padStart(12, "0")}`
    const fields = {
      parentUuid: this.#parent,
      isSidechain: false,
      userType: "external",
      cwd: this.cwd,
      sessionId: this.id,
      version: "2.1.229",
      gitBranch: "main",
      type,
      message,
      uuid,
      timestamp: new Date(Date.UTC(2026, 2, 2) + n * 1000).toISOString(),
    }
    this.#parent = uuid
    return `${JSON.stringify(fields)}\n`
  }
}

/** Splits content that consists of whole lines. */
export const linesOf = (content: Uint8Array): string[] =>
  Buffer.from(content.buffer, content.byteOffset, content.length).toString("utf8").split("\n").slice(0, -1)

/** The prompts in these lines. A line that was cut and then continued contains none. */
export function promptsAmong(lines: Iterable<string>): string[] {
  const prompts: string[] = []
  for (const line of lines) {
    const found = /"content":"(prompt \d+ of [\w-]+ 語)"/.exec(line)?.[1]
    if (found !== undefined && isJson(line)) prompts.push(found)
  }
  return prompts
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
