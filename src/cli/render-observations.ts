/** Renders observations below the hits of a search. Pure. */
import type { Observation } from "../archive/queries/summaries.ts"
import type { Screen } from "./screen.ts"
import { ago } from "./screen.ts"
import { dotted, indented } from "./style.ts"

/** Below the hits of a search, which they are none of. */
export function renderObservations(found: readonly Observation[], { style, columns, now }: Screen): string[] {
  if (found.length === 0) return []
  return [
    style.dim("Observations, written by a model, not quoted from a session:"),
    ...found.flatMap(({ handle, type, title, time, turns }) => [
      indented(`${handle} ${dotted(type, ago(time, now), `from ${turns.join(" ")}`)}`, columns),
      `  ${indented(title, columns - 2)}`,
    ]),
  ]
}
