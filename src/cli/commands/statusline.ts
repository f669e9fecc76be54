/**
 * `ctxbridge statusline` with options: its help, and its figures for programs. Other calls take the hot path in main.ts
 * and never come here.
 */

import { readStatusLine } from "../../hook/run-status-line.ts"
import { renderLine } from "../../restore/window/status-line-text.ts"
import { type Command, option } from "../command.ts"

export default {
  meta: {
    name: "statusline",
    description: "Print Claude Code's status line; reads its JSON on stdin",
    badOptions: "unread",
  },
  args: {
    chain: option("Shell command of another status line, shown after ours", "COMMAND"),
  },
  async run({ out }) {
    const facts = await readStatusLine()
    out.print(renderLine(facts, out.color))
    out.json({
      tracked: facts.tracked,
      source: facts.source,
      tokens: facts.tokens ?? null,
      estimated: facts.estimated,
      percentage: facts.share === undefined ? null : Math.round(facts.share * 1000) / 10,
      pressure: facts.pressure === undefined ? null : Math.round(facts.pressure * 1000) / 10,
      zone: facts.zone,
      compactions: facts.compactions,
      line: renderLine(facts, false),
    })
  },
} satisfies Command
