/** The function that a patch inserts, with an answer that is given here instead of by a program. */
import { functionFor } from "../../src/prune/patch/examine-program.ts"

/** A message as Claude Code keeps it. */
export interface OwnMessage {
  readonly type: string
  readonly uuid: string
  readonly message?: { readonly id?: string; readonly content: string | readonly OwnBlock[] }
  readonly [flag: string]: unknown
}

export interface OwnBlock {
  readonly type: string
  readonly [field: string]: unknown
}

export interface Inserted {
  prune(messages: readonly OwnMessage[], context: object): Promise<readonly OwnMessage[]>
  /** What was pruned before, without asking. */
  applied(messages: readonly OwnMessage[]): readonly OwnMessage[]
  /** What a compaction sends. */
  summarised(messages: readonly OwnMessage[]): readonly OwnMessage[]
}

/** What a program writes, with exit code 0; an exception: it cannot be started. */
type Program = (question: string) => string

/** @param env the environment of Claude Code */
export function inserted(
  answer: Program,
  env: Record<string, string> = {},
  session: () => string = () => "11111111-2222-4333-8444-555555555555",
): Inserted {
  const text = functionFor("/nowhere/ctxbridge").replace(
    'import("node:child_process")',
    "Promise.resolve({ spawn })",
  )
  const make = new Function(
    "spawn",
    "process",
    "ctxbridgeSession",
    `${text}; return { prune: _aggressiveTextPrune, applied: _ctxbridgeApplied, summarised: _ctxbridgeSummarised }`,
  )
  return make(spawnOf(answer), { env }, session)
}

function spawnOf(answer: Program) {
  return () => {
    const heard = new Map<string, (value: unknown) => void>()
    return {
      kill() {},
      on: (name: string, then: (value: unknown) => void) => heard.set(name, then),
      stdout: { on: (_: string, then: (value: unknown) => void) => heard.set("data", then) },
      stdin: {
        on() {},
        end(question: string) {
          try {
            heard.get("data")!(Buffer.from(answer(question)))
            heard.get("close")!(0)
          } catch (error) {
            heard.get("error")!(error)
          }
        },
      },
    }
  }
}
