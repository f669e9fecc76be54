/** `ctxbridge files`: the files related to a topic. */
import type { TopicFile } from "../../search/topic-files.ts"
import { filesOfTopic } from "../../search/topics.ts"
import { count } from "../../util/text.ts"
import { wholePath } from "../block.ts"
import type { Command } from "../command.ts"
import type { Screen } from "../screen.ts"
import { dotted, indented } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"
import { ago } from "../when.ts"

const LIMIT = 15

export default {
  meta: { name: "files", description: "List the files related to a topic" },
  args: topicArgs("topic", "What the files are about", LIMIT),
  run(context) {
    answerTopic(context, LIMIT, filesOfTopic, render)
  },
} satisfies Command

function render(
  { path, ops, turns, handle, time, takenBack }: TopicFile,
  { style, columns, now }: Screen,
): string[] {
  const done = `${ops.join(", ")} in ${count(turns, "turn")}`
  const figures = dotted(done, handle, ago(time, now), takenBack && "taken back")
  return [style.bold(wholePath(path)), style.dim(indented(figures, columns))]
}
