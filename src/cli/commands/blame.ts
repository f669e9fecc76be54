/** `ctxbridge blame`: the turns that touched a file, and their purpose. */
import { typedPath } from "../../search/narrowing.ts"
import { type Touch, touchesOf } from "../../search/topic-files.ts"
import { oneLine } from "../../util/text.ts"
import { wholePath } from "../block.ts"
import { type Command, flag } from "../command.ts"
import type { Screen } from "../screen.ts"
import { dotted, indented } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"
import { ago } from "../when.ts"

const LIMIT = 20

export default {
  meta: { name: "blame", description: "List the turns that changed a file, and what for" },
  args: {
    ...topicArgs("path", "The file's path, or the end of it; src/ or *.ts for several", LIMIT),
    reads: flag("Also those that only read it"),
  },
  run(context) {
    const { args, env } = context
    answerTopic(
      context,
      LIMIT,
      ({ db, text, project }) =>
        touchesOf(db, typedPath(text, env.cwd, env.home), project, args["reads"] === true),
      render,
    )
  },
} satisfies Command

function render(
  { handle, ops, path, time, prompt, answer, takenBack }: Touch,
  { style, columns, now }: Screen,
): string[] {
  const figures = dotted(ago(time, now), takenBack && "taken back", ops.join(", "), wholePath(path))
  return [
    `${style.bold(handle)}  ${style.dim(figures)}`,
    indented(oneLine(prompt), columns),
    ...(answer === "" ? [] : [style.dim(indented(oneLine(answer), columns))]),
  ]
}
