/**
 * Names of code and files in what the model last read and found in files. Half of what it needs again and the summary
 * lacks has been seen there only.
 *
 * A file may be anybody's, so nothing that could hold a sentence is taken: no more than a few words in a row, without
 * blanks, of which each is part of a name as programs have them.
 */

import type { Database } from "../archive/database.ts"
import { shownIn } from "../archive/queries/calls.ts"
import type { FactRow } from "../archive/queries/fact-uses.ts"
import type { Scope } from "../archive/queries/scope.ts"
import { latestTurnIds } from "../archive/queries/turns.ts"
import { resultText } from "../claude/line-texts.ts"
import { factNames, pathsIn, quotedFilesIn } from "../transcript/facts.ts"
import { isSentence } from "../transcript/sentence-names.ts"
import type { ArchivedLines } from "./archived-line.ts"

/** How many of the latest results are read. */
const MOST_RESULTS = 15
const MOST_TURNS = 20
/** Longer lines, in bytes, are not worth unpacking. */
const LONGEST = 32 << 10

/** How much of a result is read, in UTF-16 units. More found nothing more that was needed. */
const LOOKED_AT = 4000

/** Before a line that a search found: its file and number, and no blank after them. */
const FOUND_LINE = /^(\S+\.[A-Za-z]\w{0,9})[:-]\d+[:-]/gm
const CODE_NAME = /^\w{5,40}$/
const CODE_WORDS = 4
const PATH_LONGEST = 120
const PATH_WORDS = 6
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g

export interface ShownNames {
  readonly names: readonly FactRow[]
  /** Relative to the session's folder, or as shown. */
  readonly paths: readonly FactRow[]
}

/** @param inProject how a path is shown: relative to the session's folder when it is below it */
export function shownNames(
  db: Database,
  scope: Scope,
  inProject: (path: string) => string,
  lines: ArchivedLines | undefined,
): ShownNames {
  if (lines === undefined) return { names: [], paths: [] }
  const names = new Map<string, FactRow>()
  const paths = new Map<string, FactRow>()
  let left = MOST_RESULTS
  for (const turn of latestTurnIds(db, scope, MOST_TURNS)) {
    for (const place of shownIn(db, turn, LONGEST, left)) {
      left--
      const text = resultText(lines.at(place)).slice(0, LOOKED_AT).replace(FOUND_LINE, "$1 ")
      for (const name of factNames(text)) if (isCodeName(name)) add(names, name, place.message)
      for (const path of [...pathsIn(text), ...quotedFilesIn(text)].map(inProject))
        if (isPlainPath(path)) add(paths, path, place.message)
    }
    if (left <= 0) break
  }
  return { names: [...names.values()], paths: [...paths.values()] }
}

/** @param message not later than those before */
function add(found: Map<string, FactRow>, text: string, message: number): void {
  const { times, latest } = found.get(text) ?? { times: 0, latest: message }
  found.set(text, { text, form: text, times: times + 1, latest })
}

const isCodeName = (name: string): boolean =>
  CODE_NAME.test(name) && wordsOf(name) <= CODE_WORDS && !isSentence(name)

const isPlainPath = (path: string): boolean =>
  path.length <= PATH_LONGEST &&
  /^\w[\w./-]*$/.test(path) &&
  path.split("/").every((part) => wordsOf(part) <= PATH_WORDS) &&
  !isSentence(path)

const wordsOf = (name: string): number => name.match(WORD)?.length ?? 0
