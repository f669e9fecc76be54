/** Finds turns in the archive of this computer. */
import type { Database } from "../archive/database.ts"
import type { WholeTurn } from "../read/turn.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Finder } from "./finder.ts"
import { type FoundTurns, type SearchRequest, search } from "./search-turns.ts"

export class LocalFinder implements Finder {
  readonly #db: Database
  readonly #dataHome: string
  readonly #readers: CopyReaders

  constructor(db: Database, dataHome: string, readers: CopyReaders) {
    this.#db = db
    this.#dataHome = dataHome
    this.#readers = readers
  }

  find(request: SearchRequest): FoundTurns {
    return search(this.#db, this.#dataHome, request, this.#readers)
  }

  async open(handle: string): Promise<WholeTurn | undefined> {
    // A search that opens no turn loads nothing for it.
    const { openTurn } = await import("../read/turn.ts")
    return openTurn(this.#db, this.#dataHome, handle, this.#readers)
  }
}
