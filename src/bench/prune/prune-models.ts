/**
 * What each way makes of the messages of a request: models, by which their costs are compared. A model is asked at each
 * request of a conversation, and may remember. Pure.
 */
import { currentPrompt, findCut, type PruneOptions, pruneAt, UNCUT } from "../../prune/prune-messages.ts"
import type { SentMessage } from "../../pruners/savings.ts"
import { type Clearing, clearableResults, clearedResult, unitsOf } from "../../pruners/savings.ts"
import { cut } from "../../util/text.ts"

export interface PruneModel {
  /** @param tokens of so many units of JSON */
  sent(messages: readonly SentMessage[], tokens: (units: number) => number): readonly SentMessage[]
}

export const unpruned = (): PruneModel => ({ sent: (messages) => messages })

/** `ctx:` and a handle. */
const HELD = () => "ctx:000000"

/** Our rule, with everything in the vault: the cut moves at a prompt only. */
export function batchedRule(options: PruneOptions): PruneModel {
  let cutAt = UNCUT
  let considered = -1
  let before: readonly SentMessage[] = []
  return {
    sent(messages) {
      const prompt = currentPrompt(messages) ?? -1
      if (prompt > considered) {
        considered = prompt
        const found = findCut(messages, options, HELD)
        if (found.texts > cutAt.texts) {
          cutAt = found
          const whole = messages.slice(0, Math.max(cutAt.texts, cutAt.thoughts))
          before = pruneAt(whole, cutAt, options, HELD).messages as readonly SentMessage[]
        }
      }
      const end = Math.max(cutAt.texts, cutAt.thoughts)
      return end === 0 ? messages : [...before, ...messages.slice(end)]
    },
  }
}

export interface SlidingCut {
  /** Latest messages of the user's role that stay whole. What tools returned counts as well. */
  readonly keep: number
  readonly maxChars: number
  /** Tokens of a conversation from which on it cuts. */
  readonly threshold: number
}

/** The cut is made anew for each request; whether that gains anything does not matter. Thinking stays. */
export function slidingCut({ keep, maxChars, threshold }: SlidingCut): PruneModel {
  const shortened = new Map<SentMessage, SentMessage>()
  const short = (message: SentMessage): SentMessage => {
    const known = shortened.get(message)
    if (known !== undefined) return known
    const content = message.content.map((block) => {
      const { text } = block
      const isLong = typeof text === "string" && text.length > maxChars
      return isLong ? { ...block, text: `${cut(text, maxChars, "")}\n[pruned]` } : block
    })
    const made = content.every((block, n) => block === message.content[n]) ? message : { ...message, content }
    shortened.set(message, made)
    return made
  }
  return {
    sent(messages, tokens) {
      if (tokens(unitsIn(messages)) < threshold) return messages
      const users = messages.flatMap(({ role }, n) => (role === "user" ? [n] : []))
      const from = users.at(-keep) ?? 0
      return messages.map((message, n) => (n < from ? short(message) : message))
    },
  }
}

/**
 * The API's clearing of results. Its documentation does not say whether what was cleared stays cleared, with the next
 * clearing due when that saves enough again (`remembers`), or whether each request is looked at for itself.
 */
export function clearedByApi(
  { trigger, keep, atLeast }: Clearing,
  remembers: boolean,
  overhead: number,
): PruneModel {
  /** Results that stay cleared, the oldest ones. */
  let done = 0
  return {
    sent(messages, tokens) {
      const all = clearableResults(messages, keep)
      const before = remembers ? done : 0
      const whole = withoutResults(messages, all.slice(0, before))
      const cleared = withoutResults(messages, all)
      const isDue = overhead + tokens(unitsIn(whole)) >= trigger
      const isWorth = tokens(unitsIn(whole) - unitsIn(cleared)) >= atLeast
      if (!isDue || !isWorth) return whole
      done = all.length
      return cleared
    },
  }
}

function withoutResults(
  messages: readonly SentMessage[],
  results: readonly (readonly [message: number, block: number])[],
): readonly SentMessage[] {
  const blocks = new Map<number, Set<number>>()
  for (const [message, block] of results) blocks.set(message, (blocks.get(message) ?? new Set()).add(block))
  return messages.map((message, n) => {
    const gone = blocks.get(n)
    return gone === undefined ? message : withoutBlocks(message, gone)
  })
}

/** The same object for the same message, so that what did not change is seen at once. */
const made = new WeakMap<SentMessage, { readonly count: number; readonly message: SentMessage }>()

function withoutBlocks(message: SentMessage, gone: ReadonlySet<number>): SentMessage {
  const known = made.get(message)
  if (known?.count === gone.size) return known.message
  const content = message.content.map((block, n) => (gone.has(n) ? clearedResult(block) : block))
  made.set(message, { count: gone.size, message: { ...message, content } })
  return made.get(message)!.message
}

const counted = new WeakMap<SentMessage, number>()

/** UTF-16 units of JSON. */
export const unitsIn = (messages: readonly SentMessage[]): number =>
  messages.reduce((sum, message) => {
    const known = counted.get(message) ?? message.content.reduce((units, block) => units + unitsOf(block), 0)
    counted.set(message, known)
    return sum + known
  }, 0)
