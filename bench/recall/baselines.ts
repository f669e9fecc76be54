/**
 * What a search must beat: BM25 over turns as anyone would set it up (FTS5, porter, any of the words), and the
 * embedding of the design documents, which hashes all characters of a text into each dimension.
 */

import { decodeLine } from "../../src/agents/agents.ts"
import { toolTarget } from "../../src/agents/tool-kinds.ts"
import { isStopWord } from "../../src/find/parse-query.ts"
import { HANDLE_PREFIX } from "../../src/record/our-marks.ts"
import { vaultFile } from "../../src/vault/layout.ts"
import type { CopyReaders } from "../../src/vault/reader.ts"
import type { Database } from "../../src/views/database.ts"
import { comparable, type Shown } from "./scores.ts"

interface Line {
  readonly handle: string
  readonly copy: string
  readonly offset: number
  readonly length: number
}

/** Each turn with its words and its tool calls, one per line. */
export function turnTexts(db: Database, dataHome: string, readers: CopyReaders): Shown[] {
  const utf8 = new TextDecoder()
  const texts = new Map<string, string[]>()
  const lines = db
    .query<Line, []>(
      `SELECT '${HANDLE_PREFIX}' || u.handle AS handle, t.copy, m.offset, m.length
       FROM messages m JOIN transcripts t ON t.id = m.transcript JOIN turns u ON u.id = m.turn
       ORDER BY m.transcript, m.offset`,
    )
    .all()
  for (const { handle, copy, offset, length } of lines) {
    const line = readers.of(vaultFile(dataHome, copy)).read(offset, offset + length)
    let all = texts.get(handle)
    if (all === undefined) {
      all = []
      texts.set(handle, all)
    }
    for (const part of decodeLine(utf8.decode(line)).parts) {
      if (part.kind === "prompt" || part.kind === "text") all.push(part.text)
      if (part.kind === "toolUse") all.push(`${part.name}: ${toolTarget(part.name, part.input)}`)
    }
  }
  return [...texts]
    .map(([handle, all]) => ({ handle, text: all.join("\n\n") }))
    .filter(({ text }) => text !== "")
}

type Arm = (question: string, limit: number) => Shown[]

export function bm25(db: Database, turns: readonly Shown[]): Arm {
  db.run("CREATE VIRTUAL TABLE temp.baseline USING fts5(text, tokenize = 'porter unicode61')")
  db.transaction(() => {
    for (const [n, { text }] of turns.entries())
      db.query("INSERT INTO temp.baseline (rowid, text) VALUES (?, ?)").run(n, text)
  })()
  return (question, limit) => {
    const words = comparable(question).split(" ").filter(Boolean)
    const telling = words.filter((word) => !isStopWord(word))
    const wanted = [...new Set(telling.length > 0 ? telling : words)]
    if (wanted.length === 0) return []
    return db
      .query<{ id: number }, [string, number]>(
        "SELECT rowid AS id FROM temp.baseline WHERE baseline MATCH ? ORDER BY rank LIMIT ?",
      )
      .all(wanted.map((word) => `"${word}"`).join(" OR "), limit)
      .map(({ id }) => turns[id]!)
  }
}

const DIMENSIONS = 384
/** How many characters of a turn are hashed, as there. */
const HASHED = 512

/** `createHashEmbedding` of the design documents. */
export function hashEmbedding(text: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS)
  const normalized = text.toLowerCase().trim()
  let squares = 0
  for (let n = 0; n < DIMENSIONS; n++) {
    let hash = 0
    for (let at = 0; at < normalized.length; at++) {
      hash = ((hash << 5) - hash + normalized.charCodeAt(at) * (n + 1)) | 0
    }
    vector[n] = (Math.sin(hash) + 1) / 2
    squares += vector[n]! ** 2
  }
  const norm = Math.sqrt(squares) || 1
  return vector.map((value) => value / norm)
}

export function hashed(turns: readonly Shown[]): Arm {
  const vectors = turns.map(({ text }) => hashEmbedding(text.slice(0, HASHED)))
  return (question, limit) => {
    const wanted = hashEmbedding(question.slice(0, HASHED))
    const near = vectors.map((vector) => vector.reduce((sum, value, n) => sum + value * wanted[n]!, 0))
    return turns
      .map((turn, n) => ({ turn, score: near[n]! }))
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ turn }) => turn)
  }
}
