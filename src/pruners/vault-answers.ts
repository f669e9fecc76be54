/** What the vault holds of a session, for whoever prunes while requests wait. */
import { openForReading } from "../archive/open-for-reading.ts"
import { tryTo } from "../util/files.ts"
import type { VaultAnswers } from "./conversation.ts"
import { heldBlocks } from "./held-blocks.ts"

/** ms for bringing into the views what hooks have left. What is not done then counts as not archived. */
const PATIENCE = 300

export function vaultAnswers(dataHome: string, session: string): VaultAnswers {
  const held = heldBlocks(dataHome, session)
  return {
    refresh() {
      // Without an archive, nothing is held, and so nothing is pruned.
      tryTo(() => {
        using db = openForReading(dataHome, undefined, PATIENCE)
        held.refresh(db)
      })
    },
    handleOf: held.handleOf,
  }
}
