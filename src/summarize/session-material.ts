/** What a model is given to read of a session: its turns from the views, within a budget, as quoted data. */

import { toolKind } from "../agents/tool-kinds.ts"
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { toolCallsOf } from "../archive/queries/calls.ts"
import { errorsIn, latestSummary, type TurnToRead, turnsToRead } from "../archive/queries/summaries.ts"
import { filesOf } from "../archive/queries/touched-files.ts"
import { tokensOfText } from "../autopilot/token-figures.ts"
import { blockQuote, time as timeOf } from "../restore/quote.ts"
import { filterText, type SecretSettings } from "../secrets/filter.ts"
import type { Nameable, SummaryFields } from "../transcript/model-summary.ts"
import { cut, oneLine } from "../util/text.ts"

/** UTF-16 units of everything that is sent of a session, so that no session costs more than a few cents. */
const BUDGET = 60_000
/** Shares for whole turns: how a session ended matters most, then how it began. */
const END = 0.55
const BEGINNING = 0.2
/** UTF-16 units of a turn's texts, and its most calls. */
const PROMPT = 1500
const ANSWER = 1200
const CALL = 160
const ERROR = 200
const MOST_CALLS = 20
/** Of a turn that is only mentioned. */
const MENTION = 160

export interface SessionMaterial extends Nameable {
  readonly session: string
  /** Quoted turns. */
  readonly text: string
  /** Turns in it, whole or mentioned. */
  readonly turns: number
  /** What a model wrote when the session was shorter; these turns came after it. */
  readonly former: SummaryFields | undefined
  /** The last turn. */
  readonly seq: number
  readonly last: number
  /** ISO 8601. */
  readonly ended: string
  /** Estimate for what is sent. */
  readonly tokens: number
}

interface Wanted {
  readonly secrets: SecretSettings
  /** Whether to read from the beginning what was read before. */
  readonly anew: boolean
}

/** @returns undefined if there is nothing that the model has not read */
export function materialOf(
  db: Database,
  session: string,
  { secrets, anew }: Wanted,
): SessionMaterial | undefined {
  const former = anew ? undefined : latestSummary(db, session)
  const all = turnsToRead(db, session)
  const rows = all.filter(({ seq, last }) => isNew({ seq, last }, former))
  const end = rows.at(-1)
  if (end === undefined) return undefined
  const text = chosen(
    rows.map((row) => () => `${headOf(row)}\n${filterText(blockQuote(wholeTurn(db, row)), secrets)}`),
    rows.map((row) => () => `${headOf(row)}\n${filterText(blockQuote(mention(row)), secrets)}`),
  )
  const handles = new Set(all.map(({ handle }) => HANDLE_PREFIX + handle))
  const paths = new Set(all.flatMap(({ id }) => filesOf(db, id).map(({ path }) => path)))
  return {
    session,
    text,
    turns: rows.length,
    former: former?.fields,
    ...{ seq: end.seq, last: end.last, ended: end.ended ?? "" },
    tokens: tokensOfText(text.length),
    hasTurn: (handle) => handles.has(handle),
    hasFile: (path) => paths.has(path) || [...paths].some((one) => one.endsWith(`/${path}`)),
  }
}

const isNew = (
  turn: Pick<TurnToRead, "seq" | "last">,
  former: Pick<TurnToRead, "seq" | "last"> | undefined,
): boolean =>
  former === undefined ||
  turn.seq > former.seq ||
  // It was still growing.
  (turn.seq === former.seq && turn.last > former.last)

/** Whole turns at the end and the beginning, the rest in a line each, as far as there is room. In their order. */
function chosen(whole: readonly (() => string)[], brief: readonly (() => string)[]): string {
  const shown: (string | undefined)[] = whole.map(() => undefined)
  const order = whole.map((_, n) => n)
  let room = BUDGET
  const take = (texts: readonly (() => string)[], numbers: readonly number[], share: number): void => {
    let left = Math.min(room, Math.floor(BUDGET * share))
    for (const n of numbers) {
      if (shown[n] !== undefined) continue
      const text = texts[n]!()
      if (text.length > left) return
      shown[n] = text
      left -= text.length
      room -= text.length
    }
  }
  take(whole, order.toReversed(), END)
  take(whole, order, BEGINNING)
  take(brief, order.toReversed(), 1)
  const left = shown.filter((one) => one === undefined).length
  const gap = left === 0 ? [] : [`(${left} turns are left out)`]
  return [...gap, ...shown.filter((one) => one !== undefined)].join("\n\n")
}

const headOf = ({ handle, started }: TurnToRead): string =>
  // Ours, so not among the words in which handles are made harmless.
  `> turn ${HANDLE_PREFIX}${handle} ${timeOf(started ?? undefined) ?? ""}`.trim()

const mention = ({ prompt }: TurnToRead): string => `user: ${cut(oneLine(prompt), MENTION)}`

function wholeTurn(db: Database, turn: TurnToRead): string {
  const errors = errorsIn(db, turn.id)
  const calls = toolCallsOf(db, turn.id)
  const told = calls
    // What was only looked at says little about what was done.
    .filter(
      ({ id, name }) => errors.has(id) || ["run", "edit", "write", "agent"].includes(toolKind(name) ?? ""),
    )
    .map(({ id, name, target, isError }) => {
      const error = errors.get(id)
      const fate = isError === true ? ` -> failed${error ? `: ${cut(oneLine(error), ERROR)}` : ""}` : ""
      return `${name} ${cut(oneLine(target), CALL)}${fate}`
    })
  const left = told.length - MOST_CALLS
  return [
    ...(turn.prompt === "" ? [] : [`user: ${cut(turn.prompt, PROMPT)}`]),
    ...(left > 0 ? [`(${left} calls)`] : []),
    ...told.slice(-MOST_CALLS),
    ...(turn.answer === "" ? [] : [`claude: ${cut(turn.answer, ANSWER)}`]),
    ...(turn.interrupted === 1 ? ["(the user stopped it)"] : []),
    ...(turn.takenBack === 1 ? ["(the user took this turn back)"] : []),
  ].join("\n")
}
