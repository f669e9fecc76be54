/** What commands that answer one question share: their words, the project to search, and the error for no result. */

import { agentTitle } from "../agents/agents.ts"
import { CtxError, EXIT, usageError } from "../base/errors.ts"
import type { Topic } from "../find/topics.ts"
import { startRenewing } from "../job/spawn.ts"
import { CopyReaders } from "../vault/reader.ts"
import { type LabelShown, readLabels, withItsLabel } from "../views/labels.ts"
import { openCurrent } from "../views/open-current.ts"
import { programsOfTurns } from "../views/queries/sessions.ts"
import { positive, stringArg, words } from "./args.ts"
import { type ArgSpec, type Context, option } from "./command.ts"
import { AGENT_ARG, agentWanted, notFound, PROJECT_ARGS, searchScope } from "./project-wanted.ts"
import { type Screen, screenOf, timeArg, wrapped } from "./screen.ts"
import { pathShower, type ShowPath } from "./shown-path.ts"
import { safe } from "./style.ts"

/** @param example words that can stand there */
export const topicArgs = (
  name: string,
  description: string,
  limit: number,
  example: string,
): Readonly<Record<string, ArgSpec>> => ({
  [name]: {
    type: "positional",
    required: true,
    rest: true,
    description,
    example,
    ...(name === "path" && { valueHint: "PATH" }),
  },
  ...PROJECT_ARGS,
  agent: AGENT_ARG,
  since: option("From this date or age on (2026-03-02, 7d)", "WHEN"),
  limit: option(`At most this many (${limit})`, "N", "n"),
})

/** What is told of the turn of each. */
export interface Spoken {
  /** Name of the agent, if it is not Claude Code. */
  readonly program?: string
  /** Set only if the user has labelled it. */
  readonly label?: LabelShown
}

export const agentShown = ({ program }: Spoken): string | undefined => program && agentTitle(program)

/** What commands that answer nothing but what was asked say where there is no such thing. */
interface Nothing {
  /** What there is none of. */
  readonly thing: string
  /** What would find more, as the beginning of a sentence. */
  readonly wider: string
}

/**
 * Prints what `answer` finds, each with what is shown before it.
 *
 * @throws CtxError exit 3 when it finds nothing
 */
export function answerTopic<T extends { readonly handle: string; readonly time: string | null }>(
  context: Context,
  limit: number,
  answer: (topic: Topic) => readonly T[],
  render: (
    found: T & Spoken,
    screen: Screen,
    before: (T & Spoken) | undefined,
    showPath: ShowPath,
  ) => readonly string[],
  nothing?: Nothing,
): void {
  const { args, env, out } = context
  const text = words(args).join(" ").trim()
  if (text === "") throw usageError("there is nothing to look for", "the query is empty")
  const most = positive(args, "limit") ?? limit
  const program = agentWanted(args)
  using db = openCurrent(env.dataHome, "command", startRenewing)
  using readers = new CopyReaders()
  const { project, note } = searchScope(db, context)
  const since = timeArg(args, "since", Date.now())
  // What is left over is only known when it has been looked at.
  const whole = since === undefined ? most : Number.MAX_SAFE_INTEGER
  const topic = { db, dataHome: env.dataHome, readers, text, project, program, limit: whole }
  const isIn = ({ time }: T): boolean => since === undefined || (time ?? "") >= since
  const found = answer(topic)
  const all = found.filter(isIn)
  if (all.length === 0 && found.length > 0) {
    throw new CtxError(
      "not-found",
      `there is nothing since ${stringArg(args, "since")}, but ${found.length} before`,
      {
        hint: "leave out --since",
        exit: EXIT.notFound,
      },
    )
  }
  if (all.length === 0) {
    if (nothing === undefined || project === undefined)
      throw notFound(db, text, project, { thing: nothing?.thing, note: nothing?.wider })
    const others = answer({ ...topic, project: undefined, limit: 0 }).filter(isIn).length
    throw notFound(db, text, project, {
      thing: nothing.thing,
      because: others > 0 ? `; ${others} in other projects` : "",
      note: `${nothing.wider}; --all-projects looks everywhere`,
    })
  }
  const shown = all.slice(0, most)
  const programs = programsOfTurns(
    db,
    shown.map(({ handle }) => handle),
  )
  const labels = readLabels(env.dataHome)
  const told = shown.map((one): T & Spoken => {
    const agent = programs.get(one.handle)
    return withItsLabel(agent === undefined ? one : { ...one, program: agent }, labels)
  })
  if (out.wantsJson) {
    out.json({
      query: text,
      project: project ?? null,
      ...(note && { note }),
      found: told,
      more: all.length > most,
    })
  } else {
    if (note !== undefined) out.print(safe(note))
    const screen = screenOf(out)
    const showPath = pathShower(context, env.cwd, db)
    for (const [n, one] of told.entries()) {
      const lines = render(one, screen, told[n - 1], showPath)
      out.print(out.terminal ? lines.flatMap((line) => wrapped(line, screen.columns)) : lines)
    }
    const left = all.length - most
    if (left > 0) out.print(screen.style.dim(`${left} more with --limit ${all.length}`))
  }
}
