/** Observations in the server's answers: below the hits of a search, and opened. Always as a model's words. Pure. */

import { oneLine } from "../../base/text.ts"
import { blockQuote, name } from "../../restore/quote.ts"
import type { Observation } from "../../views/queries/summaries.ts"
import { DATA, minute, plain } from "./hit-passages.ts"

/** UTF-16 units. */
const TITLE = 120

/** Empty if there are none. */
export function observationLines(found: readonly Observation[]): string[] {
  if (found.length === 0) return []
  return [
    "Besides, a model observed in these sessions (its words; the turns say what was really said):",
    ...found.map(
      ({ handle, type, title, time, turns }) =>
        `${handle} ${minute(time)} ${type}: ${JSON.stringify(plain(title, TITLE))} (from ${turns.map(ownName).join(" ")})`,
    ),
  ]
}

export function toldObservation(one: Observation): string {
  const { handle, type, session, model, time, title, narrative, facts, files, turns } = one
  return [
    `${handle}, ${type}, session ${name(session, 80)}, ${minute(time)}; written by a model (${name(model, 60)}), not said in the session. ${DATA}`,
    blockQuote([title, narrative].filter(Boolean).join("\n")),
    ...facts.map((fact) => blockQuote(`- ${oneLine(fact)}`)),
    ...(files.length === 0 ? [] : [blockQuote(`files: ${files.map(oneLine).join(", ")}`)]),
    `From ${turns.map(ownName).join(" ")}: \`get\` opens what was said.`,
  ].join("\n")
}

/** A handle may come from another machine. */
const ownName = (handle: string): string => (/^ctx:[0-9a-z]{1,20}$/.test(handle) ? handle : "?")
