/** Answers to questions about earlier work: how a command was run, what fixed an error, which files a topic has. */
import { SHELL_KINDS, toolsOf } from "../agents/tool-kinds.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { type CommandRun, commandsRun, type Fix, fixesFor } from "./fixes.ts"
import { bestMessages, rankedTurns } from "./search-turns.ts"
import { filesAbout, type TopicFile } from "./topic-files.ts"
import { WholeCalls } from "./whole-calls.ts"

export interface Topic {
  readonly db: Database
  readonly dataHome: string
  readonly readers: CopyReaders
  readonly text: string
  /** Undefined: all projects. */
  readonly project: string | undefined
  /** How many answers, best first, are read from the vault in full; the others are as short as the views keep them. */
  readonly limit: number
}

/** Number of calls of each tool considered. */
const CALLS = 300
/** Number of errors considered. The solved ones among them come first. */
const ERRORS = 40
/** Number of turns whose files are considered. */
const TURNS = 25

export function commandsAbout({ db, dataHome, readers, text, project, limit }: Topic): CommandRun[] {
  const found = toolsOf(...SHELL_KINDS).flatMap((tool) =>
    bestMessages(db, text, { project, role: "assistant", tool }, CALLS),
  )
  return commandsRun(db, text, found, { project, limit, calls: new WholeCalls(db, dataHome, readers) })
}

export function fixesAbout({ db, dataHome, readers, text, project, limit }: Topic): Fix[] {
  const calls = new WholeCalls(db, dataHome, readers)
  const all = fixesFor(db, bestMessages(db, text, { project, error: true }, ERRORS), calls)
  const isSolved = ([{ solvedIn }]: (typeof all)[number]): boolean => solvedIn !== null
  const ordered = [...all.filter(isSolved), ...all.filter((one) => !isSolved(one))]
  return ordered.map(([fix, whole], n) => (n < limit ? { ...fix, ...whole() } : fix))
}

export function filesOfTopic({ db, dataHome, readers, text, project }: Topic): TopicFile[] {
  const { turns } = rankedTurns(db, dataHome, { query: text, project }, readers)
  return filesAbout(db, text, turns.slice(0, TURNS))
}
