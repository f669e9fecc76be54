/** Renders what a session was about, and what a model observed in it. */

import { oneLine } from "../base/text.ts"
import type { Observation } from "../views/queries/summaries.ts"
import { type SessionSummary, summaryParts, summarySource } from "../views/session-summary.ts"
import type { Screen } from "./screen.ts"
import { ago, wrapped, wrappedIn } from "./screen.ts"
import { fit, indented, safe } from "./style.ts"

const INDENT = "  "

/** For the head of a session: empty if there is nothing to tell. */
export function renderSummary(summary: SessionSummary, { style, columns }: Screen): string[] {
  const parts = summaryParts(summary)
  if (parts.length === 0) return []
  const observations = summary.kind === "model" ? summary.observations : []
  return [
    ...wrapped(`Summary, ${safe(summarySource(summary))}:`, columns).map(style.dim),
    ...parts.flatMap(({ label, text, handle }) =>
      wrappedIn(
        INDENT,
        `${label}: ${oneLine(safe(text))}${handle === undefined ? "" : ` (${handle})`}`,
        columns,
      ),
    ),
    ...observations.map(({ handle, type, title }) => indented(`${handle} ${type}: ${title}`, columns)),
  ]
}

/** One as a whole. */
export function renderObservation(one: Observation, { style, columns, now }: Screen): string[] {
  const { handle, type, title, session, model, time, narrative, facts, files, turns } = one
  return [
    `${style.bold(handle)}  ${type}`,
    style.bold(fit(title, columns)),
    style.dim(fit(`written by a model (${model}) · ${ago(time, now)} · session ${session}`, columns)),
    "",
    ...(narrative === "" ? [] : [...wrapped(oneLine(safe(narrative)), columns), ""]),
    ...facts.flatMap((fact) => wrappedIn(INDENT, `- ${oneLine(safe(fact))}`, columns)),
    ...files.map((file) => `file ${safe(oneLine(file))}`),
    ...turns.map((turn) => `from ${safe(turn)}`),
  ]
}
