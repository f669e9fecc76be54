/**
 * One conversation that is pruned as it grows. The rule alone would do if every request since the first had been pruned,
 * with everything in the vault. But whoever prunes may begin in the middle of a conversation, and archiving may lag
 * behind. So the cuts that were made are remembered, with what was held then: between two of them, each request begins
 * with the bytes of the one before.
 */
import { type HandleOf, prunable } from "../prune/prunable.ts"
import {
  type Cut,
  currentPrompt,
  findCut,
  type PruneOptions,
  pruneAt,
  UNCUT,
} from "../prune/prune-messages.ts"
import { isObject } from "../transcript/json.ts"
import { blockKey } from "./held-blocks.ts"

/** What a conversation asks of the vault. */
export interface VaultAnswers {
  /** Reads what was archived since the last call. */
  refresh(): void
  readonly handleOf: HandleOf
}

export interface PrunedConversation {
  /** The messages of a request, pruned; the same array if nothing is. */
  prune(messages: readonly unknown[]): readonly unknown[]
}

/** A cut, and the answers of the vault on which it rests. */
interface Made {
  readonly cut: Cut
  readonly handleOf: HandleOf
}

/** No handle is shorter, so an estimate is never less than what is saved. */
export const SHORTEST = "ctx:000000"

export function prunedConversation(held: VaultAnswers, options: PruneOptions): PrunedConversation {
  /** Oldest first, each later in the conversation than the one before. */
  const made: Made[] = []
  /** The latest prompt at which it was considered whether to move the cut. */
  let considered = -1

  function consider(messages: readonly unknown[], prompt: number): void {
    const cut = movedCut(messages, prompt, made.at(-1)?.cut ?? UNCUT, held, options)
    if (cut !== undefined) made.push({ cut, handleOf: fixedAnswers(messages, cut, options, held.handleOf) })
  }

  return {
    prune(messages) {
      const prompt = currentPrompt(messages)
      if (prompt === undefined) return messages
      // The user went back to an earlier prompt, or a question on the side had moved the cut.
      while ((made.at(-1)?.cut.thoughts ?? -1) > prompt) made.pop()
      if (prompt !== considered && mayMove(messages, prompt)) {
        considered = prompt
        consider(messages, prompt)
      }
      const inForce = made.at(-1)
      if (inForce === undefined) return messages
      return pruneAt(messages, inForce.cut, options, inForce.handleOf).messages
    },
  }
}

/**
 * Not while tools are at work: the API wants the thoughts that led to them. Nor for a question on the side then, which
 * follows a tool's output: the conversation will go on without it.
 */
export const mayMove = (messages: readonly unknown[], prompt: number): boolean =>
  isUnanswered(messages, prompt) && followsAnswer(messages, prompt)

/**
 * Where the cut moves at a prompt at which it may; undefined: it stays.
 *
 * @param from where it is
 * @param held refreshed only if the answer may depend on it
 */
export function movedCut(
  messages: readonly unknown[],
  prompt: number,
  { texts }: Cut,
  held: VaultAnswers,
  options: PruneOptions,
): Cut | undefined {
  // Most prompts end here, without a look at the vault.
  if (findCut(messages, options, () => SHORTEST).texts <= texts) return undefined
  held.refresh()
  const { texts: moved } = findCut(messages, options, held.handleOf)
  if (moved <= texts || hasUnheldThought(messages.slice(0, prompt), held.handleOf)) return undefined
  // What was thought before this prompt was signed over another text, wherever the rule would have moved the cut.
  return { texts: moved, thoughts: prompt }
}

const roleOf = (message: unknown): unknown => (isObject(message) ? message["role"] : undefined)

const isUnanswered = (messages: readonly unknown[], prompt: number): boolean =>
  !messages.slice(prompt).some((message) => roleOf(message) === "assistant")

const followsAnswer = (messages: readonly unknown[], prompt: number): boolean =>
  prompt === 0 || roleOf(messages[prompt - 1]) !== "user"

const hasUnheldThought = (messages: readonly unknown[], handleOf: HandleOf): boolean =>
  messages.some((message) => prunable(message, THOUGHTS, handleOf).isBound)

const THOUGHTS = { maxChars: Number.POSITIVE_INFINITY, results: false }

/** What was answered for the blocks that a cut is about. Of all others, nothing is known. */
function fixedAnswers(
  messages: readonly unknown[],
  cut: Cut,
  options: PruneOptions,
  handleOf: HandleOf,
): HandleOf {
  const answers = new Map<string, string | undefined>()
  pruneAt(messages, cut, options, (block, role) => {
    const handle = handleOf(block, role)
    answers.set(blockKey(block, role), handle)
    return handle
  })
  return (block, role) => answers.get(blockKey(block, role))
}
