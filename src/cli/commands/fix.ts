/** `ctxbridge fix`: what followed an error when it came up before. */
import { type Fix, fixesFor } from "../../search/fixes.ts"
import { bestMessages } from "../../search/search.ts"
import { oneLine } from "../../util/text.ts"
import type { Command } from "../command.ts"
import { createStyle, fit, indented, type Style } from "../style.ts"
import { answerTopic, topicArgs } from "../topic.ts"
import { ago } from "../when.ts"

const LIMIT = 5
/** Errors that are looked at; what was solved comes first among them. */
const ERRORS = 40

export default {
  meta: { name: "fix", description: "Show what followed an error when it came up before" },
  args: topicArgs("error", "The error, or words from it", LIMIT),
  run(context) {
    const { out } = context
    const style = createStyle(out.color)
    const now = Date.now()
    answerTopic(
      context,
      LIMIT,
      ({ db, text, project }) => {
        const all = fixesFor(db, bestMessages(db, text, { project, error: true }, ERRORS))
        return [...all.filter(isSolved), ...all.filter((one) => !isSolved(one))]
      },
      (found) => found.flatMap((one, n) => [...(n > 0 ? [""] : []), ...render(one, out.columns, style, now)]),
    )
  },
} satisfies Command

const isSolved = ({ solvedIn }: Fix): boolean => solvedIn !== null

function render(fix: Fix, columns: number, style: Style, now: number): string[] {
  const { handle, time, tool, target, error, steps, solvedIn, answer } = fix
  return [
    `${style.bold(handle)}  ${style.dim(fit(`${ago(time, now)} · ${tool}: ${target}`, columns - handle.length - 2))}`,
    style.red(indented(oneLine(error), columns)),
    ...steps.map((step) =>
      indented(`then ${step.tool}: ${step.target}${step.failed ? " (failed)" : ""}`, columns),
    ),
    solvedIn === null
      ? style.dim("  it was not seen to succeed later in this session")
      : style.green(`  it succeeded in ${solvedIn}`),
    ...(answer === "" ? [] : [style.dim(indented(`answer: ${oneLine(answer)}`, columns))]),
  ]
}
