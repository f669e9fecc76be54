/**
 * What a model wrote about a session: a summary, and observations of six types. One line of JSON in a copy of its own
 * (views/kept-summaries.ts). Lines may come from other machines, so nothing in them is trusted. Pure.
 */
import { cut } from "../base/text.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "./json.ts"

export const OBSERVATION_TYPES = ["decision", "bugfix", "feature", "refactor", "discovery", "change"] as const
export type ObservationType = (typeof OBSERVATION_TYPES)[number]

export const SUMMARY_FIELDS = ["request", "investigated", "learned", "completed", "next"] as const
/** Prose; empty where there is nothing to say. */
export type SummaryFields = Readonly<Record<(typeof SUMMARY_FIELDS)[number], string>>

export interface ObservationFields {
  /** What happened and why. */
  readonly narrative: string
  /** Single statements that hold by themselves. */
  readonly facts: readonly string[]
  readonly files: readonly string[]
  /** Handles of the turns that it is about, with `ctx:`. At least one. */
  readonly turns: readonly string[]
}

export interface Observed extends ObservationFields {
  readonly type: ObservationType
  readonly title: string
}

export interface WrittenSummary {
  readonly summary: SummaryFields
  readonly observations: readonly Observed[]
}

/** The line that is kept. */
export interface SummaryLine extends WrittenSummary {
  readonly type: typeof SUMMARY_TYPE
  readonly uuid: string
  /** That it is about. */
  readonly session: string
  /** ISO 8601. */
  readonly timestamp: string
  /** When the last turn that the model has read ended, in ISO 8601. */
  readonly ended: string
  readonly model: string
  /** US dollars, as Claude Code reports it; null: it does not. */
  readonly cost: number | null
  /** The last turn that the model has read: its number, and the offset behind its last line. */
  readonly seq: number
  readonly last: number
  /** Whether the observations of former lines stand no more. */
  readonly anew: boolean
}

export const SUMMARY_TYPE = "ctxbridge-summary"

/** UTF-16 units, and how many. */
const FIELD = 800
const TITLE = 120
const NARRATIVE = 1200
const FACT = 240
const MOST_FACTS = 8
const PATH = 300
const MOST_FILES = 12
const MOST_TURNS = 8
const MOST_OBSERVATIONS = 12

/** What may be named: everything else in an answer is made up. */
export interface Nameable {
  readonly hasTurn: (handle: string) => boolean
  readonly hasFile: (path: string) => boolean
}

/**
 * What can be used of a model's answer; undefined if it has no summary. Observations of another type, without a title or
 * without a turn of the session are left out.
 */
export function checkedSummary(value: unknown, known: Nameable): WrittenSummary | undefined {
  if (!isObject(value)) return undefined
  const given = objectOf(value["summary"])
  const fields = SUMMARY_FIELDS.map((name) => [name, textOf(given[name], FIELD)] as const)
  const summary = Object.fromEntries(fields) as SummaryFields
  if (summary.request === "" && summary.completed === "") return undefined
  const all = Array.isArray(value["observations"]) ? value["observations"] : []
  const observations = all.flatMap((one) => observed(objectOf(one), known) ?? [])
  return { summary, observations: observations.slice(0, MOST_OBSERVATIONS) }
}

function observed(given: JsonObject, known: Nameable): Observed | undefined {
  const type = OBSERVATION_TYPES.find((one) => one === given["type"])
  const title = textOf(given["title"], TITLE)
  const turns = textsIn(given["turns"], MOST_TURNS, PATH).filter(known.hasTurn)
  if (type === undefined || title === "" || turns.length === 0) return undefined
  return {
    type,
    title,
    narrative: textOf(given["narrative"], NARRATIVE),
    facts: textsIn(given["facts"], MOST_FACTS, FACT),
    files: textsIn(given["files"], MOST_FILES, PATH).filter(known.hasFile),
    turns,
  }
}

const ANYTHING: Nameable = { hasTurn: (handle) => /^ctx:[0-9a-z]+$/.test(handle), hasFile: () => true }

/** A kept line; undefined for anything else, such as one that was forgotten. */
export function summaryLineOf(line: string): SummaryLine | undefined {
  const value = parsed(line)
  if (!isObject(value) || value["type"] !== SUMMARY_TYPE) return undefined
  const written = checkedSummary(value, ANYTHING)
  const names = ["uuid", "session", "timestamp", "model", "ended"] as const
  const [uuid, session, timestamp, model, ended] = names.map((name) => stringOf(value[name]))
  const [seq, last, cost] = [value["seq"], value["last"], value["cost"]]
  if (written === undefined || !uuid || !session || !timestamp || !model) return undefined
  if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(last)) return undefined
  return {
    type: SUMMARY_TYPE,
    ...{ uuid, session, timestamp, ended: ended ?? timestamp, model: cut(model, TITLE) },
    cost: typeof cost === "number" && Number.isFinite(cost) ? cost : null,
    ...{ seq: seq as number, last: last as number, anew: value["anew"] === true },
    ...written,
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const textOf = (value: unknown, limit: number): string =>
  cut(typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd").trim() : "", limit)

const textsIn = (value: unknown, most: number, limit: number): string[] =>
  (Array.isArray(value) ? value : [])
    .map((one) => textOf(one, limit))
    .filter((one) => one !== "")
    .slice(0, most)
