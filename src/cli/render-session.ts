/** Renders sessions and their turns as tables. Pure. */

import { agentTitle, UNMARKED } from "../agents/agents.ts"
import { bytes, count, oneLine } from "../base/text.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { formatTokens } from "../restore/window/zone.ts"
import { type LabelShown, labelWords } from "../views/labels.ts"
import type { CountedSession, Session } from "../views/queries/sessions.ts"
import { allTokens, type SessionUse } from "../views/queries/token-use.ts"
import type { Lineage } from "../views/queries/transcripts.ts"
import type { Turn } from "../views/turn.ts"
import { renderTable } from "./block.ts"
import { PROMPTS_ONLY } from "./render-hits.ts"
import { ago, period, type Screen } from "./screen.ts"
import type { ShowPath } from "./shown-path.ts"
import { dotted, fit, safe } from "./style.ts"

const SHORT = 8

/** Shortens ids as far as they stay distinct; a subagent's id keeps its parent's before it. */
export function shortIds(ids: readonly string[]): string[] {
  const cutTo = (length: number): string[] =>
    ids.map((id) =>
      id
        .split("/")
        .map((part) => part.slice(0, length))
        .join("/"),
    )
  const longest = Math.max(SHORT, ...ids.map((id) => id.length))
  const distinct = new Set(ids).size
  for (let length = SHORT; length < longest; length++) {
    const short = cutTo(length)
    if (new Set(short).size === distinct) return short
  }
  return [...ids]
}

/** A session as it is listed, with what the user has labelled it with, and its list price in US dollars if it is asked for. */
type Listed = { readonly label?: LabelShown; readonly listPrice?: number | null }

/** With what it has been labelled with before it. */
export const titleOf = ({ title, firstPrompt, promptsOnly, label }: Session & Listed): string => {
  const labels = labelWords(label)
  const before = [...(promptsOnly ? [PROMPTS_ONLY] : []), ...labels]
  return `${before.length > 0 ? `(${before.join(" ")}) ` : ""}${title ?? firstPrompt ?? "(no prompt)"}`
}

/** `$12.30` */
export const dollars = (cost: number): string => (cost > 0 && cost < 0.01 ? "<$0.01" : `$${cost.toFixed(2)}`)

const moneyOf = (cost: number | null): string => (cost === null ? "" : dollars(cost))

/** Tokens and cost in words; empty if nothing is known. */
export function useText(use: SessionUse): string {
  const { input, output, cacheCreation, cacheRead } = use.tokens
  const kinds = [
    `${formatTokens(input)} input`,
    `${formatTokens(cacheCreation)} written to cache`,
    `${formatTokens(cacheRead)} read from cache`,
    `${formatTokens(output)} output`,
  ]
  return dotted(
    allTokens(use.tokens) > 0 && `tokens ${kinds.join(", ")}`,
    use.cost !== null && `${dollars(use.cost)} by Claude Code's account`,
  )
}

/**
 * Adds what each has cost if that is known of one.
 *
 * @param nameOf names the projects, if there may be several
 */
export function renderSessions(
  rows: readonly (CountedSession & Listed)[],
  screen: Screen,
  nameOf?: (project: string) => string,
): string[] {
  const names = shortIds(rows.map(({ id }) => id))
  const isAtList = rows.some(({ listPrice }) => listPrice !== undefined)
  const priceOf = ({ cost, listPrice }: SessionUse & Listed) => (isAtList ? (listPrice ?? null) : cost)
  const isPriced = rows.some((row) => priceOf(row) !== null)
  const isOthers = rows.some(({ program }) => program !== UNMARKED)
  return renderTable(
    [
      { title: "session" },
      { title: "last active" },
      ...(isOthers ? [{ title: "agent" }] : []),
      ...(nameOf ? [{ title: "project", below: true }] : []),
      { title: "turns", align: "right", optional: true },
      { title: "tokens", align: "right", optional: true },
      ...(isPriced
        ? [{ title: isAtList ? "list price" : "cost", align: "right", optional: true } as const]
        : []),
      { title: "tools", align: "right", optional: true },
      { title: "errors", align: "right", optional: true },
      { title: "size", align: "right", optional: true },
      { title: "title", flexible: true, below: true },
    ],
    rows.map((row, n) => [
      safe(names[n]!),
      ago(row.ended, screen.now),
      ...(isOthers ? [row.program === UNMARKED ? "" : agentTitle(row.program)] : []),
      ...(nameOf ? [row.project === null ? "" : safe(nameOf(row.project))] : []),
      String(row.turns),
      formatTokens(allTokens(row.tokens)),
      ...(isPriced ? [moneyOf(priceOf(row))] : []),
      String(row.tools),
      String(row.errors),
      bytes(row.archived),
      titleOf(row),
    ]),
    screen.columns,
    screen.style,
  )
}

export function renderSessionHead(
  row: CountedSession & Listed,
  lineage: Lineage,
  turns: readonly Turn[],
  { style, columns, now }: Screen,
  showPath: ShowPath,
): string[] {
  // They have a number in the list, but are no turns.
  const others = turns.filter(({ via }) => via === "none").map(({ seq }) => seq)
  const besides = [
    ...(row.shared === 0 ? [] : [`${row.shared} shared`]),
    ...(others.length === 0 ? [] : [`not counting no. ${others.join(", ")}`]),
  ]
  const calls = `${count(row.tools, "tool call")}${row.errors > 0 ? `, ${count(row.errors, "error")}` : ""}`
  return [
    style.bold(`session ${safe(row.id)}`),
    fit(titleOf(row), columns),
    dotted(
      row.cwd !== null && showPath(row.cwd),
      row.branch !== null && `branch ${safe(oneLine(row.branch))}`,
      row.version !== null && `${agentTitle(row.program)} ${safe(oneLine(row.version))}`,
    ),
    period(row.started, row.ended, now),
    dotted(
      `${count(row.turns, "turn")}${besides.length === 0 ? "" : ` (${besides.join("; ")})`}`,
      count(row.messages, "message"),
      calls,
      `${bytes(row.archived)} archived`,
    ),
    useText(row),
    ...lineageLines(row, lineage),
  ].filter(Boolean)
}

function lineageLines(row: Session, { parents, children, subagents }: Lineage): string[] {
  const lines: string[] = []
  if (row.parent !== null) lines.push(`subagent of session ${safe(row.parent)}`)
  for (const { session, kind, handle } of parents) {
    const shared = handle === null ? "" : ` up to ${HANDLE_PREFIX}${handle}`
    lines.push(
      kind === "fork"
        ? `begins with session ${safe(session)}${shared}`
        : `continues session ${safe(session)} after /clear`,
    )
  }
  for (const { session, kind } of children) {
    lines.push(
      `continued in session ${safe(session)} (${kind === "fork" ? "fork or resume" : "after /clear"})`,
    )
  }
  if (subagents.length > 0)
    lines.push(`${count(subagents.length, "subagent")}: ${shortIds(subagents).map(safe).join(", ")}`)
  return lines
}

/** @param session whose they are; turns of another are those that a fork shares with it */
export function renderTurns(turns: readonly (Turn & Listed)[], session: string, screen: Screen): string[] {
  return renderTable(
    [
      { title: "turn" },
      { title: "no.", align: "right" },
      { title: "began", optional: true },
      { title: "tools", align: "right", optional: true },
      { title: "errors", align: "right", optional: true },
      { title: "prompt", flexible: true },
    ],
    turns.map((turn) => [
      turn.handle,
      String(turn.seq),
      ago(turn.started, screen.now),
      String(turn.tools),
      String(turn.errors),
      promptLine(turn, turn.session !== session),
    ]),
    screen.columns,
    screen.style,
  )
}

function promptLine(
  { via, prompt, answer, interrupted, takenBack, others, label }: Turn & Listed,
  isShared: boolean,
): string {
  const fate = [
    ...(isShared ? ["shared"] : []),
    ...(others ? ["by others"] : []),
    ...(takenBack ? ["rewound"] : []),
    ...(interrupted ? ["interrupted"] : []),
    ...labelWords(label),
  ]
  const ended = fate.length > 0 ? `(${fate.join(", ")}) ` : ""
  if (via === "none") return `${ended}(before the first prompt) ${answer}`
  return ended + (via === "bash" ? `! ${prompt}` : prompt)
}
