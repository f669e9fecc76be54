/** Where files went that a command has moved or deleted, as far as its words alone tell. */
import type { Database } from "../archive/database.ts"
import { sessionKey } from "../archive/identity.ts"
import { shellWords } from "../transcript/shell-words.ts"
import { resolve } from "../util/path.ts"
import type { Scope } from "./scope.ts"

export interface Move {
  readonly from: string
  /** undefined: it was deleted, or nobody can say where it is now. */
  readonly to: string | undefined
}

/** A move, and the message that made it. */
export interface MoveAt extends Move {
  readonly at: number
}

/** Commands that are looked at, the latest. */
const MOST_RUNS = 200
/** The views cut a longer script. */
const WHOLE = 299

const MOVES = /^(?:git )?mv /
const DELETES = /^(?:git )?rm /
const OPTION = /^-(?:[fvdqrR]{1,4}|-(?:force|quiet|recursive|verbose))$/
/** What a shell would expand. */
const EXPANDED = /[*?[\]{}$~`!]/
/** Behind these, a script succeeds whatever went before. */
const HIDES_FAILURE = /;|\|\||(?<![&>])&(?![&\d>])|\bset \+e\b/

/**
 * What a script has moved that succeeded. Its commands must be joined by `&&`: of any other nobody can tell which failed.
 *
 * @param isCommand whether these words are one command of the script: in the views a new line is a blank
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

/** Whether a name is what another was changed to, and not a folder that it was moved into. */
function isNewName(name: string, other: string): boolean {
  const extension = /[^.](\.\w+)$/.exec(name)?.[1]
  return other.includes(name) || (extension !== undefined && other.endsWith(extension))
}

/** Moves of a session, the earliest first. */
export function movesOfSession(db: Database, scope: Scope, cwd: string | undefined): MoveAt[] {
  if (cwd === undefined) return []
  const runs = db.query<{ target: string; at: number }, [string, number, number]>(
    `SELECT c.target, c.use AS at FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.session = ?1 AND c.turn <= ?2 AND c.name = 'Bash' AND c.is_error = 0 AND c.origin <> 'import'
       AND (t.taken_back = 0 OR ?3) AND (instr(c.target, 'mv ') > 0 OR instr(c.target, 'rm ') > 0)
     ORDER BY c.result DESC LIMIT ${MOST_RUNS}`,
  )
  const known = db.query<{ n: number }, [bigint, string]>(
    "SELECT 1 AS n FROM facts WHERE session = ? AND kind = 'command' AND text = ?",
  )
  return scope
    .flatMap(({ session, upTo, takenBack }) => {
      const isCommand = (words: string): boolean => known.get(sessionKey(session), words) !== null
      return runs
        .all(session, upTo, takenBack)
        .flatMap(({ target, at }) => movesIn(target, cwd, isCommand).map((move) => ({ ...move, at })))
    })
    .sort((a, b) => a.at - b.at)
}

/** Where a file is now that was there at that message; undefined when it is gone. */
export function whereNow(path: string, at: number, moves: readonly MoveAt[]): string | undefined {
  let now = path
  for (const { from, to, at: moved } of moves) {
    if (moved <= at || (now !== from && !now.startsWith(`${from}/`))) continue
    if (to === undefined) return undefined
    now = to + now.slice(from.length)
  }
  return now
}
