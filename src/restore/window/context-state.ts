/**
 * What is known about a session's context, a part of its state file that is carried from hook to hook, and how full it
 * is. Pure.
 */
import { replaceSoon, writeWhole } from "../../base/files.ts"
import { lstatSync } from "../../base/fs.ts"
import { readJson, writeJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { contextTokens } from "../../record/token-counts.ts"
import type { Glance } from "../../record/types.ts"
import { sessionFolder, sharedState } from "../../views/session-files.ts"
import {
  type Circumstances,
  type Compacts,
  compactionPoint,
  compactsHow,
  POINTS_KEPT,
  type Reading,
  windowOf,
} from "./window.ts"
import { charsOf, tokensOfText, type Zone, zoneOf } from "./zone.ts"

/** As the design documents define it. */
interface HistoryEntry {
  /** ms since the epoch. */
  readonly ts: number
  readonly tokens: number
  /** Share of the window. */
  readonly pct: number
  readonly turns: number
}

export interface ContextState {
  /** How many bytes of the transcript have been read. */
  readonly at?: number
  /** Tokens in the context after the last answer; undefined before the first. */
  readonly tokens?: number
  /** Whether `tokens` is estimated from the length of the text, because Claude Code has not reported a count. */
  readonly estimated?: boolean
  readonly model?: string
  readonly version?: string
  /** Tokens of the first request: what Claude Code puts before every conversation. 0 when it was not seen. */
  readonly base?: number
  /** Characters since the last compaction and of what it left, while `tokens` is estimated. */
  readonly chars?: number
  readonly turns: number
  readonly compactions: number
  /** Most tokens that this model is known to have held before a compaction: its window is no smaller. */
  readonly most?: number
  /** `preTokens` of the last automatic compactions. Undefined: those of other sessions have not been looked up yet. */
  readonly points?: readonly number[]
  /** The fullest zone that was told of since the last compaction. */
  readonly told?: Zone
  /** The result of the last close examination. */
  readonly judged?: Judged
  /** Readings since the last compaction. */
  readonly history: readonly HistoryEntry[]
}

interface Judged {
  /** The user's options at that time. If they change, the context is examined again. */
  readonly option: number
  readonly warn: number
  readonly critical: number
  readonly window: number
  readonly compactsAt: number
  /** Percentage of the window, as other tools were last told. */
  readonly percent: number
}

export const NEW_CONTEXT: ContextState = { turns: 0, compactions: 0, history: [] }

/*
 * The autopilot's small files: the window size that Claude Code told the status line (per session, since the model's
 * name does not imply it), the points at which it was seen to compact, and the state document for other tools.
 */

/** Next to the session's state file, and forgotten with it. */
const windowFile = (dataHome: string, session: string): string =>
  join(sessionFolder(dataHome), `${session}.json.window`)

/** Size in tokens; undefined until Claude Code has told the status line. */
export function toldWindow(dataHome: string, session: string): number | undefined {
  const window = readJson(windowFile(dataHome, session))
  return isCount(window) ? window : undefined
}

export function rememberWindow(dataHome: string, session: string, window: number): void {
  if (toldWindow(dataHome, session) !== window) writeWhole(windowFile(dataHome, session), String(window))
}

const pointsFile = (dataHome: string): string => join(dataHome, "compaction-points.json")

/** `preTokens` of the last automatic compactions with this model, oldest first. */
export function learntPoints(dataHome: string, model: string): readonly number[] {
  const points = modelPoints(dataHome)[model]
  return Array.isArray(points) ? points.filter(isCount).slice(-POINTS_KEPT) : []
}

/** @returns those that count from now on */
export function learnPoints(dataHome: string, model: string, points: readonly number[]): readonly number[] {
  const kept = points.slice(-POINTS_KEPT)
  writeJson(pointsFile(dataHome), { ...modelPoints(dataHome), [model]: kept })
  return kept
}

function modelPoints(dataHome: string): Readonly<Record<string, unknown>> {
  const document = readJson(pointsFile(dataHome))
  return typeof document === "object" && document !== null ? (document as Record<string, unknown>) : {}
}

/**
 * Publishes the state of the session with the latest prompt where other tools look for it.
 *
 * @param project a project's folder, which gets a copy if it has a place for it; no folder is created there
 */
export function publishState(dataHome: string, document: string, project: string | undefined): void {
  replaceSoon(sharedState(dataHome), document)
  if (project === undefined) return
  // Links are not followed: a repository could make them point anywhere.
  const folders = [join(project, ".claude-flow"), join(project, ".claude-flow", "data")]
  const isThere = (path: string): boolean =>
    lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  if (folders.every(isThere)) writeWhole(join(folders[1]!, "autopilot-state.json"), document)
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/** A compaction also counts what was not sent yet. Surely no more than half of it all. */
const UNSENT = 2

/** Adds what new transcript lines tell; returns the same object if they add nothing. */
export function follow(before: ContextState, seen: Glance): ContextState {
  const { usage, compactions, firstPrompt, chars } = seen
  if (usage === undefined && compactions.length === 0 && chars === 0) return before
  const after = compactions.length === 0 ? before : compacted(before, seen)
  if (usage !== undefined) {
    const { model, version } = usage
    const { estimated: _estimated, chars: _chars, points, most, ...rest } = after
    // A different model may have a different window, so what was learnt about the previous one does not apply.
    const isSame = after.model === undefined || after.model === model
    return {
      ...rest,
      ...(points === undefined || !isSame ? {} : { points }),
      ...(most === undefined || !isSame ? {} : { most }),
      tokens: contextTokens(usage),
      model,
      ...(version === undefined ? {} : { version }),
      ...(after.base === undefined && firstPrompt !== undefined ? { base: firstPrompt } : {}),
    }
  }
  if (after.tokens !== undefined && after.estimated !== true) return after
  // Claude Code has counted what a compaction leaves, its summary included.
  const left = charsOf(compactions.at(-1)?.postTokens ?? 0)
  const total = Math.max(left, (after.chars ?? 0) + chars)
  return { ...after, estimated: true, chars: total, tokens: (after.base ?? 0) + tokensOfText(total) }
}

function compacted({ told: _told, ...before }: ContextState, { compactions }: Glance): ContextState {
  const automatic = compactions.flatMap(({ trigger, preTokens }) =>
    trigger === "auto" && preTokens !== undefined ? [preTokens] : [],
  )
  const read = before.estimated === true ? 0 : (before.tokens ?? 0)
  const found = compactions.map(({ preTokens = 0 }) => preTokens / UNSENT)
  return {
    ...before,
    compactions: before.compactions + compactions.length,
    most: Math.max(before.most ?? 0, read, ...found),
    // Without a new automatic compaction, nothing was learnt.
    ...(automatic.length === 0
      ? {}
      : { points: [...(before.points ?? []), ...automatic].slice(-POINTS_KEPT) }),
    estimated: true,
    chars: 0,
    history: [],
  }
}

export interface Judgement {
  readonly tokens: number
  readonly window: number
  readonly share: number
  readonly compactsAt: number
  readonly compacts: Compacts
  /** Whether the compaction point was observed and not only computed by Claude Code's formula. */
  readonly learnt: boolean
  readonly pressure: number
  readonly zone: Zone
}

/** @returns undefined before the first reading */
export function judge(
  { tokens, model, version, most = 0, points = [] }: Reading,
  { option, told, limits, thresholds }: Circumstances,
): Judgement | undefined {
  if (tokens === undefined) return undefined
  const window = windowOf({ model, option, told, seen: Math.max(tokens, most), limits })
  const { at, learnt } = compactionPoint({ window, version, points, tokens, limits })
  const pressure = tokens / at
  const zone = zoneOf(pressure, thresholds)
  const compacts = compactsHow({ limits, version })
  return { tokens, window, share: tokens / window, compactsAt: at, compacts, learnt, pressure, zone }
}

/** Length of the history, as the design documents specify. */
const HISTORY = 50

/** @param share of the window; undefined before the first reading */
export function withPrompt(context: ContextState, share: number | undefined, now: number): ContextState {
  const turns = context.turns + 1
  const { tokens } = context
  if (tokens === undefined || share === undefined) return { ...context, turns }
  const entry = { ts: now, tokens, pct: rounded(share), turns }
  return { ...context, turns, history: [...context.history, entry].slice(-HISTORY) }
}

/** To three decimals, as the design documents specify. */
export const rounded = (share: number): number => Math.round(share * 1000) / 1000
