/** A conversation that is pruned at once, as far as it can be now. */
import { findCut, pruneAt } from "../../src/prune/prune-messages.ts"

type Rule = Parameters<typeof findCut>

export const pruneMessages = (...[messages, options, handleOf]: Rule): ReturnType<typeof pruneAt> =>
  pruneAt(messages, findCut(messages, options, handleOf), options, handleOf)
