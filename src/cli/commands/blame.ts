/** `ctxbridge blame`: the turns that touched a file, and what they were for. */
import { touchesOf } from "../../search/files.ts"
import { typedPath } from "../../search/narrowing.ts"
import { oneLine } from "../../util/text.ts"
import { wholePath } from "../block.ts"
import type { Command } from "../command.ts"
import { createStyle, indented } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"
import { ago } from "../when.ts"

const LIMIT = 20

export default {
  meta: { name: "blame", description: "List the turns that changed a file, and what they were for" },
  args: {
    ...topicArgs("path", "The file's path, or the end of it; src/ or *.ts for several", LIMIT),
    reads: { type: "boolean", description: "Also those that only read it" },
  },
  run(context) {
    const { args, env, out } = context
    const style = createStyle(out.color)
    const now = Date.now()
    answerTopic(
      context,
      LIMIT,
      ({ db, text, project }) =>
        touchesOf(db, typedPath(text, env.cwd, env.home), project, args["reads"] === true),
      (found) =>
        found.flatMap((one) => {
          const { handle, ops, path, time, prompt, answer } = one
          const figures = [
            ago(time, now),
            ...(one.takenBack ? ["taken back"] : []),
            ops.join(", "),
            wholePath(path),
          ]
          return [
            `${style.bold(handle)}  ${style.dim(figures.join(" · "))}`,
            indented(oneLine(prompt), out.columns),
            ...(answer === "" ? [] : [style.dim(indented(oneLine(answer), out.columns))]),
          ]
        }),
    )
  },
} satisfies Command
