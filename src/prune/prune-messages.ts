/**
 * The one rule for what a conversation can do without, over the messages of the Messages API: the beginning of old texts
 * is enough, and old thinking goes. Pure, and without a state: where the cut stands is worked out from the first message
 * on, so a longer conversation, a resumed one and a restarted program have the same cut.
 *
 * The cut moves only at a new prompt, and only in steps. What precedes it is then byte for byte what was sent before, and
 * the API's cache holds. Thinking is signed together with all that precedes it, so whatever was thought before the cut
 * moved is removed, and what was thought afterwards remains valid.
 */
import { isObject, objectOf } from "../transcript/json.ts"
import { blocksIn, type HandleOf, type PrunableOptions, type Pruning, prunable } from "./prunable.ts"

export interface PruneOptions extends PrunableOptions {
  /** Latest prompts that stay whole, with all that follows them. The current one always does. */
  readonly keep: number
  /** The cut moves when so much could be saved behind it, the latest prompts included. UTF-16 units of JSON. */
  readonly threshold: number
  /** And when moving saves at least so much. */
  readonly step: number
}

interface PrunedBlock extends Pruning {
  /** Index of the message among those given. */
  readonly message: number
}

interface PrunedMessages {
  /** The ones given, if nothing was pruned. What is not pruned is the same object. */
  readonly messages: readonly unknown[]
  readonly pruned: readonly PrunedBlock[]
}

export function pruneMessages(
  messages: readonly unknown[],
  options: PruneOptions,
  handleOf: HandleOf,
): PrunedMessages {
  return pruneAt(messages, findCut(messages, options, handleOf), options, handleOf)
}

/** Indexes of the first messages that stay whole. */
export interface Cut {
  readonly texts: number
  readonly thoughts: number
}

export const UNCUT: Cut = { texts: 0, thoughts: 0 }

/** Prunes what lies before a cut, wherever it would be now. */
export function pruneAt(
  messages: readonly unknown[],
  { texts, thoughts }: Cut,
  options: PrunableOptions,
  handleOf: HandleOf,
): PrunedMessages {
  const kept: unknown[] = []
  const pruned: PrunedBlock[] = []
  const end = Math.max(texts, thoughts)
  for (const [n, message] of messages.slice(0, end).entries()) {
    const prunings = prunable(message, options, handleOf).prunings.filter(
      ({ kind }) => n < (kind === "thinking" ? thoughts : texts),
    )
    for (const pruning of prunings) pruned.push({ message: n, ...pruning })
    kept.push(...applied(message, prunings))
  }
  if (pruned.length === 0) return { messages, pruned }
  return { messages: [...kept, ...messages.slice(end)], pruned }
}

/** Where the cut is, worked out from the first message on. */
export function findCut(
  messages: readonly unknown[],
  { keep, threshold, step, ...options }: PruneOptions,
  handleOf: HandleOf,
): Cut {
  const prompts: number[] = []
  /** What could be saved before each message. */
  const before = [0]
  let cut = UNCUT
  let isAnswered = true
  for (const [n, message] of messages.entries()) {
    const { role, isPrompt, prunings, isBound } = prunable(message, options, handleOf)
    const total = before[n]!
    // Some clients send what was typed one after the other as several messages.
    if (isPrompt && isAnswered) {
      isAnswered = false
      prompts.push(n)
      const texts = prompts.at(-Math.max(1, keep)) ?? 0
      const done = before[cut.texts]!
      if (total - done >= threshold && before[texts]! - done >= Math.max(1, step))
        cut = { texts, thoughts: n }
    }
    if (isBound) break
    if (role === "assistant") isAnswered = true
    before.push(prunings.reduce((sum, { kind, saved }) => sum + (kind === "thinking" ? 0 : saved), total))
  }
  return cut
}

/** Index of the prompt that is worked on, the first of several in a row; undefined if there is none. */
export function currentPrompt(messages: readonly unknown[]): number | undefined {
  let prompt: number | undefined
  for (let n = messages.length - 1; n >= 0; n--) {
    const { role, isPrompt } = prunable(messages[n], NOTHING, () => undefined)
    if (isPrompt) prompt = n
    if (role === "assistant" && prompt !== undefined) break
  }
  return prompt
}

const NOTHING: PrunableOptions = { maxChars: Number.POSITIVE_INFINITY, results: false }

/** A message of which nothing is left is left out. The API joins messages of the same role. */
function applied(message: unknown, prunings: readonly Pruning[]): unknown[] {
  if (prunings.length === 0 || !isObject(message)) return [message]
  const { content } = message
  const byBlock = new Map(prunings.map(({ block, instead }) => [block, instead]))
  const blocks = blocksIn(content).flatMap((block, n) => {
    const left = byBlock.has(n) ? byBlock.get(n) : block
    return left === undefined ? [] : [left]
  })
  if (blocks.length === 0) return []
  return [{ ...message, content: typeof content === "string" ? objectOf(blocks[0])["text"] : blocks }]
}
