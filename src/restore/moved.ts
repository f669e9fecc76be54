/** Tracks files that commands moved or deleted, as far as the commands' words tell. */
import { isTool } from "../agents/tool-kinds.ts"
import type { Database } from "../archive/database.ts"
import { sessionKey } from "../archive/identity.ts"
import { shellWords } from "../transcript/shell-script.ts"
import { resolve } from "../util/path.ts"
import type { Scope } from "./scope.ts"

export interface Move {
  readonly from: string
  /** Undefined when it was deleted or its new place is unknown. */
  readonly to: string | undefined
}

/** A move, and the message that made it. */
export interface MoveAt extends Move {
  readonly at: number
}

/** How many of the latest commands are examined. */
const MOST_RUNS = 1000
/** The views shorten longer scripts. */
const WHOLE = 299

const MOVES = /^(?:git )?mv /
const DELETES = /^(?:git )?rm /
const OPTION = /^-(?:[fvdqrR]{1,4}|-(?:force|quiet|recursive|verbose))$/
/** What a shell would expand. */
const EXPANDED = /[*?[\]{}$~`!]/
/** After one of these, a script may succeed although an earlier command failed. */
const HIDES_FAILURE = /;|\|\||(?<![&>])&(?![&\d>])|\bset \+e\b/

/**
 * What a successful script moved. Its commands must be joined by `&&`; otherwise there is no telling which one failed.
 *
 * @param isCommand whether these words are one command of the script: the views replace line breaks with spaces
 */
export function movesIn(script: string, cwd: string, isCommand: (words: string) => boolean): Move[] {
  if (script.length > WHOLE || HIDES_FAILURE.test(script) || !cwd.startsWith("/")) return []
  const moves: Move[] = []
  let folder = cwd
  for (const command of script.split(" && ")) {
    if (command.startsWith("cd ")) {
      const [, into, ...others] = shellWords(command).map(({ word }) => word)
      if (into === undefined || others.length > 0 || EXPANDED.test(into) || into === "-") return moves
      folder = resolve(folder, into)
    } else if ((MOVES.test(command) || DELETES.test(command)) && isCommand(command)) {
      moves.push(...movesOf(command, folder))
    }
  }
  return moves
}

function movesOf(command: string, folder: string): Move[] {
  if (EXPANDED.test(command) || /[<>|()]/.test(command)) return []
  const words = shellWords(command.replace(/^(?:git )?\w+ /, "")).map(({ word }) => word)
  const paths = words.filter((word) => !word.startsWith("-"))
  if (words.some((word) => word.startsWith("-") && !OPTION.test(word))) return []
  const whole = (path: string): string => resolve(folder, path)
  if (DELETES.test(command)) return paths.map((path) => ({ from: whole(path), to: undefined }))
  const into = paths.pop()
  if (into === undefined) return []
  const isFolder = paths.length > 1 || /(?:^|\/)\.{0,2}$/.test(into)
  return paths.map((path) => {
    const from = whole(path)
    const to = whole(into)
    const name = nameOf(from)
    return { from, to: isFolder ? `${to}/${name}` : isNewName(name, nameOf(to)) ? to : undefined }
  })
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** Whether `other` is the file's new name rather than a folder it was moved into. */
function isNewName(name: string, other: string): boolean {
  const extension = /[^.](\.\w+)$/.exec(name)?.[1]
  return other.includes(name) || (extension !== undefined && other.endsWith(extension))
}

/** A session's moves, earliest first. */
export function movesOfSession(db: Database, scope: Scope, cwd: string | undefined): MoveAt[] {
  if (cwd === undefined) return []
  const runs = db.query<{ target: string; at: number }, [string, number, number]>(
    `SELECT target, at FROM (
       SELECT c.target, c.use AS at FROM tool_calls c JOIN turns t ON t.id = c.turn
       WHERE c.session = ?1 AND c.turn <= ?2 AND ${isTool("c.name", "run")} AND c.is_error = 0 AND c.origin <> 'import'
         AND (t.taken_back = 0 OR ?3)
       ORDER BY c.result DESC LIMIT ${MOST_RUNS})
     WHERE instr(target, 'mv ') > 0 OR instr(target, 'rm ') > 0`,
  )
  const known = db.query<{ n: number }, [bigint, string]>(
    "SELECT 1 AS n FROM facts WHERE session = ? AND kind = 'command' AND text = ?",
  )
  const alike = db.query<{ n: number }, [string, string, string]>(
    `SELECT 1 AS n FROM files WHERE session = ?1 AND op IN ('edit', 'write') AND path <> ?2
       AND substr(path, -length(?3)) = ?3 LIMIT 1`,
  )
  return scope
    .flatMap(({ session, upTo, takenBack }) => {
      const isCommand = (words: string): boolean => known.get(sessionKey(session), words) !== null
      // The shell may still be in a folder that an earlier script changed to, which may have a file of that name.
      const mayBeAnother = ({ from }: Move): boolean =>
        from.startsWith(`${cwd}/`) && alike.get(session, from, from.slice(cwd.length)) !== null
      return runs.all(session, upTo, takenBack).flatMap(({ target, at }) =>
        movesIn(target, cwd, isCommand)
          .filter((move) => target.startsWith("cd ") || !mayBeAnother(move))
          .map((move) => ({ ...move, at })),
      )
    })
    .sort((a, b) => a.at - b.at)
}

/** Where a file is now that was at `path` at message `at`; undefined when it is gone. */
export function whereNow(path: string, at: number, moves: readonly MoveAt[]): string | undefined {
  let now = path
  for (const { from, to, at: moved } of moves) {
    if (moved <= at || (now !== from && !now.startsWith(`${from}/`))) continue
    if (to === undefined) return undefined
    now = to + now.slice(from.length)
  }
  return now
}
