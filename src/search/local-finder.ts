/** Finds turns in the archive of this computer. */
import type { Database } from "../archive/database.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Finder } from "./finder.ts"
import { type FoundTurns, type SearchRequest, search } from "./search-turns.ts"

interface LocalFinder extends Finder {
  find(request: SearchRequest): FoundTurns
}

export const localFinder = (db: Database, dataHome: string, readers: CopyReaders): LocalFinder => ({
  find: (request) => search(db, dataHome, request, readers),
  async open(handle) {
    // A search that opens no turn loads nothing for it.
    const { openTurn } = await import("../read/turn.ts")
    return openTurn(db, dataHome, handle, readers)
  },
})
