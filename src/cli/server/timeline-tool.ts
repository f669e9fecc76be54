/** `timeline`: the turns around a given one, one line each. */

import { CtxError, EXIT } from "../../base/errors.ts"
import { count } from "../../base/text.ts"
import { search } from "../../find/search-turns.ts"
import {
  type SessionSummary,
  sessionSummary,
  summaryParts,
  summarySource,
} from "../../find/session-summary.ts"
import { startRenewing } from "../../job/spawn.ts"
import { name } from "../../restore/quote.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { readLabels } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { latestSession } from "../../views/queries/sessions.ts"
import { type Turn, turnsOfSession } from "../../views/turn.ts"
import { timelineOf as around, type TimelineTurn } from "../../views/turn-timeline.ts"
import { DATA, minute, plain, strange, toldLabels } from "./hit-passages.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { knownProjectIn, turnOrSession } from "./tool.ts"

const AROUND = 5
const MOST = 25
/** UTF-16 units. */
const PROMPT = 140
const ANSWER = 140
const PATH = 100
const FILES = 3

export const timelineTool: ServerTool = {
  name: "timeline",
  title: "What came before and after",
  description:
    "The turns around one, in their order, a line each: what was asked, how it ended. Without `of` or `query`, the end " +
    "of this project's latest session.",
  properties: {
    of: { type: "string", description: "A turn's handle, or a session's id for its last turns" },
    query: { type: "string", description: "Instead: around the best hit for these words" },
    around: { type: "integer", description: `Turns on each side (${AROUND})`, minimum: 0, maximum: MOST },
  },
  readOnly: true,
  run(args, world) {
    using db = openCurrent(world.dataHome, "command", startRenewing)
    const [of, query] = [args.text("of"), args.text("query")]
    const found = of === undefined ? undefined : turnOrSession(db, of)
    const turn = turnMeant(db, found, query, world)
    const labels = readLabels(world.dataHome)
    const lines = around(db, turn, args.number("around") ?? AROUND).map((one) =>
      lineOf(one, turn.handle, toldLabels(labels.on(one.handle))),
    )
    // Who asks for a turn knows already which session it is about.
    const isOfSession = found?.kind !== "turn" && query === undefined
    using readers = new CopyReaders()
    const source = { db, dataHome: world.dataHome, readers }
    const summary = isOfSession ? summaryLines(sessionSummary(source, turn.session)) : []
    return { text: [`Session ${name(turn.session, 80)}. ${DATA}`, ...summary, ...lines].join("\n") }
  },
}

/** The given turn, the given session's last, the best for a query, or the last of the project's latest session. */
function turnMeant(
  db: Database,
  found: ReturnType<typeof turnOrSession> | undefined,
  query: string | undefined,
  world: ServerWorld,
): Turn {
  if (found?.kind === "turn") return found.turn
  if (query !== undefined) return bestTurn(db, query, found?.session.id, world)
  const session = found?.session.id ?? latestSession(db, knownProjectIn(db, world))
  const last = session === undefined ? undefined : turnsOfSession(db, session).at(-1)
  if (last === undefined) throw nothingHere()
  return last
}

function bestTurn(db: Database, query: string, session: string | undefined, world: ServerWorld): Turn {
  using readers = new CopyReaders()
  const project = session === undefined ? knownProjectIn(db, world) : undefined
  const { hits } = search(db, world.dataHome, { query, limit: 1, project, session }, readers)
  const found = hits[0] && turnOrSession(db, hits[0].handle)
  if (found?.kind !== "turn") {
    throw new CtxError("not-found", "nothing has these words", {
      hint: "try fewer or other words",
      exit: EXIT.notFound,
    })
  }
  return found.turn
}

export const nothingHere = (): CtxError =>
  new CtxError("not-found", "nothing of this project is archived yet", {
    hint: "search with all_projects looks at the others",
    exit: EXIT.notFound,
  })

/**
 * @param here handle of the turn that was asked for
 * @param labels what the user has labelled it with
 */
function lineOf(turn: TimelineTurn, here: string, labels: readonly string[]): string {
  const { handle, seq, tools, errors } = turn
  const changed = turn.changed.slice(0, FILES).map((path) => JSON.stringify(strange(path, PATH)))
  const work = [
    ...(turn.others ? ["written by others"] : []),
    ...(turn.takenBack ? ["rewound"] : []),
    ...labels,
    count(tools, "tool call"),
    ...(errors > 0 ? [count(errors, "error")] : []),
    ...(changed.length > 0 ? [`changed ${changed.join(" ")}`] : []),
  ]
  const words = `${JSON.stringify(plain(turn.prompt, PROMPT))} → ${JSON.stringify(plain(turn.answer, ANSWER))}`
  return `${handle === here ? ">" : " "} ${handle} ${seq}. ${minute(turn.started)} ${words} (${work.join(", ")})`
}

/** UTF-16 units. */
const PART = 240
const SOURCE = 160
const MOST_PARTS = 8

/**
 * What a session was about: a model's words, or words of the session, and which. Empty if there is nothing to tell beyond
 * what was asked first and said last, which the turns tell themselves.
 */
function summaryLines(summary: SessionSummary): string[] {
  const parts = summaryParts(summary).slice(0, MOST_PARTS)
  if (parts.every(({ label }) => label === "asked" || label === "said last")) return []
  const source = plain(summarySource(summary), SOURCE)
  return [
    `In short, ${source}:`,
    ...parts.map(({ label, text, handle }) => {
      const from = handle === undefined ? "" : ` (${handle})`
      // Anyone can have named a file.
      const quoted = label === "changed" ? strange(text, PART) : plain(text, PART)
      return `  ${label}: ${JSON.stringify(quoted)}${from}`
    }),
  ]
}
