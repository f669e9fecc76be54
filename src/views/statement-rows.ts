/** Sentences of the human and the model that are worth keeping → rows of `notes`. */
import { decodeLine } from "../agents/agents.ts"
import { isProse, type Origin, withoutPlan } from "../agents/origin.ts"
import {
  answersInReply,
  constraintsIn,
  decisionsIn,
  refutedIn,
  rulesInReply,
} from "../record/noted-sentences.ts"
import type { Part } from "../record/types.ts"
import type { Database } from "./database.ts"
import type { LinePlace } from "./queries/messages.ts"
import { ArchivedLines, LONGEST_LINE } from "./records.ts"

/** Where sentences are said. */
interface Place {
  readonly turn: number
  readonly origin: Origin
  /** Of the line, in bytes. */
  readonly offset: number
}

export class StatementRows {
  readonly #db: Database
  readonly #session: string
  readonly #dataHome: string

  constructor(db: Database, session: string, dataHome: string) {
    this.#db = db
    this.#session = session
    this.#dataHome = dataHome
  }

  /** Call before messages of the prompt's turn are stored. */
  prompted(prompt: string, place: Place): void {
    if (place.origin !== "human") return
    const words = withoutPlan(prompt)
    this.#add("constraint", constraintsIn(words), place)
    this.#add(
      "decision",
      decisionsIn(words, "human", () => this.#saidBefore(place.turn)),
      place,
    )
  }

  /** @param message id of that which says it */
  answered(answer: string, message: number, place: Place): void {
    if (!isProse(place.origin)) return
    let said: readonly string[] | undefined
    const before = () => (said ??= this.#saidBefore(place.turn, message))
    const decisions = decisionsIn(answer, "model", before)
    const own = decisions.filter((text) => !this.#isChosenBefore(text, place.turn))
    this.#add("decision", own, place)
    this.#add("refuted", refutedIn(answer, before), place)
  }

  replied(reply: Extract<Part, { readonly kind: "reply" }>, place: Place): void {
    if (place.origin !== "human") return
    this.#add("constraint", rulesInReply(reply), place)
    this.#add("answer", answersInReply(reply), place)
  }

  /** Whether the human chose the same option in the prompt: saying it again decides nothing. */
  #isChosenBefore(text: string, turn: number): boolean {
    const option = / \(option [^:]+: .*\)$/.exec(text)?.[0]
    if (option === undefined) return false
    const chosen = `SELECT 1 FROM notes WHERE session = ?1 AND turn = ?2 AND kind = 'decision' AND origin = 'human'
      AND substr(text, -length(?3)) = ?3`
    return this.#db.query(chosen).get(this.#session, turn, option) !== null
  }

  /** A sentence said again in the same turn counts where it was said last. */
  #add(kind: string, texts: readonly string[], { turn, origin, offset }: Place): void {
    const query = this.#db.query(
      `INSERT INTO notes (session, kind, turn, text, origin, place) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET place = excluded.place`,
    )
    for (const [n, text] of texts.entries()) query.run(this.#session, kind, turn, text, origin, offset + n)
  }

  /**
   * What the model said in the turns before, newest first, and with the latest of these what it said in this one. Read
   * only for a choice that names no more than an option's label, wherever indexing began: nothing is kept for it.
   */
  #saidBefore(turn: number, message = Number.MAX_SAFE_INTEGER): string[] {
    const own = this.#linesOf(this.#session, turn, message)
    const lines = own.some((line) => line.turn !== turn) ? own : [...own, ...this.#linesOfOrigin()]
    const texts = new Map<number, string[]>()
    // The vault has a line before it is indexed.
    using archived = new ArchivedLines(this.#dataHome)
    const latest = lines.find((line) => line.turn !== turn)?.turn ?? turn
    for (const line of lines) {
      const said = decodeLine(archived.at(line)).parts.flatMap((part) =>
        part.kind === "text" ? [part.text] : [],
      )
      const before = line.turn === turn ? latest : line.turn
      texts.set(before, [...said, ...(texts.get(before) ?? [])])
    }
    return [...texts.values()].slice(0, TURNS_BEFORE).map((said) => said.join("\n\n"))
  }

  /** A fork continues what was said in the session that it came from. */
  #linesOfOrigin(): SaidLine[] {
    const from = this.#db
      .query<{ parent: string; turn: number }, [string]>(
        "SELECT parent, turn FROM lineage WHERE child = ? AND kind = 'fork' AND turn IS NOT NULL ORDER BY turn DESC LIMIT 1",
      )
      .get(this.#session)
    return from === null ? [] : this.#linesOf(from.parent, from.turn, Number.MAX_SAFE_INTEGER)
  }

  /** Lines with words of the model, newest first. */
  #linesOf(session: string, turn: number, message: number): SaidLine[] {
    return this.#db
      .query<SaidLine, [string, number, number, number, number, number]>(
        `SELECT m.turn, x.copy, m.offset, m.length FROM messages m JOIN transcripts x ON x.id = m.transcript
         WHERE m.turn IN (SELECT id FROM turns WHERE session = ? AND id <= ? AND taken_back = 0
             ORDER BY seq DESC LIMIT ?)
           AND m.kind = 'answer' AND m.origin = 'assistant' AND m.sidechain = 0 AND m.id < ? AND m.length < ?
         ORDER BY m.id DESC LIMIT ?`,
      )
      .all(session, turn, TURNS_LOOKED_AT, message, LONGEST_LINE, LINES_LOOKED_AT)
  }
}

interface SaidLine extends LinePlace {
  readonly turn: number
}

/** Turns in which the model said something. */
const TURNS_BEFORE = 3
/** Commands are turns as well, to which it says nothing. */
const TURNS_LOOKED_AT = 10
const LINES_LOOKED_AT = 40
