/** `ctxbridge how`: how a command was run here, and with what result. */

import { count } from "../../base/text.ts"
import { type CommandRun, commandsAbout } from "../../find/commands-run.ts"
import { labelWords } from "../../views/labels.ts"
import { block } from "../block.ts"
import type { Command } from "../command.ts"
import type { Screen } from "../screen.ts"
import { ago } from "../screen.ts"
import { dotted, indented } from "../style.ts"
import { agentShown, answerTopic, type Spoken, topicArgs } from "../topic.ts"

const LIMIT = 10
/** Maximum lines of a command. */
const LINES = 10

export default {
  meta: { name: "how", description: "Show how a command was run here, and how it ended" },
  args: topicArgs("command", "Words from the command, or what it is for", LIMIT, "npm test"),
  rows: {
    list: "found",
    columns: ["command", "runs", "failures", "failed", "exitCode", "handle", "time"],
    others: ["error", "takenBack", "label", "program"],
  },
  run(context) {
    answerTopic(context, LIMIT, commandsAbout, render, {
      thing: "command",
      wider: "try fewer words, or the program's name; ctxbridge search finds where they were said",
    })
  },
} satisfies Command

function render(one: CommandRun & Spoken, { style, columns, now }: Screen): string[] {
  const { command, handle, time, label } = one
  const figures = dotted(ending(one), handle, agentShown(one), ago(time, now), one.takenBack && "rewound")
  return [
    ...block(command, { lead: "$ ", indent: "  ", most: LINES, handle }).map(style.bold),
    style.dim(indented(figures, columns)),
    ...labelWords(label).map((word) => indented(word, columns)),
  ]
}

function ending({ failed, exitCode, failures, runs }: CommandRun): string {
  const ended = failed ? (exitCode === null ? "failed" : `exit status ${exitCode}`) : "succeeded"
  const last = failed === null ? "unanswered" : ended
  const isMixed = failures > 0 && failures < runs
  return isMixed
    ? dotted(`last run ${last}`, `${failures} of ${runs} failed`)
    : dotted(last, count(runs, "run"))
}
