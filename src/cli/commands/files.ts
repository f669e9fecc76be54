/** `ctxbridge files`: the files related to a topic. */
import { rankedTurns } from "../../search/search-turns.ts"
import { filesAbout, type TopicFile } from "../../search/topic-files.ts"
import { count } from "../../util/text.ts"
import { wholePath } from "../block.ts"
import type { Command } from "../command.ts"
import type { Screen } from "../screen.ts"
import { dotted, indented } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"
import { ago } from "../when.ts"

const LIMIT = 15
/** Number of turns whose files are considered. */
const TURNS = 25

export default {
  meta: { name: "files", description: "List the files related to a topic" },
  args: topicArgs("topic", "What the files are about", LIMIT),
  run(context) {
    answerTopic(
      context,
      LIMIT,
      ({ db, readers, text, project }) => {
        const { turns } = rankedTurns(db, context.env.dataHome, { query: text, project }, readers)
        return filesAbout(db, text, turns.slice(0, TURNS))
      },
      render,
    )
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
