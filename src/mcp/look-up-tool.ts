/** `look_up`: questions of their own about earlier work: commands, errors, a file's history, a topic's files. */
import { openToRead } from "../job/open-to-read.ts"
import type { CommandRun } from "../search/commands-run.ts"
import type { Fix } from "../search/fixes.ts"
import { typedPath } from "../search/narrowing.ts"
import { type TopicFile, type Touch, touchesOf } from "../search/topic-files.ts"
import { commandsAbout, filesOfTopic, fixesAbout, type Topic } from "../search/topics.ts"
import { usageError } from "../util/errors.ts"
import { count } from "../util/text.ts"
import { CopyReaders } from "../vault/reader.ts"
import { DATA, minute, nameOr, plain, strange } from "./quoting.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { projectIn } from "./what-is-meant.ts"

const LIMIT = 5
const MOST = 30
/** UTF-16 units of everything, and of single texts. */
const ROOM = 3500
const COMMAND = 400
const ERROR = 300
const SAID = 240
const STEP = 160
const PATH = 200

const KINDS: Readonly<Record<string, (topic: Topic, world: ServerWorld) => readonly string[]>> = {
  how: (topic) => commandsAbout(topic).map(runLines),
  fix: (topic) => fixesAbout(topic).map(fixLines),
  blame: ({ db, text, project }, { folder, home }) =>
    touchesOf(db, typedPath(text, folder, home), project, false).map(touchLine),
  files: (topic) => filesOfTopic(topic).map(fileLine),
}

export const lookUpTool: ServerTool = {
  name: "look_up",
  title: "How, fix, blame, files",
  description:
    "Before you work out again what was worked out before. how: how a command was run here and how it ended (before " +
    "running it). fix: what was done after an error until it was gone (when one comes up). blame: the turns that changed " +
    "a file, and why (before changing it). files: the files of a topic.",
  properties: {
    kind: { type: "string", enum: Object.keys(KINDS) },
    about: {
      type: "string",
      description: "Words of the command, error or topic; for blame a path, src/ or *.ts",
    },
    all_projects: { type: "boolean" },
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
    const project = args.flag("all_projects") ? undefined : projectIn(world)
    using db = openToRead(world.dataHome)
    using readers = new CopyReaders()
    const found = KINDS[kind]!({ db, dataHome: world.dataHome, readers, text, project, limit }, world)
    const scope = project === undefined ? "all projects" : "this project"
    if (found.length === 0) {
      return {
        text: `Nothing found in ${scope}: try fewer or other words${project === undefined ? "" : ", or all_projects"}.`,
      }
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

function runLines(run: CommandRun): string {
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
    takenBack && "taken back",
  )
  return [
    said(command, COMMAND),
    `  ${figures}`,
    ...(failed && error !== null ? [`  error: ${strangers(error, ERROR)}`] : []),
  ].join("\n")
}

function fixLines(fix: Fix): string {
  const { handle, time, tool, target, error, steps, solvedIn, solutionTakenBack, answer, takenBack } = fix
  return [
    `${handle} ${dotted(minute(time), takenBack && "taken back")}, ${nameOr(tool, "tool")}: ${said(target, STEP)}`,
    `  error: ${strangers(error, ERROR)}`,
    ...steps.map(
      (step) =>
        `  then ${nameOr(step.tool, "tool")}${step.failed ? " (failed)" : ""}: ${said(step.target, STEP)}`,
    ),
    solvedIn === null
      ? "  it was not seen to succeed later in this session"
      : `  it succeeded in ${solvedIn}${solutionTakenBack ? ", taken back" : ""}`,
    ...(answer === "" ? [] : [`  answer: ${said(answer, SAID)}`]),
  ].join("\n")
}

const touchLine = ({ handle, ops, path, time, prompt, answer, takenBack }: Touch): string =>
  `${handle} ${dotted(minute(time), ...ops, takenBack && "taken back")} ${strangers(path, PATH)}\n` +
  `  asked: ${said(prompt, SAID)}${answer === "" ? "" : `\n  answer: ${said(answer, SAID)}`}`

const fileLine = ({ path, ops, turns, handle, time, takenBack }: TopicFile): string =>
  `${strangers(path, PATH)} ${dotted(`${ops.join(", ")} in ${count(turns, "turn")}`, handle, minute(time), takenBack && "taken back")}`
