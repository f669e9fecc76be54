/**
 * Names, paths, commands and error lines of a session's messages → rows of the views.
 *
 * Only words of the human and the model are searched for names, paths and commands, and only the output of commands and
 * of failed calls of the host's own tools for error lines (docs/security.md). Subagents are skipped.
 */
import { errorsMet } from "../agents/claude-code/host-refusals.ts"
import { shellCommand, stringsIn, toolFiles } from "../agents/claude-code/tool-input.ts"
import { isProse, type Origin } from "../agents/origin.ts"
import { toolKind } from "../agents/tool-kinds.ts"
import { exitStatusIn } from "../transcript/error-lines.ts"
import { type FactKind, factNames, pathsIn } from "../transcript/facts.ts"
import { commandPaths } from "../transcript/path-words.ts"
import { commandUses, openingOf } from "../transcript/shell-script.ts"
import type { Part } from "../transcript/types.ts"
import type { Database } from "./database.ts"
import { sessionKey } from "./identity.ts"
import { type At, isOwnTool } from "./tool-rows.ts"

/** By kind: each text with its form. The form of an error is its command's exit status, if the host told it. */
type Found = Map<FactKind, Map<string, string>>

export class FactRows {
  readonly #db: Database
  readonly #session: bigint
  readonly #isSubagent: boolean
  readonly #met = new Map<string, Met>()

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = sessionKey(session)
    this.#isSubagent = session.includes("/")
  }

  /** Counts each fact once per message. */
  note(
    parts: readonly Part[],
    origins: readonly Origin[],
    { turn, message, imported, version }: At,
    toolOf: (part: Part) => string | undefined,
    isText: Around["isText"],
  ): void {
    if (imported || message === 0 || this.#isSubagent) return
    const found: Found = new Map()
    for (const [n, part] of parts.entries()) {
      const tool = toolOf(part)
      if (!isOwnTool(tool)) collect(found, part, origins[n]!, { tool, version, isText })
    }
    for (const [kind, texts] of found)
      for (const [text, form] of texts) {
        const key = `${kind} ${text}`
        const met = this.#met.get(key)
        if (met === undefined)
          this.#met.set(key, { kind, text, form, times: 1, since: turn, latest: message })
        else {
          met.form = form
          met.times++
          met.latest = message
        }
      }
  }

  /** Writes what has been met since the last time. Many facts are met again soon. */
  flush(): void {
    const query = this.#db.query(
      `INSERT INTO facts (session, kind, text, form, times, since, latest) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET times = times + excluded.times, form = excluded.form, latest = excluded.latest`,
    )
    for (const { kind, text, form, times, since, latest } of this.#met.values())
      query.run(this.#session, kind, text, form === text ? "" : form, times, since, latest)
    this.#met.clear()
  }
}

/** A fact, as it will be in its row. */
interface Met {
  readonly kind: FactKind
  readonly text: string
  form: string
  times: number
  /** The first turn, and the last message. */
  readonly since: number
  latest: number
}

interface Around {
  /** The tool of a call or a result. */
  readonly tool: string | undefined
  readonly version: string | undefined
  /** Whether a call's command shows text that others wrote. */
  readonly isText: (id: string) => boolean
}

function collect(found: Found, part: Part, origin: Origin, { tool, version, isText }: Around): void {
  const add = (kind: FactKind, texts: readonly string[], formOf = (text: string): string => text): void => {
    if (texts.length === 0) return
    const known = found.get(kind) ?? new Map()
    for (const text of texts) known.set(text, formOf(text))
    found.set(kind, known)
  }
  switch (part.kind) {
    case "prompt":
    case "text":
      if (!isProse(origin)) return
      add("name", factNames(part.text))
      add("path", pathsIn(part.text))
      return
    case "toolUse": {
      if (!isProse(origin)) return
      const files = toolFiles(part.name, part.input).map(({ path }) => path)
      add("path", files)
      const texts = stringsIn(part.input)
      add("name", texts.flatMap(factNames))
      // A path with blanks is a single path; without this, what follows its last blank would count as one, too.
      if (toolKind(part.name) !== "run")
        add("path", texts.filter((text) => !files.includes(text)).flatMap(pathsIn))
      const script = shellCommand(part.name, part.input)
      if (script === undefined) return
      add("path", commandPaths(script))
      const uses = new Map(commandUses(script).map(({ command, line }) => [command, line]))
      const opening = openingOf(script)
      if (opening !== undefined && !uses.has(opening)) uses.set(opening, opening)
      add("command", [...uses.keys()], (command) => uses.get(command)!)
      return
    }
    case "toolResult": {
      const status = exitStatusIn(part.text)
      add("error", errorsMet(tool, part, version, isText(part.id)), (line) => status ?? line)
      return
    }
  }
}
