/** What commands that answer one question share: their words, the project to search, and the error for no result. */

import { usageError } from "../base/errors.ts"
import type { Topic } from "../find/topics.ts"
import { startRenewing } from "../job/spawn.ts"
import { CopyReaders } from "../vault/reader.ts"
import { openCurrent } from "../views/open-current.ts"
import { positive, words } from "./args.ts"
import { type ArgSpec, type Context, option } from "./command.ts"
import { IN_PROJECT_ARGS, knownProject, notFound, projectWanted } from "./project-wanted.ts"
import { type Screen, screenOf } from "./screen.ts"
import { pathShower, type ShowPath } from "./shown-path.ts"

export const topicArgs = (
  name: string,
  description: string,
  limit: number,
): Readonly<Record<string, ArgSpec>> => ({
  [name]: {
    type: "positional",
    required: true,
    rest: true,
    description,
    ...(name === "path" && { valueHint: "PATH" }),
  },
  ...IN_PROJECT_ARGS,
  limit: option(`At most this many (${limit})`, "N", "n"),
})

/**
 * Prints what `answer` finds.
 *
 * @throws CtxError exit 3 when it finds nothing
 */
export function answerTopic<T>(
  context: Context,
  limit: number,
  answer: (topic: Topic) => readonly T[],
  render: (found: T, screen: Screen, n: number, showPath: ShowPath) => readonly string[],
): void {
  const { args, env, out } = context
  const text = words(args).join(" ").trim()
  if (text === "") throw usageError("there is nothing to look for", "the query is empty")
  const wanted = projectWanted(context)
  const most = positive(args, "limit") ?? limit
  using db = openCurrent(env.dataHome, "command", startRenewing)
  using readers = new CopyReaders()
  const project = knownProject(db, context, wanted)
  const all = answer({ db, dataHome: env.dataHome, readers, text, project, limit: most })
  if (all.length === 0) throw notFound(db, text, project)
  const found = all.slice(0, most)
  if (out.wantsJson) out.json({ query: text, project: project ?? null, found, more: all.length > most })
  else {
    const screen = screenOf(out)
    const showPath = pathShower(context)
    for (const [n, one] of found.entries()) out.print(render(one, screen, n, showPath))
  }
}
