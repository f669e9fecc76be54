/** `ctxbridge __prune`, which a patched Claude Code starts at a prompt: a question on stdin, the answer on stdout. */

import { answerClaude } from "../../base/write-output.ts"
import { loadSettings } from "../../config/load.ts"
import { isObject, type JsonObject } from "../../record/json.ts"
import { mayMove, movedCut, SHORTEST, type VaultAnswers, vaultAnswers } from "../held-blocks.ts"
import { blocksIn, type Cut, currentPrompt, type PruneOptions, pruneAt, UNCUT } from "../prune-messages.ts"
import { pruneOptions } from "../way.ts"

export async function runPruneAnswer(): Promise<void> {
  process.umask(0o077)
  try {
    const question = (await Bun.stdin.json()) as PatchQuestion
    const { paths, resolved } = loadSettings()
    const options = { ...pruneOptions(resolved.config), results: false } as const
    const held = vaultAnswers(paths.dataHome, question.session)
    answerClaude(JSON.stringify(answerPatch(question, held, options)))
  } catch {
    // There is nobody to tell; without an answer, nothing more is pruned.
    process.exitCode = 1
  }
}

/*
 * What a patched Claude Code is answered when it asks whether more of a conversation can be left out. It sends each
 * message as it has it; the API joins those of the same role, and the rule is about what the API gets. Pure.
 */

export interface PatchQuestion {
  readonly session: string
  /** Index of the first message that stays whole so far; -1: all do. */
  readonly from: number
  readonly messages: readonly unknown[]
}

interface PatchAnswer {
  /** So many more units of JSON must be there before it is worth asking again. */
  readonly wait: number
  /** Where the cut is from now on, as indexes of messages; absent: where it was. */
  readonly cut?: {
    /** The prompt at which it was moved. */
    readonly prompt: number
    /** The first message that stays whole. */
    readonly whole: number
  }
  /** What is left out with that cut. */
  readonly edits?: readonly MessageEdit[]
}

interface MessageEdit {
  readonly message: number
  readonly changes: readonly {
    readonly block: number
    /** Of what it is. */
    readonly type: unknown
    /** null: it is left out. */
    readonly instead: JsonObject | null
  }[]
}

export function answerPatch(
  { from, messages }: PatchQuestion,
  held: VaultAnswers,
  // What tools returned is for Claude Code to shorten, which may do so at any time.
  options: PruneOptions & { readonly results: false },
): PatchAnswer {
  const all = joined(messages)
  const prompt = currentPrompt(all)
  if (prompt === undefined || !mayMove(all, prompt)) return { wait: 0 }
  const texts = from < 0 ? 0 : all.filter(({ places }) => places[0]!.message < from).length
  const cut = movedCut(all, prompt, { ...UNCUT, texts }, held, options)
  if (cut === undefined) return { wait: missing(all, texts, options) }
  const whole = all[cut.texts]!.places[0]!.message
  return {
    wait: missing(all, cut.texts, options),
    cut: { prompt: all[prompt]!.places[0]!.message, whole },
    edits: editsAt(all, cut, held, options),
  }
}

interface Joined {
  readonly role: unknown
  readonly content: readonly unknown[]
  /** Of each block, where it came from. */
  readonly places: readonly { readonly message: number; readonly block: number }[]
}

function joined(messages: readonly unknown[]): Joined[] {
  const all: Joined[] = []
  for (const [message, one] of messages.entries()) {
    const { role, content } = isObject(one) ? one : {}
    const blocks = blocksIn(content)
    const places = blocks.map((_, block) => ({ message, block }))
    // Nothing of it can be pruned, and nothing follows from it.
    if (blocks.length === 0) continue
    const last = all.at(-1)
    if (last === undefined || last.role !== role) all.push({ role, content: blocks, places })
    else
      all[all.length - 1] = {
        role,
        content: [...last.content, ...blocks],
        places: [...last.places, ...places],
      }
  }
  return all
}

/** What could be saved at most behind the cut, less than what is asked for. */
function missing(all: readonly Joined[], texts: number, options: PruneOptions): number {
  const { pruned } = pruneAt(all, { ...UNCUT, texts: all.length }, options, () => SHORTEST)
  const saved = pruned.reduce((sum, one) => sum + (one.message < texts ? 0 : one.saved), 0)
  return Math.max(0, options.threshold - saved)
}

function editsAt(
  all: readonly Joined[],
  cut: Cut,
  { handleOf }: VaultAnswers,
  options: PruneOptions,
): MessageEdit[] {
  const { pruned } = pruneAt(all, cut, options, handleOf)
  const changes = pruned.map(({ message, block, instead }) => {
    const place = all[message]!.places[block]!
    const { type } = all[message]!.content[block] as JsonObject
    return { ...place, type, instead: instead ?? null }
  })
  return [...Map.groupBy(changes, ({ message }) => message)].map(([message, ones]) => ({
    message,
    changes: ones.map(({ block, type, instead }) => ({ block, type, instead })),
  }))
}
