/**
 * Collects what is in a conversation that a summary may drop, by kind, found as the views find it, message by message.
 * Pure.
 */
import { errorsMet } from "../agents/errors-met.ts"
import { shellCommand, stringsIn, toolFiles } from "../agents/tool-input.ts"
import { toolKind } from "../agents/tool-kinds.ts"
import { withoutPlan } from "../claude/pasted.ts"
import { factNames, numbersIn, pathsIn } from "../transcript/facts.ts"
import { constraintsIn, decisionsIn, rulesInReply } from "../transcript/noted-sentences.ts"
import { commandPaths } from "../transcript/path-words.ts"
import { openingOf, simpleCommands } from "../transcript/shell-script.ts"
import type { Part, TranscriptRecord } from "../transcript/types.ts"
import type { HeldKind } from "./summary-holds.ts"

export class Present {
  readonly #found = new Map<HeldKind, Set<string>>()
  readonly #tools = new Map<string, string>()

  take({ parts, sidechain, imported, version }: TranscriptRecord): void {
    if (sidechain || imported === true) return
    for (const part of parts) this.#takePart(part, version)
  }

  of(kind: HeldKind): ReadonlySet<string> {
    return this.#found.get(kind) ?? new Set()
  }

  #takePart(part: Part, version: string | undefined): void {
    switch (part.kind) {
      case "prompt":
        this.#note("constraint", constraintsIn(withoutPlan(part.text)))
        this.#prose(part.text)
        return
      case "reply":
        if (toolKind(this.#tools.get(part.within)) !== "ask") return
        this.#note("constraint", rulesInReply(part))
        this.#prose(part.text)
        return
      case "text":
        this.#note("decision", decisionsIn(part.text))
        this.#prose(part.text)
        return
      // The summary of an earlier compaction, which this one may drop.
      case "summary":
        this.#prose(part.text)
        return
      case "toolUse": {
        this.#tools.set(part.id, part.name)
        const files = toolFiles(part.name, part.input).map(({ path }) => path)
        this.#note("path", files)
        for (const text of stringsIn(part.input)) {
          this.#note("name", factNames(text))
          if (toolKind(part.name) !== "run" && !files.includes(text)) this.#note("path", pathsIn(text))
        }
        const script = shellCommand(part.name, part.input)
        if (script === undefined) return
        this.#note("path", commandPaths(script))
        this.#note("command", [openingOf(script) ?? [], simpleCommands(script)].flat())
        return
      }
      case "toolResult":
        this.#note("error", errorsMet(this.#tools.get(part.id), part, version))
        return
    }
  }

  #prose(text: string): void {
    this.#note("name", factNames(text))
    this.#note("path", pathsIn(text))
    this.#note("number", numbersIn(text))
  }

  #note(kind: HeldKind, texts: readonly string[]): void {
    if (texts.length === 0) return
    const known = this.#found.get(kind) ?? new Set()
    for (const text of texts) known.add(text)
    this.#found.set(kind, known)
  }
}
