/**
 * One conversation that is pruned as it grows: the rule, and what has to be remembered between requests so that the same
 * beginning is always sent in the same bytes.
 */
import type { PruneOptions } from "../prune/prune-messages.ts"
import type { HeldBlocks } from "./held-blocks.ts"

export interface PrunedConversation {
  /** The messages of a request, pruned; the ones given, the same array, if nothing is. */
  prune(messages: readonly unknown[]): readonly unknown[]
}

export function prunedConversation(_held: HeldBlocks, _options: PruneOptions): PrunedConversation {
  return { prune: (messages) => messages }
}
