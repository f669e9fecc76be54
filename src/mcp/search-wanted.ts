/** What a call of `search` asks for: its arguments as a request, and where it searches. */
import type { Database } from "../archive/database.ts"
import { type Narrowing, typedPath } from "../search/narrowing.ts"
import { usageError } from "../util/errors.ts"
import { MOMENTS, momentOf } from "../util/local-time.ts"
import type { Arguments } from "./arguments.ts"
import { projectName } from "./found-turns.ts"
import type { ServerWorld } from "./tool.ts"
import { knownProjectIn, namedSession } from "./what-is-meant.ts"

export interface WantedSearch {
  readonly query: string
  /** What hits must be besides where they are. */
  readonly filters: Omit<Narrowing, "project" | "session">
  readonly session: string | undefined
  /** Undefined: all of them, or those of the session. */
  readonly project: string | undefined
  /** The project in which the host works, wherever is searched. */
  readonly own: string
  /** Where is searched, in words. */
  readonly scope: string
}

/** @throws CtxError for a session or moment that is none */
export function searchWanted(args: Arguments, db: Database, world: ServerWorld): WantedSearch {
  const word = args.text("session")
  const session = word === undefined ? undefined : namedSession(db, word).id
  const own = knownProjectIn(db, world)
  const project = args.flag("all_projects") || session !== undefined ? undefined : own
  const [since, until] = span(args, world.now())
  const file = args.text("file")
  return {
    query: args.text("query") ?? "",
    filters: {
      since,
      until,
      role: args.text("role"),
      tool: args.text("tool"),
      file: file && typedPath(file, world.folder, world.home),
      error: args.flag("error"),
    },
    session,
    project,
    own,
    scope:
      session !== undefined
        ? "the session"
        : project === undefined
          ? "all projects"
          : `this project (${projectName(own)})`,
  }
}

/** @throws CtxError when the span is empty */
function span(args: Arguments, now: number): [since: string | undefined, until: string | undefined] {
  const [since, until] = [moment(args, "since", now), moment(args, "until", now)]
  if (since !== undefined && until !== undefined && since >= until) {
    throw usageError("since is not before until", `${since} and ${until}`)
  }
  return [since, until]
}

function moment(args: Arguments, name: string, now: number): string | undefined {
  const text = args.text(name)
  if (text === undefined) return undefined
  const found = momentOf(text, now)
  if (found === undefined) throw usageError(`${name} needs a date or an age`, MOMENTS)
  return found
}
