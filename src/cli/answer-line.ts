/** What `blame FILE:LINE` and `why FILE:LINE` share: looking up, printing, and what to say where nothing is known. */

import { EXIT } from "../base/errors.ts"
import { resolve, withSlashes } from "../base/path.ts"
import { count, oneLine } from "../base/text.ts"
import type { LinesOrigin } from "../find/line-question.ts"
import { linesNamed } from "../find/line-question.ts"
import { typedPath } from "../find/narrowing.ts"
import type { Topic } from "../find/topics.ts"
import { type Touch, touchesOf } from "../find/topics.ts"
import { startRenewing } from "../job/spawn.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { DiffLine } from "../views/edit-diff.ts"
import { type Labels, labelWords, readLabels, withItsLabel } from "../views/labels.ts"
import { openCurrent } from "../views/open-current.ts"
import { wholePath } from "./block.ts"
import type { Context } from "./command.ts"
import { agentWanted, knownProject, projectWanted } from "./project-wanted.ts"
import { ago, type Screen, screenOf, wrapped, wrappedIn } from "./screen.ts"
import { pathShower, type ShowPath } from "./shown-path.ts"
import { dotted, fit, indented } from "./style.ts"

/** Turns named where no edit has the line. */
const TOUCHES = 5
/** Lines repeated; more are only counted. */
const SHOWN = 5
const UNKNOWN = "No archived edit has this: it was there before, or came from a command or another editor."

/**
 * @param render what follows the lines and their edit
 * @returns the exit code
 */
export function answerLine<T extends LinesOrigin>(
  context: Context,
  text: string,
  answer: (topic: Topic, place: { readonly folder: string; readonly home: string }) => readonly T[],
  render: (found: T, screen: Screen, labels: Labels) => readonly string[],
): number {
  const { env, out } = context
  const wanted = projectWanted(context)
  const program = agentWanted(context.args)
  using db = openCurrent(env.dataHome, "command", startRenewing)
  using readers = new CopyReaders()
  const project = knownProject(db, context, wanted)
  const topic = { db, dataHome: env.dataHome, readers, text, project, program, limit: 1 }
  const found = answer(topic, { folder: env.cwd, home: env.home })
  const { file } = linesNamed(text)!
  const isKnown = found.some(({ edit }) => edit !== null)
  const touched = isKnown
    ? []
    : touchesOf(db, typedPath(file, env.cwd, env.home), { project, program }, false).slice(0, TOUCHES)
  const labels = readLabels(env.dataHome)
  out.json({
    query: text,
    project: project ?? null,
    found: found.map((one) => ({ ...one, edit: one.edit && withItsLabel(one.edit, labels) })),
    ...(isKnown ? {} : { touched: touched.map((touch) => withItsLabel(touch, labels)) }),
  })
  if (!out.wantsJson) {
    const screen = screenOf(out)
    const path = withSlashes(resolve(env.cwd, typedPath(file, env.cwd, env.home)))
    const showPath = pathShower(context, env.cwd, db)
    for (const [n, one] of found.entries()) {
      if (n > 0) out.print("")
      const lines = [
        ...renderOrigin({ file, path, showPath }, one, screen, labels),
        ...render(one, screen, labels),
      ]
      out.print(out.terminal ? lines.flatMap((line) => wrapped(line, screen.columns)) : lines)
    }
    if (touched.length > 0)
      out.print([
        "",
        screen.style.bold("Turns that touched the file:"),
        ...touched.map((touch) => touchLine(touch, screen)),
      ])
  }
  return isKnown ? EXIT.ok : EXIT.notFound
}

interface Asked {
  /** As it was typed. */
  readonly file: string
  readonly path: string
  readonly showPath: ShowPath
}

function renderOrigin(
  { file, path, showPath }: Asked,
  { lines, edit }: LinesOrigin,
  { style, columns, now }: Screen,
  labels: Labels,
): string[] {
  const [first, last] = [lines[0]!, lines.at(-1)!]
  const place = `${wholePath(file)}:${first.line}${first === last ? "" : `-${last.line}`}`
  const texts = lines.length > SHOWN ? [count(lines.length, "line")] : lines.map(({ text }) => text)
  const head = [style.bold(place), ...texts.map((text) => indented(text, columns))]
  if (edit === null) return [...head, ...wrappedIn("  ", UNKNOWN, columns)]
  const { handle, time, takenBack, tool, isPiece, prompt, diff } = edit
  const whose = edit.namesake ? "another file of that name" : "the same file"
  const figures = dotted(ago(time, now), takenBack && "rewound", isPiece ? `${tool} of a piece of it` : tool)
  return [
    ...head,
    `${style.bold(handle)}  ${style.dim(figures)}`,
    ...(edit.path === path
      ? []
      : [style.dim(`  ${whose}, ${showPath(edit.path, columns - whose.length - 4)}`)]),
    ...labelWords(labels.on(handle)).map((word) => indented(word, columns)),
    indented(oneLine(prompt), columns),
    ...diff.map((line) => diffLine(line, { style, columns, now })),
  ]
}

export function diffLine({ mark, text }: DiffLine, { style, columns }: Screen): string {
  const line = `  ${mark} ${fitLine(text, columns - 4)}`.trimEnd()
  return mark === "+" ? style.green(line) : mark === "-" ? style.red(line) : style.dim(line)
}

/** Keeps the indent, which `fit` would not. */
function fitLine(text: string, width: number): string {
  const indent = /^[ \t]*/
    .exec(text)![0]
    .replaceAll("\t", "  ")
    .slice(0, Math.floor(width / 2))
  return indent + fit(text, width - indent.length)
}

const touchLine = ({ handle, time, ops, prompt }: Touch, { style, columns, now }: Screen): string => {
  const figures = dotted(ago(time, now), ops.join(", "))
  return `  ${style.bold(handle)}  ${style.dim(figures)}  ${fit(oneLine(prompt), columns - handle.length - figures.length - 6)}`
}
