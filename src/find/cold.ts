/**
 * Searches the vault itself, line by line, newest first, for what the index lacks or cannot find: all of it for
 * `search --cold`, and otherwise the turns that are out of the index. Slow (about a second for 500 MB of transcripts),
 * but in bounded memory: one frame at a time.
 *
 * What matches is decided on every string of a line, however long and whatever Claude Code uses it for, since the point
 * is to find what the index leaves out.
 */
import { type RecordInLine, recordsIn, UNMARKED } from "../agents/agents.ts"
import { withoutForgedWords } from "../agents/origin.ts"
import { parseJson } from "../base/json-files.ts"
import { compileAsUsual } from "../base/own-program.ts"
import { cut } from "../base/text.ts"
import { wordSet } from "../base/words.ts"
import { objectOf } from "../record/json.ts"
import { NEWLINE } from "../record/lines-with.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { TranscriptRecord } from "../record/types.ts"
import { forgottenPrompts } from "../vault/forgotten-prompts.ts"
import { isBesideCopy, isHistoryCopy, isOthersCopy, vaultFile } from "../vault/layout.ts"
import { stretchesBackwards, stretchesFrom, tailOf } from "../vault/reader.ts"
import { type Forgotten, forgottenOf } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { recordAt } from "../views/beside-rows.ts"
import type { Database } from "../views/database.ts"
import { identify, role } from "../views/identity.ts"
import { projectOf } from "../views/project.ts"
import { toolNameOf, toolsIn } from "../views/queries/messages.ts"
import { takenBackOf } from "../views/queries/scope.ts"
import { copiesWithCold, type TurnOfLine, turnOfFile, turnOfLine } from "../views/queries/turns.ts"
import { allCopies } from "../views/transcript-rows.ts"
import { sessionOfCopy } from "../views/view-sources.ts"
import { filterWord } from "../views/word-index.ts"
import { lineMayFulfil } from "./candidates.ts"
import { fulfils, hasWord, type Subject } from "./fts-expression.ts"
import type { Hit } from "./hit.ts"
import { type Narrowing, turnsNarrowed } from "./narrowing.ts"
import { folded, isAscii, type Node, parseQuery, partsAsked, type Query, type Term } from "./parse-query.ts"
import type { FoundTurns } from "./search-turns.ts"
import { type Sought, snippetOf, soughtBy } from "./snippet.ts"
import { wordToldOf } from "./whole-matches.ts"

export interface ColdHit extends Omit<Hit, "handle" | "seq" | "score"> {
  readonly cold: true
  /** With `ctx:`. Null when the views do not know the line; `line` then says where it is. */
  readonly handle: string | null
  readonly seq: number | null
  /** Line number in the transcript, from 1. Null when there is a handle to open it by. */
  readonly line: number | null
}

interface ColdRequest extends Narrowing {
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
    this.#files = turnsNarrowed(db, request)
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
      ...(record.program === undefined ? {} : { program: record.program }),
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
      (tool === undefined || tools.some((one) => filterWord.tool(one) === filterWord.tool(tool))) &&
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
    const names = identify(record, parts, place, session.includes("/"), session)
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

/** ms for going through the vault: about 500 MB of transcripts. */
const LONGEST = 1000
/** Lines with some of the words that are compared, the newest. */
const COMPARED = 50

/** What the index has found, so far as it tells what to look for. */
type Wanting = Pick<FoundTurns, "words" | "corrections">

/**
 * Looks for what a search wants in turns that are out of the index, when the index has nothing, or nothing with all the
 * words. Bounded in time, so a search that was fast stays bearable.
 *
 * @returns lines that have all the words; if there are none, those that have more of them than the best turn in the
 * index
 * @param longest ms
 */
export function searchColdTurns(
  db: Database,
  dataHome: string,
  request: Omit<ColdRequest, "found" | "onlyCold" | "isOver">,
  { words, corrections = [] }: Wanting,
  longest: number = LONGEST,
): ColdFound {
  const end = performance.now() + longest
  const isOver = (): boolean => performance.now() >= end
  // None of them is in the index, so none has been found yet.
  const bounds = { found: new Set<number>(), onlyCold: true, isOver }
  const whole = searchVault(db, dataHome, { ...request, ...bounds })
  const lacking = [...words.lacking, ...corrections.map(({ typed }) => typed)]
  const { terms, must } = parseQuery(request.query)
  if (
    whole.hits.length > 0 ||
    whole.isCut ||
    must !== undefined ||
    terms.length < 2 ||
    lacking.length === 0
  ) {
    return whole
  }
  const least = words.asked.length - lacking.length + 1
  const some = searchVault(db, dataHome, {
    ...request,
    ...bounds,
    query: lacking.join(" OR "),
    limit: COMPARED,
    terms,
  })
  const hits = some.hits
    .filter(({ why }) => why.length >= least)
    .sort((a, b) => b.why.length - a.why.length)
    .slice(0, request.limit)
  return { ...some, hits, more: some.hits.length > hits.length && hits.length === request.limit }
}

/** A copy that is read, and what must not be read in it. */
interface ColdCopy {
  /** Below `vault/`. */
  readonly copy: string
  /** Absolute. */
  readonly file: string
  /** Bytes on disk. */
  readonly bytes: number
  readonly session: string
  /** Whether it holds prompts of many sessions: what the views know of them is all that is to be shown. */
  readonly isHistory: boolean
  /** Undefined when the views do not know the session. */
  readonly project: string | undefined
  /** Whether others may have written it. */
  readonly isOthers: boolean
  /** Blanks out what was forgotten but is still in the copy. */
  readonly edit: Forgotten["edit"] | undefined
}

/**
 * Copies that may match, latest session first.
 *
 * @param among only these
 */
function coldCopies(
  db: Database,
  dataHome: string,
  { session, project, program }: Narrowing,
  among?: ReadonlySet<string>,
): ColdCopy[] {
  const known = new Map(allCopies(db).map((row) => [row.copy, row]))
  const found: (ColdCopy & { readonly ended: string })[] = []
  for (const { copy, bytes } of vaultFiles(dataHome)) {
    if (among?.has(copy) === false) continue
    const row = known.get(copy)
    const path = tailOf(vaultFile(dataHome, copy))?.header.path
    if (path === undefined) continue
    const own = row?.session ?? sessionOfCopy(dataHome, copy, path)
    if (session !== undefined && !isHistoryCopy(copy) && own !== session && !own.startsWith(`${session}/`))
      continue
    if (project !== undefined && row?.project != null && row.project !== project) continue
    if (program !== undefined && (row?.program ?? UNMARKED) !== program) continue
    const forgotten = isHistoryCopy(copy) ? forgottenPrompts(dataHome) : forgottenOf(dataHome, own, path)
    if (forgotten?.whole) continue
    found.push({
      copy,
      file: vaultFile(dataHome, copy),
      bytes,
      session: own,
      isHistory: isHistoryCopy(copy),
      project: row?.project ?? undefined,
      isOthers: isOthersCopy(copy),
      edit: forgotten?.edit,
      // A session that the views do not know yet is new.
      ended: row?.ended ?? "9999",
    })
  }
  return found.sort((a, b) => (a.ended < b.ended ? 1 : a.ended > b.ended ? -1 : 0))
}

/** Fields that identify or date a line, at any depth. Nobody said their values. */
const NAMES = new Set(
  (
    "type subtype role model id uuid parentUuid logicalParentUuid sessionId session_id agentId requestId promptId cwd " +
    "version gitBranch timestamp userType stop_reason stop_sequence service_tier signature tool_use_id " +
    "sourceToolUseID sourceToolAssistantUUID media_type messageId slug permissionMode entrypoint"
  ).split(" "),
)
/** A string with no white space in its first 20,000 UTF-16 units is an image or the like. */
const DATA = 20_000

/** Every string in a line, the message's own first. */
function wholeText(line: string): string {
  const found: string[] = []
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === "string") {
      if (value.length < DATA || /\s/.test(value.slice(0, DATA))) found.push(value)
    } else if (Array.isArray(value)) {
      for (const item of value) visit(item, depth + 1)
    } else if (typeof value === "object" && value !== null && depth < 32) {
      for (const [name, inner] of Object.entries(value)) if (!NAMES.has(name)) visit(inner, depth + 1)
    }
  }
  const value = parseJson(line)
  // Not JSON: search it as plain text.
  if (value === undefined) return line
  const { message, ...others } = objectOf(value)
  visit(message, 0)
  visit(others, 0)
  return [...new Set(found)].join("\n")
}

interface Sieve {
  /** Whether any of these lines may match. Looks at the bytes before they are split into lines. */
  mayHold(content: string): boolean
  mayDo(line: string): boolean
  does(subject: Subject): boolean
}

/**
 * A query without operators is matched by a text that contains all of its words, or the query verbatim.
 *
 * @returns undefined for a query that asks for nothing
 */
function sieveFor(query: Query): Sieve | undefined {
  const { must } = query
  const said = folded(query.text)
  const asked = partsAsked(query)
  if (must === undefined && said === "") return undefined
  // A word typed with accents is sought without them, and the line may have them.
  const needles = !isAscii(query.text) ? [] : must === undefined ? asked.flatMap(needleOf) : needlesOf(must)
  const mayFulfil = must === undefined ? () => true : lineMayFulfil(must)
  const holds = (text: string): boolean => needles.every((needle) => needle.test(text))
  return {
    mayHold: holds,
    mayDo: (line) => holds(line) && mayFulfil(line),
    does(subject) {
      if (must !== undefined) return fulfils(must, subject)
      if (folded(subject.text).includes(said)) return true
      if (asked.length === 0) return false
      const own = wordSet(subject.text)
      return asked.every(({ word, isPrefix }) => hasWord(own, word, isPrefix))
    },
  }
}

/** Patterns that occur in every text that fulfils `node`, in any encoding that keeps ASCII. */
function needlesOf(node: Node): RegExp[] {
  switch (node.kind) {
    case "words":
    case "phrase":
      return node.words
        .filter((word) => !isWholeName(word, node.words))
        .flatMap((word) => needleOf({ word, isPrefix: false }))
    case "prefix":
      return needleOf({ word: node.prefix, isPrefix: true })
    case "and":
      return node.nodes.flatMap(needlesOf)
    default:
      return []
  }
}

/** Whether this may be a compound name in one word. Its parts need not stand side by side in the text. */
const isWholeName = (word: string, words: readonly string[]): boolean =>
  words.some((part) => part !== word && word.startsWith(part.slice(0, -1)))

/** The stemmer may have turned a final `y` into `i`. */
function needleOf({ word, isPrefix }: Pick<Term, "word" | "isPrefix">): RegExp[] {
  if (!/^[a-z0-9]+$/.test(word)) return []
  return [new RegExp(isPrefix ? word : word.replace(/i$/, "[iy]"), "i")]
}
