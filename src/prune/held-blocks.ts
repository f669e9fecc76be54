/**
 * Which blocks of a session's conversation the vault holds, and the handles that open them: what is pruned must be found
 * again. Read from the transcripts themselves, since the views cut texts. A fork's transcript begins with lines of its
 * origin, so these are held as well.
 */
import { decodeLine } from "../agents/agents.ts"
import { tryTo } from "../base/files.ts"
import { parseJson } from "../base/json-files.ts"
import { isObject, type JsonObject, objectOf } from "../record/json.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { FILLER } from "../secrets/fill.ts"
import { vaultFile } from "../vault/layout.ts"
import type { Database } from "../views/database.ts"
import { identify } from "../views/identity.ts"
import { openCurrent } from "../views/open-current.ts"
import { followedCopies, handleByKey, type TurnPlace, turnPlaces } from "../views/queries/turns.ts"
import { linesFrom } from "../views/records.ts"
import {
  blocksIn,
  type Cut,
  currentPrompt,
  findCut,
  type HandleOf,
  isFurther,
  type PruneOptions,
  prunable,
  pruneAt,
  UNCUT,
} from "./prune-messages.ts"

interface HeldBlocks {
  /** Reads what was archived, and has come into the views, since the last call. */
  refresh(db: Database): void
  /** As far as it was read. */
  readonly handleOf: HandleOf
}

/** Where something was filled, there are at least so many in a row. */
const FILLED = String.fromCharCode(FILLER).repeat(4)

/** @param session those of its subagents count as its own */
export function heldBlocks(dataHome: string, session: string): HeldBlocks {
  const handles = new Map<string, string>()
  /** Texts in which something was filled, by kind and length. */
  const filled = new Map<string, { readonly text: string; readonly handle: string }[]>()
  /** Offset behind the last line that was read, by the id of the copy. */
  const read = new Map<string, number>()

  function hold(name: BlockName, handle: string): void {
    const key = keyOf(name)
    if (handles.has(key)) return
    handles.set(key, handle)
    if (!name.text.includes(FILLED)) return
    const alike = filled.get(shapeOf(name)) ?? []
    filled.set(shapeOf(name), [...alike, { text: name.text, handle }])
  }

  return {
    refresh(db) {
      for (const { id, copy, copyId, indexed } of followedCopies(db, session)) {
        const from = read.get(copyId) ?? 0
        if (from >= indexed) continue
        const handleAt = turnAt(turnPlaces(db, id))
        let handle: string | undefined
        for (const { line, offset } of linesFrom(vaultFile(dataHome, copy), from)) {
          if (offset >= indexed) break
          const message = objectOf(objectOf(parseJson(line))["message"])
          const { role } = message
          if (role !== "user" && role !== "assistant") continue
          // The views have no row for a line that says nothing, like a thought of which only the signature is sent.
          handle = handleAt(offset) ?? handleOfCopied(db, line) ?? handle
          if (handle === undefined) continue
          for (const block of blocksIn(message["content"])) {
            const name = blockName(block, role)
            if (name !== undefined) hold(name, HANDLE_PREFIX + handle)
          }
        }
        read.set(copyId, indexed)
      }
    },
    handleOf(block, role) {
      const name = blockName(block, role)
      if (name === undefined) return undefined
      const exact = handles.get(keyOf(name))
      if (exact !== undefined) return exact
      return filled.get(shapeOf(name))?.find(({ text }) => isFilled(text, name.text))?.handle
    },
  }
}

/** What tells a block from all others of its kind. */
interface BlockName {
  readonly kind: string
  readonly text: string
}

/** undefined for what is never pruned. */
function blockName(block: unknown, role: "user" | "assistant"): BlockName | undefined {
  if (!isObject(block)) return undefined
  const { type } = block
  if (type === "text") return named(`${role} text`, block["text"])
  // Clients shorten what tools returned by rules of their own; its id remains.
  if (role === "user") return type === "tool_result" ? named("result", block["tool_use_id"]) : undefined
  // Of some models' thoughts, only the signature is sent.
  if (type === "thinking") return named("thinking", block["thinking"]) ?? named("signed", block["signature"])
  return type === "redacted_thinking" ? named("redacted", block["data"]) : undefined
}

const named = (kind: string, text: unknown): BlockName | undefined =>
  typeof text === "string" && text !== "" ? { kind, text } : undefined

const shapeOf = ({ kind, text }: BlockName): string => `${kind} ${text.length}`

const keyOf = (name: BlockName): string => `${shapeOf(name)} ${Bun.hash.xxHash64(name.text)}`

/** Names a block as `handleOf` tells it from others; `""` for one that is never pruned. */
function blockKey(block: JsonObject, role: "user" | "assistant"): string {
  const name = blockName(block, role)
  return name === undefined ? "" : keyOf(name)
}

/** Whether the vault's text is this one, but for what was filled. */
function isFilled(inVault: string, text: string): boolean {
  for (let n = 0; n < text.length; n++) {
    const unit = inVault.charCodeAt(n)
    if (unit !== text.charCodeAt(n) && unit !== FILLER) return false
  }
  return true
}

/** For offsets that are asked for in rising order. */
function turnAt(places: readonly TurnPlace[]): (offset: number) => string | undefined {
  let n = 0
  return (offset) => {
    while (n < places.length && places[n]!.last <= offset) n++
    const place = places[n]
    return place !== undefined && place.first <= offset ? place.handle : undefined
  }
}

/** The handle of a line that a fork has copied. */
function handleOfCopied(db: Database, line: string): string | undefined {
  const record = decodeLine(line)
  return handleByKey(db, identify(record, record.parts, "", false, "").key)
}

/*
 * One conversation that is pruned as it grows. The rule alone would do if every request since the first had been pruned,
 * with everything in the vault. But whoever prunes may begin in the middle of a conversation, and archiving may lag
 * behind. So the cuts that were made are remembered, with what was held then: between two of them, each request begins
 * with the bytes of the one before.
 */

/** What a conversation asks of the vault. */
export interface VaultAnswers {
  /** Reads what was archived since the last call. */
  refresh(): void
  readonly handleOf: HandleOf
}

export interface PrunedConversation {
  /**
   * The messages of a request, pruned; the same array if nothing is.
   *
   * @param moves whether the cut may move now
   */
  prune(messages: readonly unknown[], moves?: boolean): readonly unknown[]
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
    prune(messages, moves = true) {
      const prompt = currentPrompt(messages)
      if (prompt === undefined) return messages
      // The user went back to an earlier prompt, or a question on the side had moved the cut.
      while ((made.at(-1)?.cut.thoughts ?? -1) > prompt) made.pop()
      if (moves && prompt !== considered && mayMove(messages, prompt)) {
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
  from: Cut,
  held: VaultAnswers,
  options: PruneOptions,
): Cut | undefined {
  // Most prompts end here, without a look at the vault.
  if (
    !isFurther(
      findCut(messages, options, () => SHORTEST),
      from,
    )
  )
    return undefined
  held.refresh()
  const moved = findCut(messages, options, held.handleOf)
  if (!isFurther(moved, from) || hasUnheldThought(messages.slice(0, prompt), held.handleOf)) return undefined
  // What was thought before this prompt was signed over another text, wherever the rule would have moved the cut.
  return { ...moved, thoughts: prompt }
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

/* What the vault holds of a session, for whoever prunes while requests wait. */

export function vaultAnswers(dataHome: string, session: string): VaultAnswers {
  const held = heldBlocks(dataHome, session)
  return {
    refresh() {
      // Without an archive, nothing is held, and so nothing is pruned. Nor is what cannot be indexed in time.
      tryTo(() => {
        using db = openCurrent(dataHome, "key")
        held.refresh(db)
      })
    },
    handleOf: held.handleOf,
  }
}
