/** What the user's own sessions would have cost in each way of pruning, and which of them, if any, would have paid. */

import { cut } from "../base/text.ts"
import { promptTokens } from "../record/token-counts.ts"
import { vaultFile } from "../vault/layout.ts"
import type { Database } from "../views/database.ts"
import { largestRequests } from "../views/queries/token-use.ts"
import { linesFrom } from "../views/records.ts"
import {
  batchedRule,
  clearedByApi,
  costOf,
  fullAt,
  isPriced,
  type PlayedSession,
  type PruneModel,
  playedSession,
  type RequestPrice,
  type SessionCost,
  SUMMARY_TOKENS,
  unpruned,
} from "./costs.ts"
import { DEFAULT_CLEARING, type Passage, sentPassages } from "./sent-passages.ts"
import { UNITS_PER_TOKEN, WAYS, type WayName, type WayOptions } from "./way.ts"

/** A session as it was, or as one of the ways would have made it. */
interface Spent extends Pick<SessionCost, "requests" | "compactions" | "sent" | "largest" | "prefixChanges"> {
  /** US dollars at list prices; undefined if a model has no known price. */
  readonly dollars: number | undefined
  /** Of these, for what was in the cache and had to be written to it again. */
  readonly broken: number | undefined
  /** Of the price without pruning. */
  readonly relative: number
}

export interface PlayedWays {
  readonly session: string
  readonly title: string
  /** Of the largest request, as the API counted them. */
  readonly tokens: number
  readonly none: Spent
  /** `native` as if the API remembered what it has cleared, and as if it did not. */
  readonly ways: Readonly<Record<WayName, readonly Spent[]>>
  /** What the proxy would have made of it with other options, in the order in which they were asked for. */
  readonly others: readonly Spent[]
}

/** Tokens of a session's largest request: no way does anything for shorter ones. */
export const LEAST_TOKENS = 50_000

const TITLE = 60

/** Of the latest sessions that were long enough. */
export function* playedWays(
  db: Database,
  dataHome: string,
  options: WayOptions,
  priceOf: RequestPrice,
  sessions: number,
): Generator<PlayedWays> {
  for (const { session, title, tokens, copy } of largestRequests(db, "latest", sessions, LEAST_TOKENS)) {
    const passages = sentPassages(textsOf(linesFrom(vaultFile(dataHome, copy))))
    if (passages.length === 0) continue
    const name = cut(title.replace(/\s+/g, " ").trim(), TITLE)
    const played = playedIn(playedSession(name, passages), pointOf(passages), options, priceOf)
    yield { session, title: name, tokens, ...played }
  }
}

function* textsOf(lines: Iterable<{ readonly line: string }>): Generator<string> {
  for (const { line } of lines) yield line
}

/** Tokens at which it was compacted. One that never was had room for what it sent. */
function pointOf(passages: readonly Passage[]): number {
  const largest = passages.map(({ requests }) =>
    Math.max(...requests.map(({ usage }) => promptTokens(usage))),
  )
  const compacted = largest.filter((_, n) => passages[n + 1]?.begins === "compaction")
  if (compacted.length > 0) return Math.max(...compacted)
  return (
    [200_000, 1_000_000].map(fullAt).find((point) => Math.max(...largest) < point) ?? Number.POSITIVE_INFINITY
  )
}

function playedIn(
  session: PlayedSession,
  point: number,
  { rule, proxy, others }: WayOptions,
  priceOf: RequestPrice,
): Pick<PlayedWays, "none" | "ways" | "others"> {
  const inDollars = isPriced(session, priceOf)
  const played = (model: () => PruneModel, summary = SUMMARY_TOKENS) =>
    costOf(session, model, { point, summary }, inDollars ? priceOf : undefined)
  const whole = played(unpruned)
  const spent = ({ cost, broken, output: _, ...more }: SessionCost): Spent => ({
    ...more,
    dollars: inDollars ? cost : undefined,
    broken: inDollars ? broken : undefined,
    relative: whole.cost === 0 ? 1 : cost / whole.cost,
  })
  const clearing = { ...DEFAULT_CLEARING, atLeast: rule.threshold / UNITS_PER_TOKEN }
  return {
    none: spent(whole),
    ways: {
      native: [true, false].map((remembers) =>
        spent(played(() => clearedByApi(clearing, remembers, session.overhead))),
      ),
      plugin: [spent(played(unpruned, 0))],
      proxy: [spent(played(() => batchedRule(proxy)))],
      // It leaves tools alone.
      patch: [spent(played(() => batchedRule({ ...rule, results: false })))],
    },
    others: others.map(({ options }) => spent(played(() => batchedRule(options)))),
  }
}

/* What follows from it. Pure. */

interface Verdict {
  /** Of the sessions' price without pruning, at worst: the median, and the dearest. */
  readonly median: number
  readonly worst: number
  /** Sessions that became cheaper, and dearer. */
  readonly cheaper: number
  readonly dearer: number
  /** Whether the median session would have been cheaper, and none dearer. */
  readonly pays: boolean
  /** Tokens in the largest request from which on each session would have been cheaper; undefined: there are no two. */
  readonly from: number | undefined
}

export interface WayVerdict extends Verdict {
  readonly way: WayName
}

export interface SettingVerdict extends Verdict {
  readonly setting: string
}

/** Shares that differ less are the same: tokens are estimated. */
const TOLERANCE = 0.005

/** Safest first; empty if there is no session. */
export const wayVerdicts = (sessions: readonly PlayedWays[]): WayVerdict[] =>
  sessions.length === 0 ? [] : WAYS.map((way) => ({ way, ...verdictOn(sessions, ({ ways }) => ways[way]) }))

export const settingsOn = (sessions: readonly PlayedWays[], { others }: WayOptions): SettingVerdict[] =>
  sessions.length === 0
    ? []
    : others.map(({ setting }, n) => ({ setting, ...verdictOn(sessions, (one) => [one.others[n]!]) }))

const isCheaper = (share: number): boolean => share < 1 - TOLERANCE
const isDearer = (share: number): boolean => share > 1 + TOLERANCE

function verdictOn(
  sessions: readonly PlayedWays[],
  spentIn: (session: PlayedWays) => readonly Spent[],
): Verdict {
  const bySize = sessions
    .map((session) => ({
      tokens: session.tokens,
      share: Math.max(...spentIn(session).map(({ relative }) => relative)),
    }))
    .sort((a, b) => b.tokens - a.tokens)
  const shares = bySize.map(({ share }) => share).sort((a, b) => a - b)
  const middle = (shares.length - 1) / 2
  const median = (shares[Math.floor(middle)]! + shares[Math.ceil(middle)]!) / 2
  const worst = shares.at(-1)!
  const other = bySize.findIndex(({ share }) => !isCheaper(share))
  const cheapened = other < 0 ? bySize.length : other
  return {
    median,
    worst,
    cheaper: shares.filter(isCheaper).length,
    dearer: shares.filter(isDearer).length,
    pays: isCheaper(median) && !isDearer(worst),
    from: cheapened < 2 ? undefined : bySize[cheapened - 1]!.tokens,
  }
}
