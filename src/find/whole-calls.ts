/** Tool calls in full. The views keep one line of a call and the beginning of its error; the vault has everything. */

import { partsOfLine } from "../agents/decode.ts"
import { mayBeCut, wholeTarget } from "../agents/tool-input.ts"
import { oneLine } from "../base/text.ts"
import type { Part } from "../record/types.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import type { CallPlace, ShortCall } from "../views/queries/calls.ts"
import { placesOf } from "../views/queries/messages.ts"
import { lineInVault } from "./message-text.ts"

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
  target(call: CallPlace): string | undefined {
    const use = this.#useOf(call)
    return use && wholeTarget(use.name, use.input)
  }

  /** What the tool was given; undefined when the vault no longer holds it. */
  input(call: CallPlace): unknown {
    return this.#useOf(call)?.input
  }

  /** What calls of the same tool share when they ask for the same: one line, of any length. */
  key(call: ShortCall): string {
    const use = mayBeCut(call.target, call.length ?? 0) ? this.#useOf(call) : undefined
    return use === undefined
      ? call.target
      : oneLine(wholeTarget(use.name, use.input) ?? JSON.stringify(use.input))
  }

  /** What the tool answered; undefined when the vault no longer holds it. */
  output({ id, result }: CallPlace): string | undefined {
    for (const part of this.#partsOf(result))
      if (part.kind === "toolResult" && part.id === id) return part.text
    return undefined
  }

  #useOf({ id, use }: CallPlace) {
    for (const part of this.#partsOf(use)) if (part.kind === "toolUse" && part.id === id) return part
    return undefined
  }

  #partsOf(message: number | null): readonly Part[] {
    const [place] = message === null ? [] : placesOf(this.#db, [message])
    const line = place && lineInVault(this.#dataHome, this.#readers, place)
    return line === undefined ? [] : partsOfLine(line).parts
  }
}
