/**
 * Searches the vault itself, for `search --cold`: line by line, newest first, for what the index lacks or cannot find.
 * Slow (about a second for 500 MB of transcripts), but in bounded memory: one frame at a time.
 */

import { type RecordInLine, recordsIn } from "../agents/decode.ts"
import { withoutForgedWords } from "../agents/origin.ts"
import { recordAt } from "../archive/beside-rows.ts"
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { identify, role } from "../archive/identity.ts"
import { projectOf } from "../archive/project.ts"
import { pathNamed } from "../archive/queries/condition.ts"
import { turnsTouching } from "../archive/queries/touched-files.ts"
import { copiesWithCold } from "../archive/queries/turn-ages.ts"
import { type TurnOfLine, turnOfFile, turnOfLine } from "../archive/queries/turns.ts"
import { takenBackOf } from "../archive/taken-back-mark.ts"
import { toolNameOf, toolsIn } from "../archive/tool-name.ts"
import { mark } from "../archive/word-index.ts"
import type { TranscriptRecord } from "../transcript/types.ts"
import { NEWLINE } from "../util/byte-lines.ts"
import { compileAsUsual } from "../util/compiling.ts"
import { cut } from "../util/text.ts"
import { wordSet } from "../util/words.ts"
import { isBesideCopy } from "../vault/layout.ts"
import { stretchesBackwards, stretchesFrom } from "../vault/reader.ts"
import { type ColdCopy, coldCopies } from "./cold-copies.ts"
import { type Sieve, sieveFor, wholeText } from "./cold-text.ts"
import { hasWord } from "./fts-expression.ts"
import type { Hit } from "./hit.ts"
import type { Narrowing } from "./narrowing.ts"
import { parseQuery, partsAsked, type Query, type Term } from "./parse-query.ts"
import { type Sought, snippetOf, soughtBy } from "./snippet.ts"
import { wordToldOf } from "./whole-names.ts"

export interface ColdHit extends Omit<Hit, "handle" | "seq" | "score"> {
  readonly cold: true
  /** With `ctx:`. Null when the views do not know the line; `line` then says where it is. */
  readonly handle: string | null
  readonly seq: number | null
  /** Line number in the transcript, from 1. Null when there is a handle to open it by. */
  readonly line: number | null
}

export interface ColdRequest extends Narrowing {
  readonly query: string
  readonly limit: number
  /** Turns that the index has already found; they are not reported again. */
  readonly found: ReadonlySet<number>
  /** The words that hits are told to have, if not those of the query. */
  readonly terms?: readonly Term[]
  /** Only in turns that are out of the index. */
  readonly onlyCold?: boolean
  /** Asked before each stretch of a copy: true ends the search. */
  readonly isOver?: () => boolean
  /** Called with the bytes of the vault searched so far. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface ColdFound {
  readonly hits: readonly ColdHit[]
  /** Whether the search stopped because it had enough hits. */
  readonly more: boolean
  /** Whether it was ended before it had seen everything. */
  readonly isCut: boolean
  /** Copies that could not be read completely. */
  readonly unreadable: number
}

const SHOWN = 400

export function searchVault(db: Database, dataHome: string, request: ColdRequest): ColdFound {
  compileAsUsual()
  const query = parseQuery(request.query)
  const sieve = sieveFor(query)
  if (sieve === undefined) return { hits: [], more: false, isCut: false, unreadable: 0 }
  const scan = new Scan(db, request, query, sieve)
  const copies = coldCopies(db, dataHome, request, request.onlyCold ? copiesWithCold(db) : undefined)
  const total = copies.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  let unreadable = 0
  for (const copy of copies) {
    try {
      for (const { from, content } of stretchesBackwards(copy.file)) {
        if (request.isOver?.()) return { hits: scan.hits, more: false, isCut: true, unreadable }
        scan.look(copy, from, copy.edit?.(content, from) ?? content)
        if (scan.isFull) return { hits: scan.hits, more: true, isCut: false, unreadable }
      }
    } catch {
      // A damaged copy must not keep the others from being searched; `verify` reports it.
      unreadable++
    }
    done += copy.bytes
    request.onProgress?.(done, total)
  }
  return { hits: scan.hits, more: false, isCut: false, unreadable }
}

/** Collects hits, one per turn, or per line where there is no turn. */
class Scan {
  readonly hits: ColdHit[] = []
  readonly #db: Database
  readonly #request: ColdRequest
  readonly #query: Query
  readonly #sieve: Sieve
  readonly #told = new Set<string>()
  readonly #files: ReadonlySet<number> | undefined
  readonly #sought: Sought

  constructor(db: Database, request: ColdRequest, query: Query, sieve: Sieve) {
    this.#db = db
    this.#request = request
    this.#query = query
    this.#sieve = sieve
    this.#files = request.file === undefined ? undefined : turnsTouching(db, pathNamed(request.file))
    this.#sought = soughtBy(partsAsked(query))
  }

  get isFull(): boolean {
    return this.hits.length >= this.#request.limit
  }

  /** @param from offset of `content`, which consists of whole lines */
  look(copy: ColdCopy, from: number, content: Uint8Array): void {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
    // As latin1 each byte is one character. That is enough here, since the patterns are ASCII.
    if (!this.#sieve.mayHold(bytes.toString("latin1"))) return
    // Backwards, since the newest come first: `linesIn` only goes forwards.
    for (let end = bytes.length; end > 0 && !this.isFull; ) {
      // With a negative offset, `lastIndexOf` would start at the end.
      const start = end < 2 ? 0 : bytes.lastIndexOf(NEWLINE, end - 2) + 1
      const to = bytes[end - 1] === NEWLINE ? end - 1 : end
      const text = bytes.toString("utf8", start, to)
      if (to > start && this.#sieve.mayDo(text)) {
        const records = isBesideCopy(copy.copy)
          ? [{ record: recordAt(copy.copy, text), text, from: 0, to: to - start }]
          : recordsIn(bytes.subarray(start, to))
        for (const one of records) this.#test(copy, from + start + one.from, one)
      }
      end = start
    }
  }

  #test(copy: ColdCopy, offset: number, { record: found, text: line }: RecordInLine): void {
    const toolName = (id: string): string | undefined => toolNameOf(this.#db, copy.session, id)
    const record = { ...found, parts: withoutForgedWords(found.parts, toolName, found.version) }
    const tools = toolsIn(this.#db, copy.session, record.parts)
    const speaker = role(record.parts)
    const text = wholeText(line)
    if (!this.#accepts(record, speaker, tools) || !this.#sieve.does({ text, role: speaker, tools })) return
    const session = copy.isHistory ? (record.sessionId ?? copy.session) : copy.session
    const row = isBesideCopy(copy.copy)
      ? turnOfFile(this.#db, copy.session, copy.copy, offset)
      : this.#turnOf(session, record, offset)
    if (copy.isHistory && (row === undefined || !this.#isOf(session))) return
    if (this.#request.onlyCold && row?.cold !== 1) return
    const project = row?.project ?? copy.project ?? (record.cwd === undefined ? null : projectOf(record.cwd))
    if (this.#request.project !== undefined && project !== this.#request.project) return
    if (row !== undefined && this.#request.found.has(row.turn)) return
    if (this.#files !== undefined && (row === undefined || !this.#files.has(row.turn))) return
    const name = row?.handle ?? record.uuid ?? `${copy.session} ${offset}`
    if (this.#told.has(name)) return
    this.#told.add(name)
    const { text: snippet, marks } = snippetOf(text, this.#sought, SHOWN)
    this.hits.push({
      cold: true,
      handle: row === undefined ? null : HANDLE_PREFIX + row.handle,
      session: row?.session ?? copy.session,
      seq: row?.seq ?? null,
      uuid: record.uuid ?? null,
      line: row === undefined ? lineNumber(copy.file, offset) : null,
      project,
      time: record.timestamp ?? row?.time ?? null,
      role: speaker,
      tool: tools[0] ?? null,
      why: this.#wordsIn(text),
      snippet,
      marks,
      prompt: row?.prompt ? cut(row.prompt, 200) : null,
      answer: null,
      also: [],
      ...(copy.isOthers ? { others: true as const } : {}),
      ...(row === undefined ? {} : takenBackOf(row)),
      ...(copy.isHistory && { promptsOnly: true as const }),
    })
  }

  /** The query's words, as they were typed, that the text has. */
  #wordsIn(text: string): string[] {
    const own = wordSet(text)
    const { terms = this.#query.terms } = this.#request
    const has = terms.filter(({ word, isPrefix }) => hasWord(own, word, isPrefix))
    return [...new Set(has.map((term) => wordToldOf(term, text, (word) => own.has(word)).toLowerCase()))]
  }

  #accepts(record: TranscriptRecord, speaker: string, tools: readonly string[]): boolean {
    const { role: wanted, tool, since, until, error } = this.#request
    const time = record.timestamp ?? ""
    const failed = record.parts.some((part) => "isError" in part && part.isError)
    return (
      (wanted === undefined || speaker === wanted) &&
      (tool === undefined || tools.some((one) => mark.tool(one) === mark.tool(tool))) &&
      (since === undefined || time >= since) &&
      (until === undefined || (time !== "" && time < until)) &&
      (error !== true || failed)
    )
  }

  /** Looked up by the message's identity, so a line copied by a fork counts as the original. */
  #turnOf(session: string, record: TranscriptRecord, offset: number): TurnOfLine | undefined {
    const parts = record.parts.filter((part) => part.kind !== "title")
    if (parts.length === 0) return undefined
    const place = `${session} ${record.timestamp ?? offset}`
    const names = identify(record, parts, place, session.includes("/"))
    return turnOfLine(this.#db, session, names)
  }

  #isOf(session: string): boolean {
    return this.#request.session === undefined || session === this.#request.session
  }
}

/** From 1. */
function lineNumber(file: string, offset: number): number {
  let number = 1
  for (const { from, content } of stretchesFrom(file, 0)) {
    // Newlines and not lines, since a long line may be in several pieces.
    for (
      let at = content.indexOf(NEWLINE);
      at >= 0 && from + at < offset;
      at = content.indexOf(NEWLINE, at + 1)
    ) {
      number++
    }
    if (from + content.length > offset) break
  }
  return number
}
