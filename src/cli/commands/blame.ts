/** `ctxbridge blame`: the turns that touched a file, and their purpose; or the edit that a line comes from. */

import { EXIT, usageError } from "../../base/errors.ts"
import { oneLine } from "../../base/text.ts"
import { blameLines, namesLine } from "../../find/line-question.ts"
import { typedPath } from "../../find/narrowing.ts"
import { type Touch, touchesOf } from "../../find/topics.ts"
import { labelWords } from "../../views/labels.ts"
import { answerLine } from "../answer-line.ts"
import { words } from "../args.ts"
import { type Command, flag } from "../command.ts"
import { ago, type Screen } from "../screen.ts"
import type { ShowPath } from "../shown-path.ts"
import { dotted, indented } from "../style.ts"
import { agentShown, answerTopic, type Spoken, topicArgs } from "../topic.ts"

const LIMIT = 20

export default {
  meta: { name: "blame", description: "List the turns that changed a file or line, and why" },
  args: {
    ...topicArgs(
      "path",
      "The file's path, or the end of it; src/ or *.ts for several; FILE:LINE",
      LIMIT,
      "src/config.ts",
    ),
    reads: flag("Also list turns that only read it"),
  },
  rows: {
    list: "found",
    columns: ["handle", "time", "path", "ops", "prompt"],
    others: ["session", "seq", "answer", "takenBack", "label", "program"],
  },
  run(context) {
    const { args, env } = context
    const text = words(args).join(" ").trim()
    if (namesLine(text, { folder: env.cwd, home: env.home })) {
      if (args["format"] !== undefined)
        throw usageError("--format is for lists of turns", "name the file without a line")
      return answerLine(context, text, blameLines, () => [])
    }
    answerTopic(
      context,
      LIMIT,
      ({ db, text, project, program }) =>
        touchesOf(db, typedPath(text, env.cwd, env.home), { project, program }, args["reads"] === true),
      render,
    )
    return EXIT.ok
  },
} satisfies Command

function render(
  touch: Touch & Spoken,
  { style, columns, now }: Screen,
  _before: Touch | undefined,
  showPath: ShowPath,
): string[] {
  const { handle, ops, path, time, prompt, answer, takenBack, label } = touch
  const figures = dotted(agentShown(touch), ago(time, now), takenBack && "rewound", ops.join(", "))
  return [
    `${style.bold(handle)}  ${style.dim(figures)}`,
    `  ${showPath(path)}`,
    ...labelWords(label).map((word) => indented(word, columns)),
    indented(oneLine(prompt), columns),
    ...(answer === "" ? [] : [style.dim(indented(oneLine(answer), columns))]),
  ]
}
