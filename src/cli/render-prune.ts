/** Ways of pruning, for people. Pure. */

import { count, percent } from "../base/text.ts"
import { WAYS, type WayName, type WayState } from "../prune/way.ts"
import type { Recommended } from "../prune/ways.ts"
import { type ClientWays, PRUNE_WAYS, type PruneReport, shareSaved } from "../prune/ways.ts"
import { formatTokens } from "../restore/window/token-figures.ts"
import { renderPairs, renderTable, wholePath } from "./block.ts"
import type { Screen } from "./screen.ts"
import { safe } from "./style.ts"

const NOT_ARCHIVING =
  "The hooks of ctxbridge are not registered: nothing is archived, so nothing should be pruned. Run `ctxbridge install` first."

const NO_CLIENT = "Claude Code was not found: no `claude` on PATH or in the usual places."

export function renderPruneReport(report: PruneReport, screen: Screen): string[] {
  const { clients, isArchiving } = report
  const { style } = screen
  return [
    ...(clients.length === 0 ? [NO_CLIENT, ""] : []),
    ...clients.flatMap((client) => [
      style.bold(nameOf(client)),
      ...renderPairs(
        client.ways.map((state) => [state.way, stateOf(state)]),
        style,
      ).map((line) => `  ${line}`),
      "",
    ]),
    ...savings(report, screen),
    "What each does:",
    ...PRUNE_WAYS.flatMap(({ name, what, risk }) => [
      `  ${name.padEnd(WIDTH)}  ${what}`,
      style.dim(`${INDENT}risk: ${risk}`),
    ]),
    "",
    isArchiving ? "`ctxbridge prune recommend` says which is the safest that works here." : NOT_ARCHIVING,
  ]
}

const WIDTH = Math.max(...WAYS.map(({ length }) => length))
const INDENT = " ".repeat(WIDTH + 4)

const nameOf = ({ version, kind, path }: ClientWays): string =>
  `Claude Code ${safe(version ?? "of an unknown version")} (${kind}), ${wholePath(path)}`

function stateOf({ unsupported, isActive, detail, problem }: WayState): string {
  const state = isActive ? "on" : unsupported === undefined ? "off" : "not here"
  const told = [detail, problem, unsupported].filter((text) => text !== undefined)
  return safe(told.length === 0 ? state : `${state}: ${told.join("; ")}`)
}

function savings({ sessions }: PruneReport, { columns, style }: Screen): string[] {
  if (sessions.length === 0) return ["No session is archived yet to estimate savings from.", ""]
  const right = (title: string) => ({ title, align: "right" as const })
  const head = [{ title: "session", flexible: true }, right("tokens"), ...WAYS.map(right)]
  const rows = sessions.map(({ title, tokens, saved }) => [
    safe(title),
    formatTokens(tokens),
    ...WAYS.map((way) => (saved[way] === undefined ? "" : formatTokens(saved[way]))),
  ])
  const all = WAYS.map((way) => shown(shareSaved(sessions, way)))
  return [
    `What each would have saved in ${count(sessions.length, "session")}, in tokens, when the context was largest:`,
    ...renderTable(head, [...rows, ["together", "", ...all]], columns, style),
    "",
  ]
}

const shown = (share: number | undefined): string => (share === undefined ? "" : percent(share))

export function renderRecommendation(
  { isArchiving, sessions }: PruneReport,
  client: ClientWays,
  picked: Recommended | undefined,
): string[] {
  const lines = [`${nameOf(client)}:`]
  if (picked === undefined)
    return [...lines, ...client.ways.map(passedOver).map(indented), indented("None of them works.")]
  const way = PRUNE_WAYS.find(({ name }) => name === picked.way)!
  const saved = shown(shareSaved(sessions, picked.way))
  const told = saved === "" ? "" : ` It would have saved ${saved} of the tokens in your latest sessions.`
  lines.push(
    indented(`${picked.way}: ${way.what}.${told}`),
    ...picked.passed.map(({ way: name, why }) => indented(passed(name, why))),
    indented(`Risk: ${way.risk}.`),
  )
  if (picked.isActive) return [...lines, indented(`It is on. Undo with \`${way.stop}\`.`)]
  if (!isArchiving) lines.push(indented(NOT_ARCHIVING))
  return [...lines, indented(`Start it with \`${way.start}\`, undo it with \`${way.stop}\`.`)]
}

const indented = (text: string): string => `  ${safe(text)}`

const passed = (way: WayName, why: string): string => `${way} would be safer, but does not work here: ${why}.`

const passedOver = ({ way, unsupported = "" }: WayState): string => `${way}: ${unsupported}`
