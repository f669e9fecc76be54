/**
 * The words by which messages are found. Written in the message's transaction; a trigger removes them with the message.
 *
 * What narrows a search (project, session, role, tool, month) is stored among the words as marks, which no text can
 * contain. So SQLite intersects lists instead of looking at rows.
 */
import { WordGatherer } from "../base/word-gatherer.ts"
import { wordSet } from "../base/words.ts"
import type { Database } from "./database.ts"

/** What a search can be narrowed to. */
export interface Marks {
  readonly project?: number | undefined
  /** With or without its subagent. */
  readonly session?: string | undefined
  readonly role?: string | undefined
  /** Names of tools that are called or answer. */
  readonly tools?: readonly string[] | undefined
  readonly isError?: boolean | undefined
  /** Whether it is a prompt or answer of the session itself, which may be given back to another session. */
  readonly isSaid?: boolean | undefined
  /** ISO 8601. */
  readonly time?: string | undefined
}

/** Neither a letter nor a digit, so no word begins with it. */
const MARK = "§"

/** The latest names: each message of a session has the same few. */
const plainNames = new Map<string, string>()
const PLAIN_NAMES = 200

function plain(name: string): string {
  let known = plainNames.get(name)
  if (known === undefined) {
    known = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")
    if (plainNames.size >= PLAIN_NAMES) plainNames.clear()
    plainNames.set(name, known)
  }
  return known
}

export const mark = {
  project: (id: number): string => `${MARK}p${id}`,
  session: (id: string): string => `${MARK}s${plain(id.split("/", 1)[0]!)}`,
  role: (role: string): string => `${MARK}r${plain(role)}`,
  tool: (name: string): string => `${MARK}t${plain(name)}`,
  error: `${MARK}e`,
  /** @param id of the project */
  said: (id: number): string => `${MARK}w${id}`,
  /** @param time ISO 8601 */
  month: (time: string): string => `${MARK}m${time.slice(0, 4)}${time.slice(5, 7)}`,
} as const

function marksOf({ project, session, role, tools = [], isError, isSaid, time }: Marks): string[] {
  const marks = tools.map(mark.tool)
  if (project !== undefined) marks.push(mark.project(project))
  if (session !== undefined) marks.push(mark.session(session))
  if (role !== undefined) marks.push(mark.role(role))
  if (isError === true) marks.push(mark.error)
  if (isSaid === true && project !== undefined) marks.push(mark.said(project))
  if (time !== undefined && /^\d{4}-\d\d/.test(time)) marks.push(mark.month(time))
  return marks
}

/** The latest marks in UTF-8: messages have the same few in common, and making them costs as much as a short text. */
const encodedMarks = new Map<string, Uint8Array>()
const ENCODED_MARKS = 200

function encoded(marks: Marks): Uint8Array {
  const { project, session, role, tools = [], isError, isSaid, time } = marks
  const key = `${project} ${session} ${role} ${isError} ${isSaid} ${time?.slice(0, 7)} ${tools.length === 1 ? tools[0] : tools.join("\0")}`
  let known = encodedMarks.get(key)
  if (known === undefined) {
    known = Buffer.from([...new Set(marksOf(marks))].join(" "))
    if (encodedMarks.size >= ENCODED_MARKS) encodedMarks.clear()
    encodedMarks.set(key, known)
  }
  return known
}

const NONE = new Uint8Array(0)

/** One for all, as sessions repeat the same names again and again. */
let gatherer: WordGatherer | undefined
/**
 * Characters that are worth one: it takes a megabyte, and a hook would interpret its loops. For as much as a hook has to
 * index, the engine's own functions take less than half the time.
 */
const MUCH = 1 << 17
let indexed = 0

function wordsIn(text: string, marks: Uint8Array): Uint8Array {
  indexed += text.length
  if (gatherer === undefined && indexed < MUCH)
    return Buffer.concat([Buffer.from([...wordSet(text), ""].join(" ")), marks])
  gatherer ??= new WordGatherer()
  return gatherer.wordsIn(text, marks)
}

/**
 * Collects the words of messages and writes them together: any other statement between two inserts would make SQLite
 * write out a list per word for every single message.
 */
export class WordWriter {
  readonly #db: Database
  /** Words in UTF-8 with a space after each, then the marks. */
  readonly #waiting: { readonly message: number; words: Uint8Array }[] = []

  constructor(db: Database) {
    this.#db = db
  }

  add(message: number, text: string, marks: Marks): void {
    this.#waiting.push({ message, words: wordsIn(text, encoded(marks)) })
  }

  /** From now on, nobody finds the message. */
  empty(message: number): void {
    const waiting = this.#waiting.find((one) => one.message === message)
    if (waiting !== undefined) waiting.words = NONE
    else this.#db.query("INSERT OR REPLACE INTO words (rowid, text) VALUES (?, '')").run(message)
  }

  /** Call before the transaction ends. */
  flush(): void {
    const insert = this.#db.query("INSERT INTO words (rowid, text) VALUES (?, ?)")
    for (const { message, words } of this.#waiting) insert.run(message, words)
    this.#waiting.length = 0
  }
}

export interface WordTotals {
  readonly messages: number
  /** Messages that can be found by their words. */
  readonly indexed: number
  /** Those that cannot, because their turns are cold. */
  readonly cold: number
}

export const wordTotals = (db: Database): WordTotals =>
  db
    .query<WordTotals, []>(
      // The index's own table of its content, because the virtual table would be read from end to end.
      `SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM words_docsize) AS indexed,
         (SELECT count(*) FROM turns t JOIN messages m ON m.turn = t.id
          WHERE t.cold = 1 AND m.id NOT IN (SELECT id FROM words_docsize)) AS cold`,
    )
    .get()!
