/** Tool calls in full. The views keep one line of a call and the beginning of its error; the vault has everything. */
import type { Database } from "../archive/database.ts"
import { partsOfLine } from "../transcript/decode.ts"
import { wholeTarget } from "../transcript/tool-input.ts"
import type { Part } from "../transcript/types.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { lineAt, placesOf } from "./message-text.ts"

/** A call and the messages that hold it. */
export interface CallPlace {
  /** tool_use_id. */
  readonly id: string
  /** Id of the message that holds the input. */
  readonly use: number | null
  /** Id of the message that holds the output. */
  readonly result: number | null
}

export class WholeCalls {
  readonly #db: Database
  readonly #dataHome: string
  readonly #readers: CopyReaders

  constructor(db: Database, dataHome: string, readers: CopyReaders) {
    this.#db = db
    this.#dataHome = dataHome
    this.#readers = readers
  }

  /** Command, path or pattern; undefined when the vault no longer holds it. */
  target({ id, use }: CallPlace): string | undefined {
    for (const part of this.#partsOf(use))
      if (part.kind === "toolUse" && part.id === id) return wholeTarget(part.name, part.input)
    return undefined
  }

  /** What the tool answered; undefined when the vault no longer holds it. */
  output({ id, result }: CallPlace): string | undefined {
    for (const part of this.#partsOf(result))
      if (part.kind === "toolResult" && part.id === id) return part.text
    return undefined
  }

  #partsOf(message: number | null): readonly Part[] {
    const [place] = message === null ? [] : placesOf(this.#db, [message])
    const line = place && lineAt(this.#dataHome, this.#readers, place)
    return line === undefined ? [] : partsOfLine(line).parts
  }
}
