/** `ctxbridge fix`: what followed an error on earlier occasions. */

import { oneLine } from "../../base/text.ts"
import { type Fix, fixesAbout } from "../../find/fixes.ts"
import type { Topic } from "../../find/topics.ts"
import { fromError } from "../../record/error-lines.ts"
import { type LabelShown, type Labels, labelWords, readLabels, withItsLabel } from "../../views/labels.ts"
import { block } from "../block.ts"
import type { Command } from "../command.ts"
import type { Screen } from "../screen.ts"
import { ago } from "../screen.ts"
import { dotted, indented } from "../style.ts"
import { agentShown, answerTopic, type Spoken, topicArgs } from "../topic.ts"

const LIMIT = 5
/** Maximum lines of a call, and of its error. */
const LINES = 10
/** Maximum lines of each call that followed. */
const STEP_LINES = 4

export default {
  meta: { name: "fix", description: "Show what followed an error when it came up before" },
  args: topicArgs("error", "The error, or words from it", LIMIT, "Cannot find module"),
  rows: {
    list: "found",
    columns: ["handle", "time", "tool", "target", "error", "solvedIn"],
    others: [
      "pasted",
      "steps",
      "answer",
      "takenBack",
      "solutionTakenBack",
      "label",
      "solutionLabel",
      "program",
    ],
  },
  run(context) {
    const labels = readLabels(context.env.dataHome)
    const answer = (topic: Topic) => fixesAbout(topic).map((fix) => withSolutionsLabel(fix, labels))
    answerTopic(context, LIMIT, answer, render, {
      thing: "fix",
      wider: "the line that names the error, alone, finds most; ctxbridge search finds its words",
    })
  },
} satisfies Command

interface LabelledFix extends Fix {
  /** Set only if the user has labelled the turn in which it succeeded, where that is another than the error's. */
  readonly solutionLabel?: LabelShown
}

function withSolutionsLabel(fix: Fix, labels: Labels): LabelledFix {
  const { handle, solvedIn } = fix
  if (solvedIn === null || solvedIn === handle) return fix
  const { label } = withItsLabel({ handle: solvedIn }, labels)
  return label === undefined ? fix : { ...fix, solutionLabel: label }
}

/** The part of an error to show: starts at the line that names it, unless that is among the first lines anyway. */
function inShort(error: string): string {
  const named = fromError(error)
  return countLines(error) - countLines(named) < LINES ? error : named
}

const countLines = (text: string): number => text.split("\n").length

function render(
  fix: LabelledFix & Spoken,
  { style, columns, now }: Screen,
  before: Fix | undefined,
): string[] {
  const { handle, time, tool, target, error, steps, solvedIn, solutionTakenBack, answer } = fix
  const labelled = (label: LabelShown | undefined): string[] =>
    labelWords(label).map((word) => indented(word, columns))
  const lines = (shown: string, most: number, lead = "  ") =>
    block(shown, { lead, indent: "  ", most, handle })
  const lead = dotted(
    agentShown(fix),
    ago(time, now),
    fix.takenBack && "rewound",
    fix.pasted ? "pasted by you" : `${tool}: `,
  )
  const [head = "", ...more] = lines(target, LINES, lead)
  return [
    ...(before === undefined ? [] : [""]),
    `${style.bold(handle)}  ${style.dim(head)}`,
    ...more.map(style.dim),
    ...labelled(fix.label),
    ...lines(fix.pasted ? error : inShort(error), LINES).map(style.red),
    ...steps.flatMap((step) =>
      lines(step.target, STEP_LINES, `  then ${step.tool}${step.failed ? " (failed)" : ""}: `),
    ),
    ...(fix.pasted
      ? []
      : solvedIn === null
        ? [style.dim("  it was not seen to work later in this session")]
        : [
            style.green(`  it succeeded in ${solvedIn}${solutionTakenBack ? ", rewound" : ""}`),
            ...labelled(fix.solutionLabel),
          ]),
    ...(answer === "" ? [] : [style.dim(indented(`answer: ${oneLine(answer)}`, columns))]),
  ]
}
