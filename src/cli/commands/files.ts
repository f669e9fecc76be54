/** `ctxbridge files`: the files related to a topic. */

import { count } from "../../base/text.ts"
import type { TopicFile } from "../../find/topics.ts"
import { filesOfTopic } from "../../find/topics.ts"
import type { Command } from "../command.ts"
import { ago, type Screen } from "../screen.ts"
import type { ShowPath } from "../shown-path.ts"
import { dotted, indented } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"

const LIMIT = 15

export default {
  meta: { name: "files", description: "List the files related to a topic" },
  args: topicArgs("topic", "What the files are about", LIMIT),
  rows: {
    list: "found",
    columns: ["path", "ops", "turns", "handle", "time"],
    others: ["score", "takenBack"],
  },
  run(context) {
    answerTopic(context, LIMIT, filesOfTopic, render)
  },
} satisfies Command

function render(
  { path, ops, turns, handle, time, takenBack }: TopicFile,
  { style, columns, now }: Screen,
  _n: number,
  showPath: ShowPath,
): string[] {
  const done = `${ops.join(", ")} in ${count(turns, "turn")}`
  const figures = dotted(done, handle, ago(time, now), takenBack && "rewound")
  return [style.bold(showPath(path)), style.dim(indented(figures, columns))]
}
