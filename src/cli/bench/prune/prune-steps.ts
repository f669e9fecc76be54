/** A session as steps that can be played again under any rule: what was said to the model, and what it answered. Pure. */
import type { Passage, SentMessage } from "../../../prune/savings.ts"
import { scaleOf, unitsOf } from "../../../prune/savings.ts"

export interface SessionStep {
  /** Said since the answer before. */
  readonly news: readonly SentMessage[]
  readonly answer: SentMessage
  /** Tokens of the answer. */
  readonly output: number
}

export interface PlayedSession {
  readonly name: string
  readonly unitsPerToken: number
  /** Tokens of each request that are not in its messages. */
  readonly overhead: number
  readonly steps: readonly SessionStep[]
}

/** How a summary begins. What it stands for is played itself. */
const SUMMARY = "This session is being continued from a previous conversation"

/** Without the compactions that took place: each way has its own. What the user took back stays. */
export function playedSession(name: string, passages: readonly Passage[]): PlayedSession {
  const scales = passages.map(scaleOf)
  // The longest tells most. What a compaction left is not overhead.
  const longest = passages.reduce(
    (most, one) => (one.requests.length > most.requests.length ? one : most),
    passages[0]!,
  )
  const { unitsPerToken } = scales[passages.indexOf(longest)]!
  const steps = passages.flatMap(({ kept, messages, requests }) => {
    let from = kept
    return requests.flatMap((request): SessionStep[] => {
      const news = messages.slice(from, request.messages).flatMap(withoutSummary)
      from = request.messages + 1
      const answer = messages[request.messages]
      if (answer === undefined) return []
      const units = answer.content.reduce((sum, block) => sum + unitsOf(block), 0)
      // Some lines have the count of a message that was only begun.
      return [{ news, answer, output: Math.max(request.usage.output, Math.round(units / unitsPerToken)) }]
    })
  })
  return { name, unitsPerToken, overhead: scales[0]!.overhead, steps }
}

function withoutSummary(message: SentMessage): SentMessage[] {
  const content = message.content.filter(({ text }) => typeof text !== "string" || !text.startsWith(SUMMARY))
  return content.length === 0 ? [] : [{ ...message, content }]
}
