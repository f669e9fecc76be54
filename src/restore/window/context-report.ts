/** Examines a session's context from the archive, for commands, which have the time to read it afresh. */
import { toolFiles } from "../../agents/tool-kinds.ts"
import { contextTokens, promptTokens } from "../../record/token-counts.ts"
import type { Part, TranscriptRecord, Usage } from "../../record/types.ts"
import { vaultFile } from "../../vault/layout.ts"
import type { Database } from "../../views/database.ts"
import { automaticPoints, lastBoundary, promptsAndCompactions } from "../../views/queries/boundaries.ts"
import { modelsIn } from "../../views/queries/token-use.ts"
import { recordsFrom } from "../../views/records.ts"
import { currentTranscript } from "../../views/transcript-rows.ts"
import { type Judgement, judge, learntPoints, toldWindow } from "./context-state.ts"
import { type Circumstances, POINTS_KEPT } from "./window.ts"
import { charsOf, runwayOf, tokensOfText, trendOf } from "./zone.ts"

export interface ContextReport extends Judgement {
  readonly session: string
  readonly model: string | null
  /** Whether the tokens are estimated from the length of the text, because Claude Code has not reported a count. */
  readonly estimated: boolean
  /** The human's prompts in the whole session. */
  readonly turns: number
  readonly compactions: number
  /** Tokens that recent turns add on average; null when unknown. */
  readonly trend: number | null
  /** Turns until the critical zone; null when unknown. */
  readonly runway: number | null
  readonly fill: Fill
}

interface Conversation {
  readonly copy: string
  /** Offset of the last compaction that the views know there, or 0: what precedes it need not be read. */
  readonly from: number
}

/**
 * @param dataHome folder of vault and database
 * @returns undefined when the session has no transcript in the archive, or nothing was said in it yet
 */
export function examineContext(
  db: Database,
  dataHome: string,
  session: string,
  circumstances: Omit<Circumstances, "told">,
): ContextReport | undefined {
  const conversation = conversationOf(db, session)
  if (conversation === undefined) return undefined
  const models = modelsIn(db, session)
  // What Claude Code puts before the conversation is the size of the session's smallest request.
  const base = models.length === 0 ? 0 : Math.min(...models.map(({ least }) => least))
  const seen = read(dataHome, conversation, base)
  if (seen.tokens === undefined) return undefined
  // Just after a compaction, only the views know the model.
  const { version, tokens, model = models[0]?.model } = seen
  const most = models.find((one) => one.model === model)?.most
  // If several models were at work, there is no telling which one a compaction belongs to.
  const own = models.length > 1 ? [] : automaticPoints(db, session, POINTS_KEPT)
  const learnt =
    model === undefined ? [] : learntPoints(dataHome, model).filter((point) => !own.includes(point))
  const points = [...learnt, ...own]
  const told = toldWindow(dataHome, session)
  const judgement = judge({ tokens, model, version, most, points }, { ...circumstances, told })
  if (judgement === undefined) return undefined
  const trend = trendOf(seen.readings)
  const limit = judgement.compactsAt * circumstances.thresholds.critical
  return {
    ...judgement,
    session,
    model: model ?? null,
    estimated: seen.estimated,
    ...promptsAndCompactions(db, session),
    trend: trend ?? null,
    runway: runwayOf(tokens, limit, trend) ?? null,
    fill: seen.fill,
  }
}

function conversationOf(db: Database, session: string): Conversation | undefined {
  const row = currentTranscript(db, session)
  return row && { copy: row.copy, from: lastBoundary(db, row.id) ?? 0 }
}

interface Seen {
  readonly tokens: number | undefined
  readonly estimated: boolean
  readonly model: string | undefined
  readonly version: string | undefined
  /** Tokens at the end of each turn since the compaction. */
  readonly readings: readonly number[]
  readonly fill: Fill
}

/** @param base tokens that an estimate starts from */
function read(dataHome: string, { copy, from }: Conversation, base: number): Seen {
  let counter = new FillCounter()
  let readings: number[] = []
  let usage: Usage | undefined
  let version: string | undefined
  let chars = 0
  let left = 0
  for (const { record } of recordsFrom(vaultFile(dataHome, copy), from)) {
    if (record.sidechain) continue
    version = record.version ?? version
    // The views know of a compaction where it happened, and not of its copy in a fork.
    const boundary = record.parts.find((part) => part.kind === "boundary")
    if (boundary !== undefined) {
      counter = new FillCounter()
      readings = []
      usage = undefined
      chars = 0
      left = charsOf(boundary.postTokens ?? 0)
    }
    counter.add(record.parts)
    if (record.parts.some(({ kind }) => kind === "prompt")) {
      // What a compaction left comes before the first prompt.
      chars = Math.max(left, chars)
      if (usage !== undefined) readings.push(contextTokens(usage))
    }
    chars += lengthOf(record)
    if (record.usage !== undefined && promptTokens(record.usage) > 0) usage = record.usage
  }
  const estimated = usage === undefined
  const counted = usage === undefined ? base + tokensOfText(Math.max(left, chars)) : contextTokens(usage)
  if (usage !== undefined) readings.push(counted)
  const tokens = counted > 0 ? counted : undefined
  const model = usage?.model
  return { tokens, estimated, model, version, readings, fill: counter.fill(counted) }
}

/** UTF-16 units of a message, including tool calls and their results; as a glance counts them. */
function lengthOf({ type, parts }: TranscriptRecord): number {
  if (type !== "user" && type !== "assistant") return 0
  return parts.reduce((sum, part) => {
    if (part.kind === "toolUse") return sum + JSON.stringify(part.input ?? "").length
    return sum + ("text" in part ? part.text.length : 0)
  }, 0)
}

/*
 * What fills the window, by kind or tool and by file. Shares of what Claude Code counts, which add up to 100 %. Pure.
 */

export interface Filling {
  readonly name: string
  readonly tokens: number
  /** Percent of the context, with one decimal. */
  readonly percent: number
}

interface Fill {
  /** Largest first. */
  readonly kinds: readonly Filling[]
  /** By the file that a tool call names. Everything without a file is one entry. */
  readonly files: readonly Filling[]
}

/** What no transcript shows: the system prompt, tool descriptions, memory files. */
const UNSEEN = "system, tools and memory"
const NO_FILE = "(no file)"

const TOOL = "tool"

/** Kinds that are not listed are not sent to the model. */
const KINDS: Partial<Record<Part["kind"], string>> = {
  prompt: "prompts",
  brief: "prompts",
  text: "answers",
  thinking: "thinking",
  summary: "summary",
  context: "hooks and notices",
  notice: "hooks and notices",
  output: "hooks and notices",
}

export class FillCounter {
  readonly #kinds = new Map<string, number>()
  readonly #files = new Map<string, number>()
  readonly #calls = new Map<string, { readonly name: string; readonly file: string | undefined }>()

  add(parts: readonly Part[]): void {
    for (const part of parts) this.#part(part)
  }

  #part(part: Part): void {
    if (part.kind === "toolUse") {
      const file = toolFiles(part.name, part.input)[0]?.path
      this.#calls.set(part.id, { name: part.name, file })
      this.#count(part.name || TOOL, file, JSON.stringify(part.input ?? "").length)
    } else if (part.kind === "toolResult") {
      // The call may be before the compaction.
      const { name = "", file } = this.#calls.get(part.id) ?? {}
      this.#count(name || TOOL, file, part.text.length)
    } else if ("text" in part) {
      const kind = KINDS[part.kind]
      if (kind !== undefined) this.#count(kind, undefined, part.text.length)
    }
  }

  #count(kind: string, file: string | undefined, chars: number): void {
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + chars)
    const path = file ?? NO_FILE
    this.#files.set(path, (this.#files.get(path) ?? 0) + chars)
  }

  /** @param tokens in the context, as Claude Code counts them */
  fill(tokens: number): Fill {
    return { kinds: shares(this.#kinds, tokens, UNSEEN), files: shares(this.#files, tokens, NO_FILE) }
  }
}

/** Estimates the tokens of the text seen. What Claude Code counts beyond that goes to `rest`. */
function shares(chars: ReadonlyMap<string, number>, total: number, rest: string): Filling[] {
  const sizes = new Map([...chars].map(([name, length]) => [name, tokensOfText(length)]))
  const seen = [...sizes.values()].reduce((sum, n) => sum + n, 0)
  if (seen < total) sizes.set(rest, (sizes.get(rest) ?? 0) + total - seen)
  const whole = Math.max(seen, total)
  if (whole === 0) return []
  const scale = total / whole
  const exact = [...sizes].map(([name, size]) => ({
    name,
    size: size * scale,
    permille: (size * 1000) / whole,
  }))
  // Round up the largest remainders so that the sum is 1000.
  const missing = 1000 - exact.reduce((sum, { permille }) => sum + Math.floor(permille), 0)
  const byRemainder = exact.toSorted((a, b) => (b.permille % 1) - (a.permille % 1))
  const up = new Set(byRemainder.slice(0, missing).map(({ name }) => name))
  return exact
    .map(({ name, size, permille }) => ({
      name,
      tokens: Math.round(size),
      percent: (Math.floor(permille) + (up.has(name) ? 1 : 0)) / 10,
    }))
    .filter(({ tokens, percent }) => tokens > 0 || percent > 0)
    .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1))
}
