/** Tracks files that commands moved or deleted, as far as the commands' words tell. */
import type { Database } from "../archive/database.ts"
import { movingScripts } from "../archive/queries/calls.ts"
import { isCommandOf } from "../archive/queries/fact-uses.ts"
import type { Scope } from "../archive/queries/scope.ts"
import { hasNamesake } from "../archive/queries/touched-files.ts"
import { shellWords } from "../transcript/shell-script.ts"
import { resolve } from "../util/path.ts"

export interface Move {
  readonly from: string
  /** Undefined when it was deleted or its new place is unknown. */
  readonly to: string | undefined
}

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

export function movesOfSession(db: Database, scope: Scope, cwd: string | undefined): MoveAt[] {
  if (cwd === undefined) return []
  return scope
    .flatMap((part) => {
      const isCommand = (words: string): boolean => isCommandOf(db, part.session, words)
      // The shell may still be in a folder that an earlier script changed to, which may have a file of that name.
      const mayBeAnother = ({ from }: Move): boolean =>
        from.startsWith(`${cwd}/`) && hasNamesake(db, part.session, from, from.slice(cwd.length))
      return movingScripts(db, part, MOST_RUNS).flatMap(({ target, at }) =>
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
