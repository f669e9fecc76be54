/** `ctxbridge why`: where a line of a file comes from, and what was decided, said and thought about it then. */

import { usageError } from "../../base/errors.ts"
import { type LinesReason, namesLine, whyLines } from "../../find/line-question.ts"
import type { Labels } from "../../views/labels.ts"
import { answerLine } from "../answer-line.ts"
import { words } from "../args.ts"
import type { Command } from "../command.ts"
import { AGENT_ARG, PROJECT_ARGS } from "../project-wanted.ts"
import { markdownLines, type Screen } from "../screen.ts"

/** Lines of each quote. */
const LINES = 6
const INDENT = "    "

export default {
  meta: { name: "why", description: "Show why a line of a file is as it is: file:line" },
  args: {
    line: {
      type: "positional",
      required: true,
      rest: true,
      description: "FILE:LINE, or FILE:LINE-LINE, of a file as it is now",
      valueHint: "FILE:LINE",
      example: "src/config.ts:12",
    },
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
  },
  run(context) {
    const { args, env } = context
    const text = words(args).join(" ").trim()
    if (!namesLine(text, { folder: env.cwd, home: env.home })) {
      throw usageError(
        `why needs a file and a line, not ${JSON.stringify(text)}`,
        `such as ctxbridge why ${text || "src/main.ts"}:12`,
      )
    }
    return answerLine(context, text, whyLines, render)
  },
} satisfies Command

const KINDS: Readonly<Record<string, string>> = {
  decision: "decided",
  constraint: "constraint",
  refuted: "failed approach",
}

function render({ edit, reasons }: LinesReason, screen: Screen, labels: Labels): string[] {
  if (edit === null || reasons === null) return []
  const { notes, saidBefore, saidAfter, thought } = reasons
  const quotes = [
    ...notes.map(({ kind, text, handle }) => {
      const isOver = kind === "decision" && labels.verdictOn(handle) !== undefined
      return [`${KINDS[kind] ?? kind}${isOver ? ", and no longer holds" : ""}`, text, handle] as const
    }),
    ...(thought === null ? [] : [["thought", thought, edit.handle] as const]),
    ...(saidBefore === null ? [] : [["said before", saidBefore, edit.handle] as const]),
    ...(saidAfter === null ? [] : [["said after", saidAfter, edit.handle] as const]),
  ]
  if (quotes.length === 0) {
    return [
      screen.style.dim(`  Nothing archived says why. ctxbridge show ${edit.handle} has the whole turn.`),
    ]
  }
  return quotes.flatMap(([label, text, handle]) =>
    quote(label, text, handle === edit.handle ? "" : handle, screen),
  )
}

function quote(label: string, text: string, handle: string, { style, columns }: Screen): string[] {
  // Coloured where the rest is.
  const color = style.bold("-") !== "-"
  const lines = markdownLines(text, { columns: columns - INDENT.length, color, links: false })
    .filter((line) => line.trim() !== "")
    .map((line) => INDENT + line)
  const shown = lines.slice(0, LINES)
  const rest = lines.length > LINES ? [style.dim("    …")] : []
  return [`  ${style.bold(label)}${handle === "" ? "" : style.dim(` in ${handle}`)}`, ...shown, ...rest]
}
