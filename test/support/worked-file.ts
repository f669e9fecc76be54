/** A file that a session works on, and what Claude Code notes of each of its calls. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { Step } from "../../src/claude/fake/transcript.ts"
import { textDiff } from "../../src/views/edit-diff.ts"

export class Worked {
  readonly path: string
  content: string | undefined

  constructor(path: string) {
    this.path = path
  }

  write(content: string): Step {
    const told = {
      type: this.content === undefined ? "create" : "update",
      filePath: this.path,
      content,
      structuredPatch: [],
      userModified: false,
    }
    const originalFile = this.content ?? null
    this.content = content
    return {
      tool: "Write",
      input: { file_path: this.path, content },
      output: "ok",
      told: { ...told, originalFile },
    }
  }

  /** @param isTold whether Claude Code says what was there before: of large files it does not */
  edit(before: string, after: string, isTold = true, more: object = {}): Step {
    const was = this.content!
    this.content = was.replace(before, after)
    const hunks = textDiff(was, this.content).map((lines) => ({
      newStart: lineOf(
        this.content!,
        lines.filter(({ mark }) => mark !== "-").map(({ text }) => text),
      ),
      lines: lines.map(({ mark, text }) => mark + text),
    }))
    const input = { file_path: this.path, old_string: before, new_string: after }
    const told = {
      filePath: this.path,
      oldString: before,
      newString: after,
      structuredPatch: hunks,
      userModified: false,
    }
    return {
      tool: "Edit",
      input,
      output: "ok",
      told: { ...told, originalFile: isTold ? was : null, ...more },
    }
  }

  read(from = 1): Step {
    const lines = this.content!.split("\n")
    const file = {
      filePath: this.path,
      content: lines.slice(from - 1).join("\n"),
      startLine: from,
      numLines: lines.length - from + 1,
      totalLines: lines.length,
    }
    return {
      tool: "Read",
      input: { file_path: this.path },
      output: this.content!,
      told: { type: "text", file },
    }
  }

  save(): void {
    mkdirSync(dirname(this.path), { recursive: true })
    writeFileSync(this.path, this.content!)
  }
}

const lineOf = (text: string, lines: readonly string[]): number => {
  const all = text.split("\n")
  return all.findIndex((_, n) => lines.every((line, m) => all[n + m] === line)) + 1
}
