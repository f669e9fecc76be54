/** Which blocks of a session's conversation the vault holds, and the handles that open them. */
import type { Database } from "../archive/database.ts"
import type { HandleOf } from "../prune/prunable.ts"

export interface HeldBlocks {
  /** Reads what was archived since the last call. */
  refresh(): void
  readonly handleOf: HandleOf
}

export function heldBlocks(_db: Database, _dataHome: string, _session: string): HeldBlocks {
  return { refresh() {}, handleOf: () => undefined }
}
