/** `ctxbridge files`: the files that a name or the end of a path names, and those related to a topic. */

import { count } from "../../base/text.ts"
import type { TopicFile } from "../../find/topics.ts"
import { filesOfTopic } from "../../find/topics.ts"
import { labelWords } from "../../views/labels.ts"
import type { Command } from "../command.ts"
import { ago, type Screen } from "../screen.ts"
import type { ShowPath } from "../shown-path.ts"
import { dotted, indented } from "../style.ts"
import { agentShown, answerTopic, type Spoken, topicArgs } from "../topic.ts"

const LIMIT = 15

export default {
  meta: { name: "files", description: "List the files of a name, and those related to a topic" },
  args: topicArgs(
    "topic",
    "A file's name, the end of its path, or what the files are about",
    LIMIT,
    "config.ts",
  ),
  rows: {
    list: "found",
    columns: ["path", "ops", "turns", "handle", "time"],
    others: ["score", "takenBack", "named", "program", "label"],
  },
  run(context) {
    const { cwd: folder, home } = context.env
    answerTopic(context, LIMIT, (topic) => filesOfTopic(topic, { folder, home }), render)
  },
} satisfies Command

function render(
  file: TopicFile & Spoken,
  { style, columns, now }: Screen,
  before: TopicFile | undefined,
  showPath: ShowPath,
): string[] {
  const { path, ops, turns, handle, time, takenBack, label, named = 0 } = file
  const done = `${ops.join(", ")} in ${count(turns, "turn")}`
  const figures = dotted(done, handle, agentShown(file), ago(time, now), takenBack && "rewound")
  return [
    ...(before === undefined && named > 1
      ? [`${count(named, "file")} of that name, the last touched first:`]
      : []),
    ...(before?.named && named === 0 ? ["", "Others that turns about it touched:"] : []),
    style.bold(showPath(path)),
    style.dim(indented(figures, columns)),
    ...labelWords(label).map((word) => indented(word, columns)),
  ]
}
