/** `look_up`: questions of their own about earlier work: commands, errors, a file's history, a topic's files. */

import { usageError } from "../../base/errors.ts"
import { count } from "../../base/text.ts"
import { type CommandRun, commandsAbout } from "../../find/commands-run.ts"
import { type Fix, fixesAbout } from "../../find/fixes.ts"
import { type LinesReason, namesLine, whyLines } from "../../find/line-question.ts"
import { typedPath } from "../../find/narrowing.ts"
import { filesOfTopic, type Topic, type TopicFile, type Touch, touchesOf } from "../../find/topics.ts"
import { startRenewing } from "../../job/spawn.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { type Labels, readLabels } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { DATA, minute, nameOr, plain, strange, toldLabels } from "./hit-passages.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { AGENT_PROPERTY, knownProjectIn } from "./tool.ts"

const LIMIT = 5
const MOST = 30
/** UTF-16 units of everything, and of single texts. */
const ROOM = 3500
const COMMAND = 400
const ERROR = 300
const SAID = 240
const STEP = 160
const PATH = 200

type Answer = (topic: Topic, world: ServerWorld, labels: Labels) => readonly string[]

const KINDS: Readonly<Record<string, Answer>> = {
  how: (topic, _world, labels) => commandsAbout(topic).map((one) => runLines(one, labels)),
  fix: (topic, _world, labels) => fixesAbout(topic).map((one) => fixLines(one, labels)),
  blame: ({ db, text, project, program }, { folder, home }, labels) =>
    touchesOf(db, typedPath(text, folder, home), { project, program }, false).map((touch) =>
      touchLine(touch, labels),
    ),
  why: (topic, { folder, home }, labels) => {
    if (!namesLine(topic.text, { folder, home }))
      throw usageError("about names no line", "such as src/main.ts:12")
    return whyLines(topic, { folder, home }).map((one) => whyText(one, labels))
  },
  files: (topic, world, labels) => filesOfTopic(topic, world).map((file) => fileLine(file, labels)),
}

/** Kinds that answer only what matches: what is said where nothing does, and what would find more. */
const NOTHING: Readonly<Record<string, { readonly thing: string; readonly wider: string }>> = {
  how: {
    thing: "No such command",
    wider: "nothing that was run is for this. Try fewer words, or the program's name",
  },
  fix: { thing: "No fix", wider: "the same error was not seen. Try the line that names it, alone" },
}

export const lookUpTool: ServerTool = {
  name: "look_up",
  title: "How, fix, blame, why, files",
  description:
    "Before you work out again what was worked out before. how: how a command was run here and how it ended (before " +
    "running it). fix: what was done after an error until it was gone (when one comes up). blame: the turns that changed " +
    "a file, and what for (before changing it). why: the edit that a line comes from, and the reasons given then. files: " +
    "the files of a name or topic.",
  properties: {
    kind: { type: "string", enum: Object.keys(KINDS) },
    about: {
      type: "string",
      description: "Words of the command, error or topic; for blame a path, src/ or *.ts; for why path:line",
    },
    all_projects: { type: "boolean" },
    agent: AGENT_PROPERTY,
    limit: { type: "integer", description: `(${LIMIT})`, minimum: 1, maximum: MOST },
  },
  required: ["kind", "about"],
  readOnly: true,
  run(args, world) {
    const kind = args.text("kind")!
    const text = args.text("about")
    if (text === undefined)
      throw usageError("about is empty", "words of the command, error or topic, or a path")
    const limit = args.number("limit") ?? LIMIT
    using db = openCurrent(world.dataHome, "command", startRenewing)
    const project = args.flag("all_projects") ? undefined : knownProjectIn(db, world)
    using readers = new CopyReaders()
    const program = args.text("agent")
    const topic = { db, dataHome: world.dataHome, readers, text, project, program, limit }
    const labels = readLabels(world.dataHome)
    const found = KINDS[kind]!(topic, world, labels)
    const scope = project === undefined ? "all projects" : "this project"
    if (found.length === 0) {
      const isExact = Object.hasOwn(NOTHING, kind)
      const others =
        project === undefined || !isExact
          ? 0
          : KINDS[kind]!({ ...topic, project: undefined }, world, labels).length
      const { thing, wider } = isExact
        ? NOTHING[kind]!
        : { thing: "Nothing", wider: "try fewer or other words" }
      const elsewhere =
        others > 0 ? `. Other projects have ${others}: all_projects looks there` : ", or all_projects"
      return { text: `${thing} found in ${scope}: ${wider}${project === undefined ? "" : elsewhere}.` }
    }
    const head = `${found.length > limit ? `The best ${limit} of ${found.length}` : found.length} in ${scope}. ${DATA}`
    return { text: within(head, found.slice(0, limit)) }
  },
}

function within(head: string, found: readonly string[]): string {
  let text = head
  for (const one of found) {
    if (text.length + one.length + 1 > ROOM && text !== head)
      return `${text}\nThere are more: other words find others.`
    text += `\n${one}`
  }
  return text
}

const said = (text: string, limit: number): string => JSON.stringify(plain(text, limit))
const strangers = (text: string, limit: number): string => JSON.stringify(strange(text, limit))
const dotted = (...parts: readonly (string | false | undefined)[]): string => parts.filter(Boolean).join(", ")

function runLines(run: CommandRun, labels: Labels): string {
  const { command, runs, failures, failed, exitCode, error, time, handle, takenBack } = run
  const ending =
    failed === null
      ? "unanswered"
      : !failed
        ? "succeeded"
        : exitCode === null
          ? "failed"
          : `exit status ${exitCode}`
  const figures = dotted(
    `last run ${ending}`,
    count(runs, "run"),
    failures > 0 && `${failures} failed`,
    minute(time),
    handle,
    takenBack && "rewound",
    ...toldLabels(labels.on(handle)),
  )
  return [
    said(command, COMMAND),
    `  ${figures}`,
    ...(failed && error !== null ? [`  error: ${strangers(error, ERROR)}`] : []),
  ].join("\n")
}

function fixLines(fix: Fix, labels: Labels): string {
  const { handle, time, tool, target, error, steps, solvedIn, solutionTakenBack, answer, takenBack } = fix
  return [
    `${handle} ${dotted(minute(time), takenBack && "rewound", ...toldLabels(labels.on(handle)))}, ${fix.pasted ? "pasted by the user" : `${nameOr(tool, "tool")}: ${said(target, STEP)}`}`,
    `  error: ${strangers(error, ERROR)}`,
    ...steps.map(
      (step) =>
        `  then ${nameOr(step.tool, "tool")}${step.failed ? " (failed)" : ""}: ${said(step.target, STEP)}`,
    ),
    ...(fix.pasted
      ? []
      : [
          solvedIn === null
            ? "  it was not seen to work later in this session"
            : `  ${dotted(`it succeeded in ${solvedIn}`, solutionTakenBack && "rewound", ...toldLabels(solvedIn === handle ? undefined : labels.on(solvedIn)))}`,
        ]),
    ...(answer === "" ? [] : [`  answer: ${said(answer, SAID)}`]),
  ].join("\n")
}

const touchLine = ({ handle, ops, path, time, prompt, answer, takenBack }: Touch, labels: Labels): string =>
  `${handle} ${dotted(minute(time), ...ops, takenBack && "rewound", ...toldLabels(labels.on(handle)))} ${strangers(path, PATH)}\n` +
  `  asked: ${said(prompt, SAID)}${answer === "" ? "" : `\n  answer: ${said(answer, SAID)}`}`

function whyText({ lines, edit, reasons }: LinesReason, labels: Labels): string {
  const which =
    lines.length === 1 ? `line ${lines[0]!.line}` : `lines ${lines[0]!.line}-${lines.at(-1)!.line}`
  if (edit === null || reasons === null) return `${which}: no archived edit has it`
  const quotes: (readonly [string, string | null])[] = [
    ...reasons.notes.map(
      ({ kind, text, handle }) =>
        [[`${kind} in ${handle}`, ...toldLabels(labels.on(handle))].join(", "), text] as const,
    ),
    ["thought", reasons.thought],
    ["said before", reasons.saidBefore],
    ["said after", reasons.saidAfter],
  ]
  return [
    `${which}: ${edit.handle} ${dotted(minute(edit.time), nameOr(edit.tool, "tool"), edit.takenBack && "rewound", edit.namesake && `of another file, ${strangers(edit.path, PATH)}`, ...toldLabels(labels.on(edit.handle)))}`,
    `  asked: ${said(edit.prompt, SAID)}`,
    ...quotes.flatMap(([label, text]) => (text === null ? [] : [`  ${label}: ${said(text, SAID)}`])),
  ].join("\n")
}

const fileLine = ({ path, ops, turns, handle, time, takenBack, named }: TopicFile, labels: Labels): string =>
  `${strangers(path, PATH)} ${dotted(
    named !== undefined && (named === 1 ? "the file of that name" : `1 of ${named} files of that name`),
    `${ops.join(", ")} in ${count(turns, "turn")}`,
    handle,
    minute(time),
    takenBack && "rewound",
    ...toldLabels(labels.on(handle)),
  )}`
