/** `ctxbridge files`: the files that have to do with a topic. */
import { filesAbout } from "../../search/files.ts"
import { rankedTurns } from "../../search/search.ts"
import { count } from "../../util/text.ts"
import { wholePath } from "../block.ts"
import type { Command } from "../command.ts"
import { createStyle, indented } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"
import { ago } from "../when.ts"

const LIMIT = 15
/** Turns whose files are looked at. */
const TURNS = 25

export default {
  meta: { name: "files", description: "List the files related to a topic" },
  args: topicArgs("topic", "What the files are about", LIMIT),
  run(context) {
    const { env, out } = context
    const style = createStyle(out.color)
    const now = Date.now()
    answerTopic(
      context,
      LIMIT,
      ({ db, readers, text, project }) => {
        const { turns } = rankedTurns(db, env.dataHome, { query: text, project }, readers)
        return filesAbout(db, text, turns.slice(0, TURNS))
      },
      (found) =>
        found.flatMap((one) => {
          const figures = [
            `${one.ops.join(", ")} in ${count(one.turns, "turn")}`,
            one.handle,
            ago(one.time, now),
            ...(one.takenBack ? ["taken back"] : []),
          ]
          return [style.bold(wholePath(one.path)), style.dim(indented(figures.join(" · "), out.columns))]
        }),
    )
  },
} satisfies Command
