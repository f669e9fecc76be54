/**
 * Makes questions about coding sessions from their transcripts, by rule, so that anyone can measure with their own:
 * names that occur in few turns, commands that were run, errors, decisions.
 */
import { isTool } from "../../src/agents/tool-kinds.ts"
import { namesIn } from "../../src/base/words.ts"
import { MessageTexts } from "../../src/find/message-text.ts"
import { isStopWord } from "../../src/find/parse-query.ts"
import { HANDLE_PREFIX } from "../../src/record/our-marks.ts"
import type { CopyReaders } from "../../src/vault/reader.ts"
import type { Database } from "../../src/views/database.ts"
import { comparable, type Question } from "./scores.ts"

/** Questions per kind, spread over all turns. */
const OF_EACH = 40
/** A name in more turns than this answers nothing. */
const FEW = 3

interface Row {
  readonly handle: string
  readonly text: string
}

export function codingQuestions(db: Database, dataHome: string, readers: CopyReaders): Question[] {
  const errors = rowsOf(db, "SELECT turn, error AS text FROM tool_calls WHERE is_error = 1 AND error <> ''")
  return [
    ...ask("identifier", identifiers(db, dataHome, readers), (name) => name),
    ...ask("command", rowsOf(db, COMMANDS), (command) => command.split(/\s+/).slice(0, 10).join(" ")),
    ...ask("error", errors.flatMap(tellingLine), (line) => line.split(/\s+/).slice(0, 12).join(" ")),
    ...ask("decision", rowsOf(db, DECISIONS), everySecondWord),
  ]
}

const COMMANDS = `SELECT turn, target AS text FROM tool_calls WHERE ${isTool("name", "run")} AND length(target) > 15`
const DECISIONS = "SELECT turn, text FROM notes WHERE kind = 'decision'"

const rowsOf = (db: Database, from: string): Row[] =>
  db
    .query<Row, [string]>(
      `SELECT ? || t.handle AS handle, x.text FROM (${from}) x JOIN turns t ON t.id = x.turn ORDER BY t.id`,
    )
    .all(HANDLE_PREFIX)

/** One question per text, answered by every turn that contains it. */
function ask(group: string, rows: readonly Row[], query: (text: string) => string): Question[] {
  const turns = new Map<string, Set<string>>()
  for (const { handle, text } of rows) {
    const key = text.slice(0, 120)
    turns.set(key, (turns.get(key) ?? new Set()).add(handle))
  }
  const all = [...turns]
    .filter(([, handles]) => handles.size <= FEW)
    .map(([text, handles]) => ({
      text: query(text),
      group,
      evidence: new Map([[text, text]]),
      turns: handles,
    }))
    .filter(({ text }) => comparable(text) !== "")
  const step = Math.max(1, all.length / OF_EACH)
  return Array.from({ length: Math.min(OF_EACH, all.length) }, (_, n) => all[Math.floor(n * step)]!)
}

/** The line of an error that names it, rather than its exit code. */
function tellingLine({ handle, text }: Row): Row[] {
  const lines = text.split("\n").map((line) => line.trim())
  const line = lines.find(
    (one) => one.length > 20 && !/^(Error: )?Exit code/.test(one) && !one.startsWith("<"),
  )
  return line === undefined ? [] : [{ handle, text: line }]
}

/** Words the question differently from the sentence, as far as a rule can. */
function everySecondWord(sentence: string): string {
  const names = namesIn(sentence).map(({ at, length }) => sentence.slice(at, at + length))
  const telling = names.filter((name) => name.length > 2 && !isStopWord(name.toLowerCase()))
  return telling.filter((_, n) => n % 2 === 0).join(" ")
}

/** Names of two or more parts. */
const IDENTIFIER = /\b(?:[a-z]+(?:[A-Z][a-z0-9]+)+|[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)\b/g

function identifiers(db: Database, dataHome: string, readers: CopyReaders): Row[] {
  const found = new Map<string, Set<string>>()
  const messages = db
    .query<{ id: number; handle: string }, [string]>(
      "SELECT m.id, ? || t.handle AS handle FROM messages m JOIN turns t ON t.id = m.turn WHERE m.role <> 'host' ORDER BY m.id",
    )
    .all(HANDLE_PREFIX)
  for (const { id, handle } of messages) {
    const text = new MessageTexts(db, dataHome, readers).of(id)?.text ?? ""
    for (const name of new Set(text.match(IDENTIFIER))) {
      if (name.length >= 8 && name.length <= 40) found.set(name, (found.get(name) ?? new Set()).add(handle))
    }
  }
  return [...found]
    .filter(([, handles]) => handles.size <= FEW)
    .flatMap(([text, handles]) => [...handles].map((handle) => ({ handle, text })))
}
