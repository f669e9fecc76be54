/** `ctxbridge timeline`: the turns before and after a given one. */

import { agentTitle, UNMARKED } from "../../agents/agents.ts"
import { usageError } from "../../base/errors.ts"
import { count, oneLine } from "../../base/text.ts"
import { startRenewing } from "../../job/spawn.ts"
import { findByName } from "../../views/by-name.ts"
import { openCurrent } from "../../views/open-current.ts"
import { programOfSession } from "../../views/queries/sessions.ts"
import { timelineOf } from "../../views/turn-timeline.ts"
import { positive } from "../args.ts"
import { type Command, option } from "../command.ts"
import { ago, screenOf } from "../screen.ts"
import { pathShower } from "../shown-path.ts"
import { dotted, fit, indented } from "../style.ts"

const AROUND = 3

export default {
  meta: { name: "timeline", description: "Show what came before and after a turn in its session" },
  args: {
    handle: { type: "positional", required: true, description: "A turn's handle (ctx:ab12cd)" },
    around: option(`Turns on each side (${AROUND})`, "N"),
  },
  rows: {
    list: "turns",
    columns: ["handle", "seq", "started", "tools", "errors", "prompt", "answer"],
    others: ["changed", "takenBack"],
  },
  run(context) {
    const { args, env, out } = context
    const around = positive(args, "around") ?? AROUND
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const found = findByName(db, String(args["handle"]))
    if (found.kind === "session") {
      throw usageError(
        `${args["handle"]} is a session, not a turn`,
        `ctxbridge show ${args["handle"]} lists its turns`,
      )
    }
    const turns = timelineOf(db, found.turn, around)
    const { handle, session } = found.turn
    const program = programOfSession(db, session) ?? UNMARKED
    out.json({ handle, session, program, turns })
    if (out.wantsJson) return
    const { style, columns, now } = screenOf(out)
    const showPath = pathShower(context)
    if (program !== UNMARKED) out.print(style.dim(`A session of ${agentTitle(program)}`))
    for (const turn of turns) {
      const figures = dotted(
        ago(turn.started, now),
        turn.others && "written by others",
        turn.takenBack && "rewound",
        turn.tools > 0 && count(turn.tools, "tool call"),
        turn.errors > 0 && count(turn.errors, "error"),
        ...turn.changed.map((path) => showPath(path)),
      )
      out.print(
        `${turn.handle === handle ? ">" : " "} ${style.bold(turn.handle)}  ${fit(oneLine(turn.prompt), columns - turn.handle.length - 4)}`,
      )
      out.print(style.dim(indented(figures, columns)))
      if (turn.answer !== "") out.print(style.dim(indented(oneLine(turn.answer), columns)))
    }
  },
} satisfies Command
