/** Reads the text of a message, as a search sees it, from the vault. */

import { partsOfLine } from "../agents/agents.ts"
import { changedLines, replacedTexts, toolFiles } from "../agents/tool-kinds.ts"
import { tryTo } from "../base/files.ts"
import { statSync } from "../base/fs.ts"
import { searchable } from "../record/searchable.ts"
import type { Part } from "../record/types.ts"
import { isBesideCopy, vaultFile } from "../vault/layout.ts"
import type { CopyReader, CopyReaders } from "../vault/reader.ts"
import { callOfMessage, recordAt } from "../views/beside-rows.ts"
import type { Database } from "../views/database.ts"
import { type MessagePlace, placesOf, toolsIn } from "../views/queries/messages.ts"

interface MessageText {
  readonly text: string
  readonly role: string
  /** As Claude Code wrote it. */
  readonly uuid: string | undefined
  readonly tools: readonly string[]
  /** The same for showing single lines of it. */
  lined(): LinedText
}

export interface LinedText {
  /** A call without the name of its tool; what it changes in a file as lines with their signs. */
  readonly text: string
  /** The file that a call reads, writes or edits; `text` is then without it, if there is anything else. */
  readonly file: string | undefined
}

const utf8 = new TextDecoder()

/** Texts of messages. Each is read only once: a text that was checked during the search is needed again to show it. */
export class MessageTexts {
  readonly #known = new Map<number, MessageText | undefined>()
  readonly #there = new Map<string, boolean>()
  readonly #db: Database
  readonly dataHome: string
  readonly readers: CopyReaders

  constructor(db: Database, dataHome: string, readers: CopyReaders) {
    this.#db = db
    this.dataHome = dataHome
    this.readers = readers
  }

  /** @returns undefined when the vault no longer holds the message */
  of(message: number): MessageText | undefined {
    if (!this.#known.has(message)) {
      const [place] = placesOf(this.#db, [message])
      const line = place && lineInVault(this.dataHome, this.readers, place)
      this.#known.set(message, place && this.#textIn(line, place))
    }
    return this.#known.get(message)
  }

  /**
   * Reads several texts: each frame is unpacked once, and no further than the last message needed from it.
   *
   * @param others ids of messages whose places are not known yet
   * @param isWorthIt told the line as it is in the transcript: one that is not is not decoded, and not kept
   */
  load(
    places: readonly MessagePlace[],
    others: readonly number[] = [],
    isWorthIt: (line: string) => boolean = () => true,
  ): void {
    const all = others.length === 0 ? places : [...places, ...placesOf(this.#db, others)]
    const lastFirst = all.toSorted((a, b) =>
      a.copy < b.copy ? -1 : a.copy > b.copy ? 1 : b.offset - a.offset,
    )
    let copy: string | undefined
    for (const place of lastFirst) {
      if (this.#known.has(place.id)) continue
      if (copy !== undefined && copy !== place.copy) this.release(copy)
      copy = place.copy
      const line = lineInVault(this.dataHome, this.readers, place)
      if (line === undefined || isWorthIt(line)) this.#known.set(place.id, this.#textIn(line, place))
    }
  }

  /** Those of the messages whose texts have been read. */
  read(messages: readonly number[]): number[] {
    return messages.filter((id) => this.#known.has(id))
  }

  #textIn(line: string | undefined, place: MessagePlace): MessageText | undefined {
    if (line === undefined) return undefined
    const { parts, uuid } = isBesideCopy(place.copy)
      ? recordAt(place.copy, line, callOfMessage(this.#db, place.id, place.copy))
      : partsOfLine(line)
    const said = parts.filter(({ kind }) => kind !== "title")
    const tools = toolsIn(this.#db, place.session, said)
    const { text } = searchable(said, place.role)
    return { text, role: place.role, uuid, tools, lined: () => linedText(said, text) }
  }

  /** The reader of a copy, by its path below `vault/`. */
  reader(copy: string): CopyReader {
    return this.readers.of(vaultFile(this.dataHome, copy))
  }

  /** Whether the vault has anything of a copy. */
  isThere(copy: string): boolean {
    let there = this.#there.get(copy)
    if (there === undefined) {
      there = (statSync(vaultFile(this.dataHome, copy), { throwIfNoEntry: false })?.size ?? 0) > 0
      this.#there.set(copy, there)
    }
    return there
  }

  /** Frees a copy's frame to make room for the next one. The texts read from it are kept. */
  release(copy: string): void {
    this.readers.release(vaultFile(this.dataHome, copy))
  }
}

/** What a result of a failed command begins with. The next line says more. */
const EXIT_CODE = /^(?:Error: )?Exit code -?\d+\n+(?=\S)/

function linedText(said: readonly Part[], text: string): LinedText {
  const [call] = said
  if (call?.kind === "toolResult") return { text: text.replace(EXIT_CODE, ""), file: undefined }
  // Claude Code writes each call as a message of its own.
  if (call?.kind !== "toolUse" || said.length > 1) return { text, file: undefined }
  const file = toolFiles(call.name, call.input)[0]?.path
  const changed = replacedTexts(call.name, call.input)?.flatMap(changedLines)
  if (changed !== undefined) return { text: changed.join("\n"), file }
  return { text: text.slice(`${call.name}: `.length), file: undefined }
}

/** @returns undefined when the vault does not hold it any more */
export function lineInVault(
  dataHome: string,
  readers: CopyReaders,
  { copy, offset, length }: MessagePlace,
): string | undefined {
  // A damaged or missing copy loses only its own texts; `verify` reports it.
  return tryTo(() => utf8.decode(readers.of(vaultFile(dataHome, copy)).readLine(offset, offset + length)))
}
