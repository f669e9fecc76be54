/**
 * Embedding during one run of the job. The model is loaded when there is something to embed, and kept until the end.
 */
import { decodeLine } from "../agents/agents.ts"
import { codeOf } from "../base/errors.ts"
import { logError } from "../base/log.ts"
import type { Paths } from "../config/load.ts"
import { type Embedder, embedderId, openSoundEmbedder } from "../find/embed/embedder.ts"
import { DIMENSION } from "../find/embed/model-manifest.ts"
import { quantise } from "../find/embed/quantise.ts"
import type { Part } from "../record/types.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { messagesOf } from "../views/queries/messages.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { lineOf } from "../views/turn.ts"
import {
  type DueTurn,
  dropDamagedVectors,
  dropOtherVectors,
  dueTurns,
  type MessageVector,
  packVectors,
  putVectors,
  type TurnVectors,
} from "../views/vectors.ts"
import { vectorsDue } from "./due-work.ts"

const NEWEST = Number.MAX_SAFE_INTEGER

export class Embedding {
  readonly #paths: Pick<Paths, "dataHome" | "stateHome">
  #embedder: Embedder | undefined
  /** Id of the embedder wanted when this one was opened. The model may be installed or removed while the job runs. */
  #wanted: string | undefined
  /** Turns from this one on have been processed. Newer turns are picked up when the rest is done. */
  #below = NEWEST
  #failed = false
  readonly #until: () => boolean

  /** @param until checked between turns; true stops the embedding */
  constructor(paths: Pick<Paths, "dataHome" | "stateHome">, until: () => boolean) {
    this.#paths = paths
    this.#until = until
  }

  /** @returns false when nothing is left to embed */
  async step(db: Database): Promise<boolean> {
    if (this.#failed) return false
    try {
      return await this.#cycle(db)
    } catch (error) {
      if (isUnusable(this.#paths.dataHome, error, db)) throw error
      // The archive is safe without vectors, and the next job tries again.
      this.#failed = true
      logError(this.#paths.stateHome, { event: "embed", error })
      return false
    }
  }

  async #cycle(db: Database): Promise<boolean> {
    const { dataHome, stateHome } = this.#paths
    const wanted = embedderId(dataHome)
    if (vectorsDue(stateHome, Date.now())) dropDamagedVectors(db, wanted, DIMENSION)
    if (this.#wanted !== wanted) {
      this.#embedder = undefined
      this.#below = NEWEST
      this.#wanted = wanted
    }
    if (this.#embedder === undefined) {
      if (dueTurns(db, wanted, NEWEST, 1).length === 0) {
        dropOtherVectors(db, wanted)
        return false
      }
      this.#embedder = await openSoundEmbedder(this.#paths)
    }
    const until = (): boolean => this.#until() || embedderId(dataHome) !== wanted
    const oldest = await embedCycle(db, dataHome, this.#embedder, this.#below, until)
    if (oldest !== undefined) {
      this.#below = oldest
      return true
    }
    // Start again from the newest: turns may have come or grown, and rebuilt views number them differently.
    if (this.#below !== NEWEST) {
      this.#below = NEWEST
      return true
    }
    // But not if this is only a fallback for the installed model.
    if (this.#embedder.id === wanted) dropOtherVectors(db, wanted)
    return false
  }
}

/* The background job's part of embedding: a few turns at a time, so requests that arrive meanwhile need not wait. */

/** Turns embedded in one cycle, and ms after which no further turn is started. */
const MOST = 20
const LONGEST = 2000

/**
 * Embeds the newest turns that are due and commits them together.
 *
 * @param below only turns with a smaller id are considered
 * @param until checked between two turns; returns true to stop the work
 * @returns id of the oldest turn handled; undefined when none was due
 */
export async function embedCycle(
  db: Database,
  dataHome: string,
  embedder: Embedder,
  below: number,
  until: () => boolean,
): Promise<number | undefined> {
  const due = dueTurns(db, embedder.id, below, MOST)
  const readers = new CopyReaders()
  const rows: TurnVectors[] = []
  const stop = performance.now() + LONGEST
  try {
    for (const turn of due) {
      rows.push(await vectorsOf(db, dataHome, turn, embedder, readers))
      if (performance.now() >= stop || until()) break
    }
  } finally {
    readers.close()
  }
  if (rows.length > 0) putVectors(db, rows)
  return rows.at(-1)?.turn
}

async function vectorsOf(
  db: Database,
  dataHome: string,
  { id, last }: DueTurn,
  embedder: Embedder,
  readers: CopyReaders,
): Promise<TurnVectors> {
  const vectors: MessageVector[] = []
  for (const { message, text } of textsOf(db, dataHome, id, readers)) {
    for (const piece of embedder.pieces(text)) {
      vectors.push({ message, ...quantise(await embedder.embed(piece)) })
    }
  }
  const { id: name, dimension } = embedder
  // Written even without vectors: the row records that the turn was handled.
  return { turn: id, embedder: name, dimension, last, vectors: packVectors(vectors, dimension) }
}

/** An unreadable copy must not keep the others from getting vectors; `verify` reports it. */
function textsOf(db: Database, dataHome: string, turn: number, readers: CopyReaders) {
  try {
    return textsToEmbed(db, dataHome, turn, readers)
  } catch (error) {
    if (!codeOf(error).startsWith("vault-")) throw error
    return []
  }
}

interface MessageText {
  readonly message: number
  readonly text: string
}

/** Which kinds of parts count, by the line's role. Of Claude Code's own lines, only a subagent's task does. */
const SAID: Readonly<Record<string, readonly Part["kind"][]>> = {
  human: ["prompt", "reply"],
  assistant: ["text"],
  host: ["brief"],
}

/** Up to this many UTF-16 units, what an assistant says between tool calls counts as one text. */
const TOGETHER = 600

const utf8 = new TextDecoder()

/**
 * What was said, in order. Consecutive short sentences of an assistant ("Now the tests.") are joined, since each alone
 * says little; the text counts as the message of the longest one.
 *
 * @throws CtxError when the vault cannot be read there
 */
export function textsToEmbed(
  db: Database,
  dataHome: string,
  turn: number,
  readers: CopyReaders,
): MessageText[] {
  const said: MessageText[] = []
  let open: { message: number; text: string; longest: number } | undefined
  const close = (): void => {
    if (open !== undefined) said.push({ message: open.message, text: open.text })
    open = undefined
  }
  for (const row of messagesOf(db, turn)) {
    const kinds = SAID[row.role]
    if (kinds === undefined) continue
    const { parts } = decodeLine(utf8.decode(lineOf(dataHome, row, readers)))
    const texts = parts.flatMap((part) => (kinds.includes(part.kind) && "text" in part ? [part.text] : []))
    const text = texts.join("\n\n").trim()
    if (text === "") continue
    if (row.role !== "assistant") {
      close()
      said.push({ message: row.id, text })
    } else if (open !== undefined && open.text.length + text.length <= TOGETHER) {
      const isLonger = text.length > open.longest
      open = {
        message: isLonger ? row.id : open.message,
        text: `${open.text}\n\n${text}`,
        longest: Math.max(open.longest, text.length),
      }
    } else {
      close()
      open = { message: row.id, text, longest: text.length }
    }
  }
  close()
  return said
}
