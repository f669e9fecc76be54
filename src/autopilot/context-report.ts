/** Examines a session's context from the archive, for commands, which have the time to read it afresh. */

import type { Database } from "../archive/database.ts"
import { automaticPoints, lastBoundary, promptsAndCompactions } from "../archive/queries/boundaries.ts"
import { modelsIn } from "../archive/queries/token-use.ts"
import { recordsFrom } from "../archive/records.ts"
import { currentTranscript } from "../archive/transcript-rows.ts"
import { contextTokens, promptTokens } from "../transcript/token-counts.ts"
import type { TranscriptRecord, Usage } from "../transcript/types.ts"
import { vaultFile } from "../vault/layout.ts"
import { learntPoints, toldWindow } from "./autopilot-files.ts"
import { charsOf, tokensOfText } from "./token-figures.ts"
import { type Judgement, judge } from "./track-context.ts"
import { type Circumstances, POINTS_KEPT } from "./window.ts"
import { type Fill, FillCounter } from "./window-fill.ts"
import { runwayOf, trendOf } from "./zone.ts"

export interface ContextReport extends Judgement {
  readonly session: string
  readonly model: string | null
  /** Whether the tokens are estimated from the length of the text, because the host has not reported a count. */
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
  // What the host puts before the conversation is the size of the session's smallest request.
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
