/** Decoded lines of one transcript → turns, messages and what hangs on them. */
import { constraintsIn, decisionsIn, refutedIn } from "../transcript/extract.ts"
import {
  isProse,
  messageOrigin,
  type Origin,
  originsOf,
  type Surroundings,
  withoutForgedRefusals,
} from "../transcript/origin.ts"
import { searchable } from "../transcript/searchable.ts"
import type { Part, TranscriptRecord, Usage } from "../transcript/types.ts"
import { cut } from "../util/text.ts"
import { isImportedCopy } from "../vault/layout.ts"
import type { Database } from "./database.ts"
import { FactRows } from "./fact-rows.ts"
import { turnHandle } from "./handle.ts"
import { type Identity, identify, opensTurn, role } from "./identity.ts"
import { projectOf } from "./project.ts"
import { type At, isOwnTool, ToolRows } from "./tool-rows.ts"
import type { TranscriptRow } from "./transcripts.ts"
import { WordWriter } from "./word-index.ts"

/** Characters of a prompt or answer kept beside its turn. The whole text is in the vault. */
const PROMPT_KEPT = 4000
const ANSWER_KEPT = 1200
/** ms for which the host waits for hooks. It dates a compaction's boundary after them, and a plugin's words before. */
const HOOKS_LAST = 10 * 60_000

/** One line, where it stands. Offset and length in bytes, without its newline. */
export interface Line {
  readonly record: TranscriptRecord
  readonly offset: number
  readonly length: number
}

/** What opens a turn. */
interface Opening {
  readonly via: string
  readonly text: string
  readonly origin: Origin
}

interface Speaker {
  readonly role: string
  readonly origin: Origin
  /** What its message is to a search. */
  readonly kind: string
}

/** What a line adds to its turn. */
interface Effect {
  answer: string | null
  tools: number
  errors: number
  interrupted: number
}

/** What the lines since the last flush add to their turn. */
interface Growth extends Readonly<Effect> {
  readonly turn: number
  readonly last: number
  readonly ended: string | null
}

const NO_GROWTH: Growth = { turn: 0, last: 0, ended: null, answer: null, tools: 0, errors: 0, interrupted: 0 }

/** Follows one transcript: which turn is open, which session it belongs to. */
export class TurnWriter {
  readonly #db: Database
  readonly #transcript: TranscriptRow
  readonly #tools: ToolRows
  readonly #facts: FactRows
  readonly #words: WordWriter
  #turn: number | undefined
  readonly #session: string
  #sessionKnown = false
  #projectId: number | undefined
  #seenVersion: string | undefined
  #branch: string | undefined
  #lastTime: string | undefined
  #title: { readonly text: string; readonly origin: Origin } | undefined
  #growth: Growth | undefined
  #usage: { readonly usage: Usage; readonly turn: number; readonly sidechain: boolean } | undefined

  constructor(db: Database, transcript: TranscriptRow) {
    this.#db = db
    this.#transcript = transcript
    this.#turn = transcript.turn ?? undefined
    this.#session = transcript.session
    this.#tools = new ToolRows(db, transcript.session)
    this.#facts = new FactRows(db, transcript.session)
    this.#words = new WordWriter(db)
  }

  apply(line: Line): void {
    const { record } = line
    this.#noteSession(record)
    for (const part of record.parts) {
      if (part.kind === "title") this.#title = { text: part.text, origin: this.#titleOrigin(record) }
    }
    const spoken = record.parts.filter((part) => part.kind !== "title")
    const parts = withoutForgedRefusals(spoken, (id) => this.#tools.nameOf(id))
    if (parts.length === 0 && record.usage === undefined) return
    const place = `${this.#session} ${record.timestamp ?? line.offset}`
    const identity = identify(record, parts, place, this.#isSubagent())
    const known = this.#known(identity)
    if (known === null) this.#store(line, parts, identity)
    else this.#copied(known)
  }

  finish(indexed: number): void {
    this.#flush()
    this.#flushUsage()
    this.#words.flush()
    this.#db
      .query("UPDATE transcripts SET indexed = ?, turn = ? WHERE id = ?")
      .run(indexed, this.#turn ?? null, this.#transcript.id)
    const seen = [this.#lastTime, this.#title?.text, this.#title?.origin, this.#seenVersion, this.#branch]
    if (seen.every((value) => value === undefined)) return
    this.#db
      .query(
        `UPDATE sessions SET ended = coalesce(?, ended), title = coalesce(?, title),
           title_origin = coalesce(?, title_origin), version = coalesce(?, version), branch = coalesce(?, branch) WHERE id = ?`,
      )
      .run(...seen.map((value) => value ?? null), this.#session)
  }

  #noteSession(record: TranscriptRecord): void {
    if (record.timestamp !== undefined) this.#lastTime = record.timestamp
    if (record.version !== undefined) this.#seenVersion = record.version
    if (record.gitBranch !== undefined) this.#branch = record.gitBranch
    if (this.#sessionKnown || (record.cwd === undefined && record.parts.length === 0)) return
    this.#sessionKnown = record.cwd !== undefined
    // Once it has a project, a session stays there, wherever it goes on.
    const project =
      this.#ownProject() ?? (record.cwd === undefined ? null : projectId(this.#db, projectOf(record.cwd)))
    const [parent, agent] = splitSession(this.#session)
    this.#db
      .query(
        `INSERT INTO sessions (id, project, parent, agent, cwd, branch, version, started) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET project = coalesce(project, excluded.project), cwd = coalesce(cwd, excluded.cwd),
           started = coalesce(started, excluded.started)`,
      )
      .run(
        this.#session,
        project,
        parent ?? null,
        agent ?? null,
        record.cwd ?? null,
        record.gitBranch ?? null,
        record.version ?? null,
        record.timestamp ?? null,
      )
  }

  /** A line that is known already: a fork's copy, or the same file read again. */
  #copied(known: { turn: number; session: string }): void {
    if (known.session === this.#session) {
      this.#turn = known.turn
      return
    }
    this.#turn = undefined
    this.#db
      .query(
        `INSERT INTO lineage (child, parent, kind, turn) VALUES (?, ?, 'fork', ?)
         ON CONFLICT DO UPDATE SET turn = max(turn, excluded.turn)`,
      )
      .run(this.#session, known.session, known.turn)
  }

  #known({ key, alias }: Identity): { turn: number; session: string } | null {
    return this.#db
      .query<{ turn: number; session: string }, [bigint, string, bigint | null]>(
        `SELECT turn, session FROM messages WHERE key = ?
         UNION ALL SELECT turn, session FROM messages WHERE session = ? AND alias = ? LIMIT 1`,
      )
      .get(key, this.#session, alias ?? null)
  }

  #ownProject(): number | undefined {
    this.#projectId ??=
      this.#db
        .query<{ project: number | null }, [string]>("SELECT project FROM sessions WHERE id = ?")
        .get(this.#session)?.project ?? undefined
    return this.#projectId
  }

  #toolOf(part: Part): string | undefined {
    if (part.kind === "toolUse") return part.name
    return part.kind === "toolResult" ? this.#tools.nameOf(part.id) : undefined
  }

  #isSubagent(): boolean {
    return this.#session.includes("/")
  }

  #isImported(record: TranscriptRecord): boolean {
    return record.imported === true || isImportedCopy(this.#transcript.copy)
  }

  #titleOrigin(record: TranscriptRecord): Origin {
    if (this.#isImported(record)) return "import"
    return record.type === "custom-title" ? "human" : "host"
  }

  #surroundings(record: TranscriptRecord): Surroundings {
    return {
      imported: this.#isImported(record),
      subagent: record.sidechain || this.#isSubagent(),
      toolName: (id) => this.#tools.nameOf(id),
    }
  }

  #store(line: Line, parts: readonly Part[], { key, alias }: Identity): void {
    const { record } = line
    const injected = this.#isInjected(record, parts)
    const opening = (record.sidechain && !this.#isSubagent()) || injected ? undefined : parts.find(opensTurn)
    const origins = originsOf(parts, this.#surroundings(record))
    if (opening !== undefined) {
      // Whatever its line says: in a subagent's transcript no human speaks.
      const via = opening.kind === "prompt" && !this.#isSubagent() ? opening.via : "brief"
      this.#open(line, { via, text: opening.text, origin: origins[parts.indexOf(opening)]! }, key)
    } else if (this.#turn === undefined) this.#open(line, { via: "none", text: "", origin: "host" }, key)
    const turn = this.#turn!
    const said = searchable(
      parts.filter((part) => !isOwnTool(this.#toolOf(part))),
      injected,
    )
    const speaker = injected ? "host" : role(parts)
    const message =
      parts.length === 0
        ? 0
        : this.#message(
            line,
            turn,
            { key, alias },
            { role: speaker, origin: injected ? "host" : messageOrigin(origins), kind: said.kind },
          )
    const isSaid = !injected && !record.sidechain && (said.kind === "prompt" || said.kind === "answer")
    const effect: Effect = { answer: null, tools: 0, errors: 0, interrupted: 0 }
    const main = !record.sidechain || this.#isSubagent()
    const imported = this.#isImported(record)
    const at = { turn, message, sidechain: record.sidechain, main, imported }
    for (const [n, part] of parts.entries()) this.#project(part, origins[n]!, record, at, effect)
    if (main && !injected) this.#facts.note(parts, origins, at, (part) => this.#toolOf(part))
    if (message !== 0) {
      this.#words.add(message, said.text, {
        project: this.#ownProject(),
        session: this.#session,
        role: speaker,
        tools: parts.flatMap((part) => this.#toolOf(part) ?? []),
        isError: effect.errors > 0,
        isSaid: isSaid && isProse(messageOrigin(origins)),
        time: record.timestamp,
      })
    }
    this.#noteUsage(record, turn)
    this.#grow(turn, line, effect)
  }

  /** Not by RETURNING, for which SQLite makes a table of its own: that costs more than the row. */
  #message(
    { record, offset, length }: Line,
    turn: number,
    { key, alias }: Identity,
    speaker: Speaker,
  ): number {
    const { lastInsertRowid } = this.#db
      .query<unknown, (string | number | bigint | null)[]>(
        `INSERT INTO messages (key, alias, session, turn, transcript, offset, length, role, sidechain, time, origin,
           kind) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        key,
        alias ?? null,
        this.#session,
        turn,
        this.#transcript.id,
        offset,
        length,
        speaker.role,
        record.sidechain ? 1 : 0,
        record.timestamp ?? null,
        speaker.origin,
        speaker.kind,
      )
    return Number(lastInsertRowid)
  }

  /** Many lines make a turn: what they add to it is written when they are all there. */
  #grow(turn: number, { record, offset, length }: Line, effect: Effect): void {
    if (this.#growth?.turn !== turn) this.#flush()
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

  #flush(): void {
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

  /**
   * Whether a plugin that answered a compaction put these words in place of the conversation: a user line with
   * nothing to mark it, written behind the boundary but dated before it (seen in 2.1.329). Humans' prompts are so only
   * where a fork took what the plugin kept, and their lines say where they came from.
   */
  #isInjected(record: TranscriptRecord, parts: readonly Part[]): boolean {
    const [part] = parts
    if (part?.kind !== "prompt" || part.via !== "typed") return false
    if (record.timestamp === undefined || record.promptSource !== undefined) return false
    const row = this.#db
      .query<{ time: string | null }, [number]>(
        "SELECT time FROM boundaries WHERE transcript = ? ORDER BY offset DESC LIMIT 1",
      )
      .get(this.#transcript.id)
    const before = Date.parse(row?.time ?? "") - Date.parse(record.timestamp)
    return before >= 0 && before < HOOKS_LAST
  }

  #open(line: Line, { via, text: prompt, origin }: Opening, key: bigint): void {
    const row = this.#db
      .query<unknown, (string | number | null)[]>(
        `INSERT INTO turns (handle, session, seq, via, prompt, started, uuid, transcript, first, last, origin)
         VALUES (?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM turns WHERE session = ?2), ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        turnHandle(this.#db, key),
        this.#session,
        via,
        cut(prompt, PROMPT_KEPT),
        line.record.timestamp ?? null,
        line.record.uuid ?? null,
        this.#transcript.id,
        line.offset,
        line.offset + line.length,
        origin,
      )
    this.#turn = Number(row.lastInsertRowid)
    if (via === "none" || via === "brief" || origin !== "human") return
    for (const text of constraintsIn(prompt)) this.#note("constraint", text, origin)
  }

  #note(kind: string, text: string, origin: Origin): void {
    this.#db
      .query("INSERT OR IGNORE INTO notes (session, kind, turn, text, origin) VALUES (?, ?, ?, ?, ?)")
      .run(this.#session, kind, this.#turn!, text, origin)
  }

  #project(part: Part, origin: Origin, record: TranscriptRecord, at: At, effect: Effect): void {
    switch (part.kind) {
      case "text":
        if (!at.main) return
        effect.answer = cut(part.text, ANSWER_KEPT)
        if (!isProse(origin)) return
        for (const text of decisionsIn(part.text)) this.#note("decision", text, origin)
        for (const text of refutedIn(part.text)) this.#note("refuted", text, origin)
        return
      case "toolUse":
        effect.tools++
        this.#tools.use(part, at)
        return
      case "toolResult":
        if (part.isError) effect.errors++
        this.#tools.result(part, at)
        return
      case "interrupt":
        effect.interrupted = 1
        return
      case "apiError":
        effect.errors++
        return
      case "boundary":
        this.#db
          .query(
            "INSERT OR IGNORE INTO boundaries VALUES (?, (SELECT offset FROM messages WHERE id = ?), ?, ?, ?, ?)",
          )
          .run(
            this.#transcript.id,
            at.message,
            this.#session,
            part.trigger,
            part.preTokens ?? null,
            record.timestamp ?? null,
          )
        return
    }
  }

  /** The counts stand on each line of a message: they are written once. */
  #noteUsage({ usage, sidechain }: TranscriptRecord, turn: number): void {
    if (usage === undefined) return
    const seen = this.#usage
    if (seen?.usage.messageId === usage.messageId) {
      this.#usage = { ...seen, usage: { ...usage, output: Math.max(usage.output, seen.usage.output) } }
      return
    }
    this.#flushUsage()
    this.#usage = { usage, turn, sidechain }
  }

  #flushUsage(): void {
    if (this.#usage === undefined) return
    const { usage, turn, sidechain } = this.#usage
    this.#usage = undefined
    this.#db
      .query(
        `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           model = excluded.model, input = excluded.input, output = max(output, excluded.output),
           cache_creation = excluded.cache_creation, cache_read = excluded.cache_read`,
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
      )
  }
}

function splitSession(session: string): [parent: string | undefined, agent: string | undefined] {
  const slash = session.indexOf("/")
  return slash < 0 ? [undefined, undefined] : [session.slice(0, slash), session.slice(slash + 1)]
}

export function projectId(db: Database, path: string): number {
  const row = db
    .query<{ id: number }, [string]>(
      "INSERT INTO projects (path) VALUES (?) ON CONFLICT DO UPDATE SET path = path RETURNING id",
    )
    .get(path)
  return row!.id
}
