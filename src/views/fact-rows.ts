/**
 * Names, paths, commands and error lines of a session's messages → rows of the views.
 *
 * Only words of the human and the model are searched for names, paths and commands, and only the output of commands and
 * of failed calls of Claude Code's own tools for error lines (docs/architecture/trust.md). Subagents are skipped.
 */
import { errorsMet } from "../agents/errors-met.ts"
import { isProse, type Origin } from "../agents/origin.ts"
import { shellCommand, stringsIn, toolFiles, toolKind } from "../agents/tool-kinds.ts"
import { exitStatusIn } from "../record/error-lines.ts"
import { type FactKind, factNames, pathsIn } from "../record/facts.ts"
import { commandPaths } from "../record/path-words.ts"
import { commandUses, openingOf } from "../record/shell-script.ts"
import type { ClaudeResult, Part, TranscriptRecord, Usage } from "../record/types.ts"
import type { Database } from "./database.ts"
import { hash, sessionKey } from "./identity.ts"
import { type At, isOwnTool } from "./tool-rows.ts"
import type { TranscriptRow } from "./transcript-rows.ts"

/** Called with each fact in a part and its form: of an error, its command's exit status, if Claude Code told it. */
type Add = (kind: FactKind, text: string, form: string) => void

export class FactRows {
  readonly #db: Database
  readonly #session: bigint
  readonly #isSubagent: boolean
  readonly #met: Readonly<Record<FactKind, Map<string, Met>>> = {
    path: new Map(),
    command: new Map(),
    name: new Map(),
    error: new Map(),
  }

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = sessionKey(session)
    this.#isSubagent = session.includes("/")
  }

  /** Counts each fact once per message. */
  note(
    parts: readonly Part[],
    origins: readonly Origin[],
    { turn, message, foreign, version }: At,
    toolOf: (part: Part) => string | undefined,
    isText: Around["isText"],
  ): void {
    if (foreign !== undefined || message === 0 || this.#isSubagent) return
    const add: Add = (kind, text, form) => {
      const met = this.#met[kind].get(text)
      if (met === undefined) this.#met[kind].set(text, { form, times: 1, since: turn, latest: message })
      else {
        met.form = form
        if (met.latest !== message) met.times++
        met.latest = message
      }
    }
    for (const [n, part] of parts.entries()) {
      const tool = toolOf(part)
      if (!isOwnTool(tool)) collect(add, part, origins[n]!, { tool, version, isText })
    }
  }

  /** Writes what has been met since the last time. Many facts are met again soon. */
  flush(): void {
    const query = this.#db.query(
      `INSERT INTO facts (session, kind, text, form, times, since, latest) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET times = times + excluded.times, form = excluded.form, latest = excluded.latest`,
    )
    for (const [kind, all] of Object.entries(this.#met)) {
      for (const [text, { form, times, since, latest }] of all)
        query.run(this.#session, kind, text, form === text ? "" : form, times, since, latest)
      all.clear()
    }
  }
}

/** A fact, as it will be in its row. */
interface Met {
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

function collect(add: Add, part: Part, origin: Origin, { tool, version, isText }: Around): void {
  const addAll = (kind: FactKind, texts: Iterable<string>): void => {
    for (const text of texts) add(kind, text, text)
  }
  switch (part.kind) {
    case "prompt":
    case "reply":
    case "text":
      if (!isProse(origin)) return
      addAll("name", factNames(part.text))
      addAll("path", pathsIn(part.text))
      return
    case "toolUse": {
      if (!isProse(origin)) return
      const files = toolFiles(part.name, part.input).map(({ path }) => path)
      addAll("path", files)
      const texts = stringsIn(part.input)
      for (const text of texts) addAll("name", factNames(text))
      // A path with blanks is a single path; without this, what follows its last blank would count as one, too.
      if (toolKind(part.name) !== "run")
        for (const text of texts) if (!files.includes(text)) addAll("path", pathsIn(text))
      const script = shellCommand(part.name, part.input)
      if (script === undefined) return
      addAll("path", commandPaths(script))
      const uses = commandUses(script)
      for (const { command, line } of uses) add("command", command, line)
      const opening = openingOf(script)
      if (opening !== undefined && !uses.some(({ command }) => command === opening))
        add("command", opening, opening)
      return
    }
    case "toolResult": {
      const status = exitStatusIn(part.text)
      for (const line of errorsMet(tool, part, version, isText(part.id))) add("error", line, status ?? line)
      return
    }
  }
}

/* Claude Code's own figures of a query or process → rows of the views. */

/**
 * A copy in a transcript that Claude Code has rewritten changes nothing. A fork keeps the copies of its origin's, from
 * whose total its own process goes on (queries/token-use.ts).
 */
export function noteResult(
  db: Database,
  { id, session }: TranscriptRow,
  { record, offset }: Line,
  { kind, isError, cost, requests, duration, tokens, key }: ClaudeResult,
): void {
  db.query(
    `INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(
    hash("host-result", session, kind, key),
    session,
    id,
    offset,
    kind,
    isError ? 1 : 0,
    cost ?? null,
    requests === undefined ? null : Math.round(requests),
    duration ?? null,
    tokens?.input ?? null,
    tokens?.output ?? null,
    tokens?.cacheCreation ?? null,
    tokens?.cacheRead ?? null,
    record.timestamp ?? null,
  )
}

/* Collects what the lines of a turn add to its row, and writes it once. */

/** A line and its place. Offset and length are in bytes; the length excludes the newline. */
export interface Line {
  readonly record: TranscriptRecord
  readonly offset: number
  readonly length: number
}

/** What a line adds to its turn. */
export interface Effect {
  answer: string | null
  tools: number
  errors: number
  interrupted: number
  /** Whether a command that succeeded names an error in its output; that is no failure of the turn's. */
  tellsError?: boolean
}

/** What the lines since the last flush add to their turn. */
interface Growth extends Readonly<Effect> {
  readonly turn: number
  readonly last: number
  readonly ended: string | null
}

const NO_GROWTH: Growth = { turn: 0, last: 0, ended: null, answer: null, tools: 0, errors: 0, interrupted: 0 }

export class TurnGrowth {
  readonly #db: Database
  #growth: Growth | undefined

  constructor(db: Database) {
    this.#db = db
  }

  add(turn: number, { record, offset, length }: Line, effect: Effect): void {
    if (this.#growth?.turn !== turn) this.flush()
    const { answer, tools, errors, interrupted, last, ended } = this.#growth ?? NO_GROWTH
    this.#growth = {
      turn,
      last: Math.max(last, offset + length),
      ended: record.timestamp ?? ended,
      answer: effect.answer ?? answer,
      tools: tools + effect.tools,
      errors: errors + effect.errors,
      interrupted: Math.max(interrupted, effect.interrupted),
    }
  }

  flush(): void {
    if (this.#growth === undefined) return
    const { turn, last, ended, answer, tools, errors, interrupted } = this.#growth
    this.#growth = undefined
    this.#db
      .query(
        `UPDATE turns SET last = max(last, ?), ended = coalesce(?, ended), answer = coalesce(?, answer),
           tools = tools + ?, errors = errors + ?, interrupted = max(interrupted, ?) WHERE id = ?`,
      )
      .run(last, ended, answer, tools, errors, interrupted, turn)
  }
}

/* Tokens of the API's messages → rows of the views. */

export class UsageRows {
  readonly #db: Database
  readonly #session: string
  #last:
    | {
        readonly usage: Usage
        readonly turn: number
        readonly sidechain: boolean
        readonly time: string | undefined
      }
    | undefined

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  /**
   * Every line of a message repeats the counts; they are written once.
   *
   * @param modelOf says which model it was if the counts do not; then they are named within their session only
   */
  note(
    { usage: told, sidechain, timestamp: time }: TranscriptRecord,
    turn: number,
    modelOf: () => string,
  ): void {
    if (told === undefined) return
    const usage =
      told.model === ""
        ? { ...told, model: modelOf(), messageId: `${this.#session} ${told.messageId}` }
        : told
    const seen = this.#last
    if (seen?.usage.messageId === usage.messageId) {
      this.#last = { ...seen, usage: { ...usage, output: Math.max(usage.output, seen.usage.output) } }
      return
    }
    this.flush()
    this.#last = { usage, turn, sidechain, time }
  }

  flush(): void {
    if (this.#last === undefined) return
    const { usage, turn, sidechain, time } = this.#last
    this.#last = undefined
    this.#db
      .query(
        `INSERT INTO usage (session, message, turn, model, input, output, cache_creation, cache_read, sidechain,
             cache_hour, time, fast)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           model = excluded.model, input = excluded.input, output = max(output, excluded.output),
           cache_creation = excluded.cache_creation, cache_read = excluded.cache_read,
           cache_hour = excluded.cache_hour, fast = excluded.fast`,
      )
      .run(
        this.#session,
        usage.messageId,
        turn,
        usage.model,
        usage.input,
        usage.output,
        usage.cacheCreation,
        usage.cacheRead,
        sidechain ? 1 : 0,
        usage.cacheHour,
        time ?? null,
        usage.isFast === true ? 1 : 0,
      )
  }
}
