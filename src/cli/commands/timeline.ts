/** `ctxbridge timeline`: the turns before and after a given one. */
import { openForReading } from "../../archive/open-for-reading.ts"
import { findByName } from "../../read/by-name.ts"
import { timelineOf } from "../../read/turn-timeline.ts"
import { usageError } from "../../util/errors.ts"
import { count, oneLine } from "../../util/text.ts"
import { positive } from "../args.ts"
import type { Command } from "../command.ts"
import { screenOf } from "../screen.ts"
import { fit, indented } from "../style.ts"
import { ago } from "../when.ts"

const AROUND = 3

export default {
  meta: { name: "timeline", description: "Show what came before and after a turn in its session" },
  args: {
    handle: { type: "positional", required: true, description: "A turn's handle (ctx:ab12cd)" },
    around: { type: "string", description: `Turns on each side (${AROUND})`, valueHint: "N" },
  },
  run({ args, env, out }) {
    const around = positive(args, "around") ?? AROUND
    const db = openForReading(env.dataHome)
    try {
      const found = findByName(db, String(args["handle"]))
      if (found.kind === "session") {
        throw usageError(
          `${args["handle"]} is a session, not a turn`,
          `ctxbridge show ${args["handle"]} lists its turns`,
        )
      }
      const turns = timelineOf(db, found.turn, around)
      const { handle, session } = found.turn
      out.json({ handle, session, turns })
      if (out.wantsJson) return
      const { style, columns, now } = screenOf(out)
      for (const turn of turns) {
        const figures = [
          ago(turn.started, now),
          ...(turn.takenBack ? ["taken back"] : []),
          ...(turn.tools > 0 ? [count(turn.tools, "tool call")] : []),
          ...(turn.errors > 0 ? [count(turn.errors, "error")] : []),
          ...turn.changed,
        ]
        out.print(
          `${turn.handle === handle ? ">" : " "} ${style.bold(turn.handle)}  ${fit(oneLine(turn.prompt), columns - turn.handle.length - 4)}`,
        )
        out.print(style.dim(indented(figures.join(" · "), columns)))
        if (turn.answer !== "") out.print(style.dim(indented(oneLine(turn.answer), columns)))
      }
    } finally {
      db.close()
    }
  },
} satisfies Command
