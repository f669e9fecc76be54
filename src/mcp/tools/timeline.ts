/** `timeline`: the turns around one, a line each. */
import type { Database } from "../../archive/database.ts"
import { find } from "../../archive/find.ts"
import { HANDLE_PREFIX } from "../../archive/handle-prefix.ts"
import { openForReading, type TurnRow, turnsOf } from "../../archive/read.ts"
import { latestSession } from "../../restore/scope.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import { DATA, minute, named, plain } from "../quoting.ts"
import { projectIn } from "../scope.ts"
import type { Tool, World } from "../tool.ts"

const AROUND = 5
const MOST = 25
const PROMPT = 140
const ANSWER = 140

export const timeline: Tool = {
  name: "timeline",
  title: "What came before and after",
  description:
    "The turns around one, in their order, a line each: what was asked, how it ended. Without `of`, the end of this " +
    "project's latest session.",
  properties: {
    of: { type: "string", description: "A turn's handle (ctx:ab12cd), or a session's id for its last turns" },
    before: { type: "integer", description: `Turns before it (${AROUND})`, minimum: 0, maximum: MOST },
    after: { type: "integer", description: `Turns after it (${AROUND})`, minimum: 0, maximum: MOST },
  },
  readOnly: true,
  run(args, world) {
    const db = openForReading(world.dataHome)
    try {
      const { session, turn } = placeOf(db, args.text("of"), world)
      const all = turnsOf(db, session)
      const at = turn === undefined ? all.length - 1 : all.findIndex(({ id }) => id === turn.id)
      const from = Math.max(0, at - (args.number("before") ?? AROUND))
      const to = Math.min(all.length, at + (args.number("after") ?? AROUND) + 1)
      const shown = all.slice(from, to).map((row) => shownOf(row, row.id === turn?.id))
      const name = named(session, 80)
      const place = `turns ${from + 1} to ${to} of ${all.length}`
      return {
        text: [`Session ${name}, ${place}. ${DATA}`, ...shown.map(lineOf)].join("\n"),
        structured: { note: DATA, session: name, turns: shown, from: from + 1, of: all.length },
      }
    } finally {
      db.close()
    }
  },
}

function placeOf(
  db: Database,
  word: string | undefined,
  world: World,
): { session: string; turn: TurnRow | undefined } {
  if (word !== undefined) {
    const found = find(db, word)
    return found.kind === "turn"
      ? { session: found.turn.session, turn: found.turn }
      : { session: found.session.id, turn: undefined }
  }
  const latest = latestSession(db, projectIn(world), "")
  if (latest === undefined) throw nothingHere()
  return { session: latest, turn: undefined }
}

export const nothingHere = (): CtxError =>
  new CtxError("not-found", "nothing of this project is archived yet", {
    hint: "search with all_projects looks at the others",
    exit: EXIT.notFound,
  })

interface Shown {
  readonly handle: string
  readonly time: string
  readonly prompt: string
  readonly answer: string
  readonly tools: number
  readonly errors: number
  /** The turn that was asked for. */
  readonly here?: true
}

function shownOf(row: TurnRow, isHere: boolean): Shown {
  return {
    handle: HANDLE_PREFIX + row.handle,
    time: minute(row.started),
    prompt: row.via === "none" ? "" : plain(row.prompt, PROMPT),
    answer: plain(row.answer, ANSWER),
    tools: row.tools,
    errors: row.errors,
    ...(isHere ? { here: true } : {}),
  }
}

function lineOf({ handle, time, prompt, answer, tools, errors, here }: Shown): string {
  const work = `${tools} tools${errors > 0 ? `, ${errors} errors` : ""}`
  return `${here ? "> " : "  "}${handle} ${time} ${JSON.stringify(prompt)} → ${JSON.stringify(answer)} (${work})`
}
