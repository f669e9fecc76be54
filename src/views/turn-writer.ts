/** Decoded lines of one transcript → turns, messages and what depends on them. */
import {
  type Foreign,
  isProse,
  messageOrigin,
  type Origin,
  originsOf,
  type Surroundings,
  withoutForgedWords,
} from "../agents/origin.ts"
import { isNotesSession } from "../base/session-id.ts"
import { cut } from "../base/text.ts"
import { searchable } from "../record/searchable.ts"
import type { Part, TranscriptRecord } from "../record/types.ts"
import { foreignIn, isFetchedCopy, isOthersCopy } from "../vault/layout.ts"
import type { Database } from "./database.ts"
import { type Effect, FactRows, type Line, noteResult, TurnGrowth, UsageRows } from "./fact-rows.ts"
import { hash, type Identity, identify, opensTurn, role } from "./identity.ts"
import { StatementRows } from "./statement-rows.ts"
import { followedBy, isSince, mayReplace, revive, TurnChain, takeBack, takeBackLast } from "./take-back.ts"
import { type At, findable, ToolRows } from "./tool-rows.ts"
import { SessionRows, type TranscriptRow } from "./transcript-rows.ts"
import type { WordWriter } from "./word-index.ts"

/** Most characters of a prompt or answer kept with its turn. The whole text is in the vault. */
const PROMPT_KEPT = 4000
const ANSWER_KEPT = 1200
/** ms that Claude Code waits for hooks. It dates a compaction's boundary after them, and a plugin's words before. */
const HOOKS_LAST = 10 * 60_000

/** What opens a turn. */
interface Opening {
  readonly via: string
  readonly text: string
  readonly origin: Origin
  /** The line that it follows. */
  readonly parent: string | undefined
}

/** What one agent asks of another looks like a prompt in that one's lines. */
const asBrief = (part: Part): Part => (part.kind === "prompt" ? { kind: "brief", text: part.text } : part)

const openingIn = (parts: readonly Part[]) => parts.find(opensTurn)

interface Speaker {
  readonly role: string
  readonly origin: Origin
  /** What kind of text its message is to a search. */
  readonly kind: string
}

/** Follows one transcript: keeps track of the open turn and the session. */
export class TurnWriter {
  readonly #db: Database
  readonly #transcript: TranscriptRow
  readonly #tools: ToolRows
  readonly #facts: FactRows
  readonly #statements: StatementRows
  readonly #words: WordWriter
  #turn: number | undefined
  readonly #session: string
  readonly #sessions: SessionRows
  readonly #usage: UsageRows
  readonly #growth: TurnGrowth
  #guest: boolean | undefined
  readonly #chain: TurnChain

  constructor(db: Database, transcript: TranscriptRow, words: WordWriter, dataHome: string) {
    this.#db = db
    this.#transcript = transcript
    this.#turn = transcript.turn ?? undefined
    this.#session = transcript.session
    this.#sessions = new SessionRows(db, transcript.session)
    this.#usage = new UsageRows(db, transcript.session)
    this.#tools = new ToolRows(db, transcript.session)
    this.#facts = new FactRows(db, transcript.session)
    this.#statements = new StatementRows(db, transcript.session, dataHome)
    this.#words = words
    this.#growth = new TurnGrowth(db)
    this.#chain = new TurnChain(db, transcript.session)
  }

  apply(line: Line): void {
    const { record } = line
    const isGuest = this.#isGuest()
    if (!isGuest) this.#sessions.note(record)
    if (record.result !== undefined) noteResult(this.#db, this.#transcript, line, record.result)
    for (const part of record.parts) {
      if (part.kind === "title" && !isGuest) this.#sessions.name(part.text, this.#titleOrigin(record))
    }
    if (this.#foreign(record) !== "other") this.#noteHistory(record)
    const spoken = record.parts.filter((part) => part.kind !== "title")
    const parts = withoutForgedWords(
      this.#isSpawned(record) ? spoken.map(asBrief) : spoken,
      (id) => this.#tools.nameOf(id),
      record.version,
    )
    // Without words, a fork's copy looks like a new line, so it opens no turn. The message's other lines bring its
    // usage.
    if (parts.length === 0 && (record.usage === undefined || this.#turn === undefined)) {
      this.#follow(record, this.#turn)
      return
    }
    const place = `${this.#session} ${record.timestamp ?? line.offset}`
    const identity = identify(record, parts, place, this.#isSubagent(), this.#session)
    if (this.#isConversations(identity)) return
    const known = this.#known(identity)
    if (known === null) this.#store(line, parts, identity)
    else this.#copied(known, record, parts)
  }

  /** What an agent writes down of turns that were undone, or said in another session before. */
  #noteHistory({ undone, forked, sessionId, spawned }: TranscriptRecord): void {
    if (undone !== undefined) {
      this.#growth.flush()
      this.#chain.flush()
      takeBackLast(this.#db, this.#session, this.#transcript.id, undone)
    }
    if (forked === undefined || sessionId !== this.#session || spawned !== undefined) return
    // Where it has a copy of what it shares with the other, or nobody knows that one, it shares no turn with it.
    this.#db
      .query(
        `INSERT INTO lineage (child, parent, kind, turn)
         SELECT ?1, ?2, 'fork', coalesce(max(id), 0) FROM turns WHERE session = ?2 AND first < ?3
         ON CONFLICT DO NOTHING`,
      )
      .run(this.#session, forked.from, forked.upTo ?? 0)
  }

  /** Of a line that is otherwise passed over: what becomes of tasks in it. */
  skim({ sidechain, parts }: TranscriptRecord): void {
    if (!sidechain && !this.#isSubagent()) for (const part of parts) this.#tools.tasks(part)
  }

  /** Notes the turn that a line opens. What others' copies have is no line that the user's own turns end in. */
  #begin(record: TranscriptRecord, turn: number): void {
    if (!isOthersCopy(this.#transcript.copy)) this.#chain.add(record, turn)
  }

  /** Notes which turn a line belongs to by what it follows, wherever it was written. */
  #follow(record: TranscriptRecord, written: number | undefined): void {
    if (isOthersCopy(this.#transcript.copy)) return
    const turn = this.#chain.turnBefore(record) ?? (record.sidechain ? undefined : written)
    if (turn !== undefined) this.#chain.add(record, turn)
  }

  /**
   * Brings back turns that only seemed to be taken back: what continues one of them is said in another window on the
   * same session. What Claude Code was still writing when the user went back is older than what came then.
   */
  #revive(record: TranscriptRecord, parts: readonly Part[]): void {
    const before = this.#chain.isNext(record) ? undefined : this.#chain.turnBefore(record)
    if (before === undefined || before === this.#turn || record.sidechain) return
    const isSaid = parts.some(({ kind }) => kind === "text" || kind === "toolUse")
    if (!mayReplace(record, parts) && !(isSaid && isSince(this.#db, this.#turn, record))) return
    this.#chain.flush()
    revive(this.#db, this.#session, before)
  }

  /**
   * @param indexed offset up to which lines have been applied
   * @param damaged how many of them were no JSON objects, and how many whole records those had in them
   */
  finish(indexed: number, damaged: { readonly lines: number; readonly rescued: number }): void {
    this.#growth.flush()
    this.#chain.flush()
    this.#usage.flush()
    this.#facts.flush()
    this.#tools.flush()
    this.#db
      .query(
        `UPDATE transcripts SET indexed = ?, turn = ?, malformed = malformed + ?, rescued = rescued + ?
         WHERE id = ?`,
      )
      .run(indexed, this.#turn ?? null, damaged.lines, damaged.rescued, this.#transcript.id)
    this.#sessions.flush()
  }

  /** A line that is already known: a fork's copy, or the same file read again. */
  #copied(known: { turn: number; session: string }, record: TranscriptRecord, parts: readonly Part[]): void {
    if (known.session === this.#session) {
      this.#turn = this.#mayContinue(known.turn) ? known.turn : undefined
      // A prompt follows another turn's line, and began its own.
      if (this.#turn !== undefined && this.#opening(record, parts) !== undefined)
        this.#begin(record, this.#turn)
      else this.#follow(record, this.#turn)
      return
    }
    if (!(record.sidechain || this.#isSubagent() || this.#foreign(record) !== undefined))
      for (const part of parts) this.#tools.tasks(part)
    this.#turn = undefined
    this.#db
      .query(
        `INSERT INTO lineage (child, parent, kind, turn) VALUES (?, ?, 'fork', ?)
         ON CONFLICT DO UPDATE SET turn = max(turn, excluded.turn)`,
      )
      .run(this.#session, known.session, known.turn)
  }

  /** Whether a line of a subagent's transcript is already known as one of the conversation itself. */
  #isConversations({ original }: Identity): boolean {
    if (original === undefined) return false
    return this.#db.query("SELECT 1 FROM messages WHERE key = ?").get(original) !== null
  }

  #known({ key, alias }: Identity): { turn: number; session: string } | null {
    return this.#db
      .query<{ turn: number; session: string }, [bigint, string, bigint | null]>(
        `SELECT turn, session FROM messages WHERE key = ?
         UNION ALL SELECT turn, session FROM messages WHERE session = ? AND alias = ? LIMIT 1`,
      )
      .get(key, this.#session, alias ?? null)
  }

  #toolOf(part: Part): string | undefined {
    if (part.kind === "toolUse") return part.name
    return part.kind === "toolResult" ? this.#tools.nameOf(part.id) : undefined
  }

  #opening(record: TranscriptRecord, parts: readonly Part[]): ReturnType<typeof openingIn> {
    return record.sidechain && !this.#isSubagent() ? undefined : openingIn(parts)
  }

  #isSubagent(): boolean {
    return this.#session.includes("/")
  }

  /** Whether it is a subagent's that has a session of its own. */
  #isSpawned({ program }: TranscriptRecord): boolean {
    return program !== undefined && !this.#isSubagent() && this.#sessions.isSpawned()
  }

  #foreign(record: TranscriptRecord): Foreign | undefined {
    return foreignIn(this.#transcript.copy, record.imported)
  }

  /** Whether somebody else's copy is of a session that the user has, too: it has no say in what that is called. */
  #isGuest(): boolean {
    this.#guest ??=
      isOthersCopy(this.#transcript.copy) &&
      (this.#db.query("SELECT 1 FROM sessions WHERE id = ? AND prompts_only = 1").get(this.#session) !==
        null ||
        this.#db
          .query<{ copy: string }, [string]>("SELECT copy FROM transcripts WHERE session = ?")
          .all(this.#session)
          .some(({ copy }) => !isOthersCopy(copy)))
    return this.#guest
  }

  /** What others have added to a session must not become a part of a turn of the user's own. */
  #mayContinue(turn: number): boolean {
    if (!isOthersCopy(this.#transcript.copy)) return true
    const row = this.#db
      .query<{ copy: string }, [number]>(
        "SELECT copy FROM turns t JOIN transcripts x ON x.id = t.transcript WHERE t.id = ?",
      )
      .get(turn)
    return row !== null && isOthersCopy(row.copy)
  }

  #mirror(): number | undefined {
    return isFetchedCopy(this.#transcript.copy) ? this.#transcript.id : undefined
  }

  #titleOrigin(record: TranscriptRecord): Origin {
    const foreign = this.#foreign(record)
    if (foreign !== undefined) return foreign
    return record.type === "custom-title" ? "human" : "host"
  }

  #surroundings(record: TranscriptRecord): Surroundings {
    return {
      foreign: this.#foreign(record),
      subagent: record.sidechain || this.#isSubagent() || this.#isSpawned(record),
      toolName: (id) => this.#tools.nameOf(id),
    }
  }

  #store(line: Line, parts: readonly Part[], { key, alias }: Identity): void {
    const { record } = line
    const injected = this.#isInjected(record, parts)
    const opening = injected ? undefined : this.#opening(record, parts)
    const origins = originsOf(parts, this.#surroundings(record))
    const foreign = this.#foreign(record)
    if (foreign !== "other") this.#revive(record, parts)
    if (foreign !== "other" && mayReplace(record, parts)) {
      // Everything the lines before it add to their turn must be written first.
      this.#growth.flush()
      this.#chain.flush()
      takeBack(this.#db, this.#session, record, parts, this.#mirror())
    }
    if (opening !== undefined) {
      // Whatever its line says, no human speaks in a subagent's transcript.
      const via = opening.kind === "prompt" && !this.#isSubagent() ? opening.via : "brief"
      const isNote = isNotesSession(this.#session)
      const parent = via === "brief" && !isNote ? undefined : followedBy(record, parts)
      this.#open(line, { via, text: opening.text, origin: origins[parts.indexOf(opening)]!, parent }, key)
      takeFromQueue(this.#db, this.#words, this.#session, opening.text)
    } else if (this.#turn === undefined)
      this.#open(line, { via: "none", text: "", origin: foreign ?? "host", parent: undefined }, key)
    const turn = this.#turn!
    if (opening !== undefined) this.#begin(record, turn)
    else this.#follow(record, turn)
    const speaker = injected ? "host" : isNotesSession(this.#session) ? "assistant" : role(parts)
    const said = searchable(
      findable(parts, (part) => this.#toolOf(part)),
      speaker,
      injected,
    )
    const message =
      parts.length === 0
        ? 0
        : this.#message(
            line,
            turn,
            { key, alias: alias ?? queuedAlias(parts) },
            { role: speaker, origin: injected ? "host" : messageOrigin(origins), kind: said.kind },
          )
    const isSaid = !injected && !record.sidechain && (said.kind === "prompt" || said.kind === "answer")
    const effect: Effect = { answer: null, tools: 0, errors: 0, interrupted: 0 }
    const main = !record.sidechain || this.#isSubagent()
    const { sidechain, version } = record
    const at = { turn, message, sidechain, main, foreign, version }
    for (const [n, part] of parts.entries()) this.#project(part, origins[n]!, line, at, effect)
    if (effect.errors > 0 && said.kind === "result")
      this.#db.query("UPDATE messages SET kind = 'failure' WHERE id = ?").run(message)
    if (main && !injected && !this.#isSpawned(record)) {
      const toolOf = (part: Part) => this.#toolOf(part)
      this.#facts.note(parts, origins, at, toolOf, (id) => this.#tools.showsText(id))
    }
    if (message !== 0) {
      this.#words.add(message, said.text, {
        project: this.#sessions.project(),
        session: this.#session,
        role: speaker,
        tools: parts.flatMap((part) => this.#toolOf(part) ?? []),
        isError: effect.errors > 0 || effect.tellsError === true,
        isSaid: isSaid && isProse(messageOrigin(origins)),
        time: record.timestamp,
      })
    }
    this.#usage.note(record, turn, () => this.#sessions.model())
    this.#growth.add(turn, line, effect)
  }

  /** Avoids RETURNING, for which SQLite creates a temporary table that costs more than the row. */
  #message(
    { record, offset, length }: Line,
    turn: number,
    { key, alias }: Pick<Identity, "key" | "alias">,
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

  /**
   * Whether a plugin that answered a compaction put these words in place of the conversation: an unmarked user line,
   * written after the boundary but dated before it (seen in 2.1.329). A human's prompt looks like that only where a
   * fork copied what the plugin kept, and then its line says where it came from.
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

  #open(line: Line, { via, text: prompt, origin, parent }: Opening, key: bigint): void {
    const row = this.#db
      .query<unknown, (string | number | null)[]>(
        `INSERT INTO turns (handle, session, seq, via, prompt, started, uuid, parent, transcript, first, last, origin, todos)
         VALUES (?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM turns WHERE session = ?2), ?, ?, ?, ?, ?, ?, ?, ?, ?,
           (SELECT nullif(todos, '[]') FROM sessions WHERE id = ?2))`,
      )
      .run(
        turnHandle(this.#db, key),
        this.#session,
        via,
        cut(prompt, PROMPT_KEPT),
        line.record.timestamp ?? null,
        line.record.uuid ?? null,
        parent ?? null,
        this.#transcript.id,
        line.offset,
        line.offset + line.length,
        origin,
      )
    this.#turn = Number(row.lastInsertRowid)
    if (via === "none" || via === "brief") return
    this.#statements.prompted(prompt, { turn: this.#turn, origin, offset: line.offset })
  }

  #project(part: Part, origin: Origin, line: Line, at: At, effect: Effect): void {
    switch (part.kind) {
      case "text":
        if (!at.main) return
        effect.answer = cut(part.text, ANSWER_KEPT)
        this.#statements.answered(part.text, at.message, { turn: at.turn, origin, offset: line.offset })
        return
      case "reply":
        if (at.main) this.#statements.replied(part, { turn: at.turn, origin, offset: line.offset })
        return
      case "toolUse":
        effect.tools++
        this.#tools.use(part, at)
        return
      case "toolResult":
        switch (this.#tools.result(part, at)) {
          case "failed":
            effect.errors++
            return
          case "tells":
            effect.tellsError = true
        }
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
            line.record.timestamp ?? null,
          )
        return
    }
  }
}

/*
 * Prompts in Claude Code's queue. It writes most of them twice: when they are put there, in the turn before, and when
 * they are taken out. Then only the latter are searched, or a prompt would be found with the answer to another.
 */

const aliasOf = (text: string): bigint => hash("queued", text)

/** The alias of a line that puts a prompt into the queue; undefined for any other. */
function queuedAlias(parts: readonly Part[]): bigint | undefined {
  const queued = parts.find((part) => part.kind === "enqueued")
  return queued && aliasOf(queued.text)
}

/** Call when a prompt has been taken out. */
function takeFromQueue(db: Database, words: WordWriter, session: string, prompt: string): void {
  const alias = aliasOf(prompt)
  const rows = db
    .query<{ id: number }, [bigint, string]>("SELECT id FROM messages WHERE alias = ? AND session = ?")
    .all(alias, session)
  if (rows.length === 0) return
  for (const { id } of rows) words.empty(id)
  db.query("UPDATE messages SET alias = NULL WHERE alias = ? AND session = ?").run(alias, session)
}

/* Short names of turns, `ctx:ab12cd`, with which a model or a person opens one again. */

/** Crockford's base 32, without letters that look like digits. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
const SHORTEST = 6

function base32(key: bigint): string {
  let rest = BigInt.asUintN(64, key)
  let text = ""
  for (let n = 0; n < 13; n++) {
    text += ALPHABET[Number(rest & 31n)]
    rest >>= 5n
  }
  return text
}

/** The shortest unused prefix of the turn's hash, at least six letters, so the same turn gets the same handle again. */
function turnHandle(db: Database, key: bigint): string {
  const full = base32(key)
  for (let length = SHORTEST; ; length++) {
    // Turns without a message of their own may share a hash; a number then tells them apart.
    const handle = length <= full.length ? full.slice(0, length) : `${full}${length - full.length + 1}`
    const taken = db.query<{ id: number }, [string]>("SELECT id FROM turns WHERE handle = ?").get(handle)
    if (taken === null) return handle
  }
}
