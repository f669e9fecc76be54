/** Prunes the body of a request, or leaves it as it is: whenever there is a doubt, the bytes that came are sent. */
import { blocksIn } from "../../prune/prunable.ts"
import type { PruneOptions } from "../../prune/prune-messages.ts"
import { isObject } from "../../transcript/json.ts"
import { type PrunedConversation, prunedConversation, type VaultAnswers } from "../conversation.ts"
import { sessionNamed } from "./session-named.ts"

export interface PrunedBody {
  /** What to send. */
  readonly text: string
  /** UTF-16 units of JSON less than what came. */
  readonly saved: number
}

export interface RequestPruner {
  /**
   * @param text a request's body
   * @param session what a header says
   * @returns undefined if it is to be sent as it came
   */
  prune(text: string, session: string | null): PrunedBody | undefined
}

/** Conversations that are remembered: those of the session, its subagents, and what it was before compactions. */
const MOST = 200

/** @param answersFor what of a session the vault holds */
export function requestPruner(
  options: PruneOptions,
  answersFor: (session: string) => VaultAnswers,
): RequestPruner {
  /** The latest at the end. */
  const conversations = new Map<string, PrunedConversation>()
  const sessions = new Map<string, VaultAnswers>()

  function conversationOf(session: string, messages: readonly unknown[]): PrunedConversation {
    const name = `${session} ${beginning(messages[0])}`
    const answers = latest(sessions, session, () => answersFor(session))
    return latest(conversations, name, () => prunedConversation(answers, options))
  }

  return {
    prune(text, header) {
      // No conversation that is shorter as a whole can have so much to prune.
      if (text.length < options.threshold) return undefined
      const body: unknown = JSON.parse(text)
      const session = sessionNamed(header, body)
      if (!isObject(body) || session === undefined) return undefined
      const { messages } = body
      if (!Array.isArray(messages)) return undefined
      const pruned = conversationOf(session, messages).prune(messages)
      if (pruned === messages) return undefined
      const left = JSON.stringify({ ...body, messages: pruned })
      return { text: left, saved: text.length - left.length }
    },
  }
}

/** What tells conversations of a session apart: each begins with something else. */
function beginning(message: unknown): string {
  if (!isObject(message)) return ""
  const blocks = blocksIn(message["content"]).map((block) =>
    isObject(block) ? { ...block, cache_control: undefined } : block,
  )
  return String(Bun.hash.xxHash64(JSON.stringify([message["role"], blocks])))
}

function latest<T>(all: Map<string, T>, name: string, make: () => T): T {
  const value = all.get(name) ?? make()
  all.delete(name)
  all.set(name, value)
  for (const oldest of all.keys()) {
    if (all.size <= MOST) break
    all.delete(oldest)
  }
  return value
}
