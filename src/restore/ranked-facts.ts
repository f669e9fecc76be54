/**
 * Names, paths, commands and error lines that the model is likely to need again, likeliest first.
 *
 * What was used often and recently is used again, and short facts leave room for more, so the rank is √times /
 * (√age · √characters), or for error lines √times / (√age · characters). docs/measurements/restore.md says how that was
 * chosen.
 */

import { resultText } from "../claude/line-texts.ts"
import { factNames, pathsIn, quotedFilesIn } from "../record/facts.ts"
import { isSentence } from "../record/sentence-names.ts"
import { simpleCommands } from "../record/shell-script.ts"
import type { Database } from "../views/database.ts"
import { latestRuns, shownIn } from "../views/queries/calls.ts"
import { type FactRow, factsIn } from "../views/queries/fact-uses.ts"
import type { Scope } from "../views/queries/scope.ts"
import { latestTurnIds } from "../views/queries/turns.ts"
import type { ArchivedLines } from "../views/records.ts"
import { lastTwo } from "./complement.ts"
import { type Fact, type Facts, SETTLING } from "./material.ts"

/** How many of the latest facts of a kind are considered; older ones have hardly a chance. */
const LOOKED_AT = 120
/** The same for names, since one long text can contain that many. */
const NAMES_LOOKED_AT = 300
/** How many calls of each outcome are searched for the last run of a command. */
const MOST_RUNS = 60
/** How many commands are looked up in those calls; no budget has room for more. */
const MOST_COMMANDS = 60
/** What was only shown is needed less often, and hardly ever if only results before the latest have it. */
const SHOWN_WORTH = 0.5
const OLD_WORTH = { path: 0.3, name: 0.2 } as const
const PROGRAM = /^(?:\/usr(?:\/local)?|\/opt\/\w+)?\/s?bin\//
/** Characters that a fact takes besides its own. */
const AROUND = 8

interface FactSources {
  /** How a path is shown: relative to the session's folder when it is below it. */
  readonly inProject: (path: string) => string
  /** Names and paths that files and searches have shown. */
  readonly shown: ShownNames
  /** Claude Code's own, whose end says what comes next. */
  readonly summary?: string | undefined
  /** Id of a message: what was last run before may have ended otherwise since. */
  readonly since?: number | undefined
}

export function gatherFacts(
  db: Database,
  scope: Scope,
  { inProject, shown, summary = "", since = 0 }: FactSources,
): Facts {
  const weigh = guidedBy(summary)
  const weighed = (rows: readonly Candidate[]): Candidate[] =>
    rows.map((row) => ({ ...row, weight: weigh(row.text) }))
  const told = factsIn(db, scope, "path", LOOKED_AT)
    // The folder itself needs no mention, nor do programs.
    .filter(({ text }) => inProject(`${text}/`) !== "" && !PROGRAM.test(text))
    .map((row) => ({ ...row, text: inProject(row.text) }))
    .filter(({ text }) => !isSentence(text))
  const fileOf = filesOf([...told, ...shown.paths])
  const paths = withShown(merged(told.map(fileOf)), shown.paths.map(fileOf), OLD_WORTH.path)
  const commands = merged(factsIn(db, scope, "command", LOOKED_AT))
  const spoken = factsIn(db, scope, "name", NAMES_LOOKED_AT).filter(({ text }) => !isSentence(text))
  const names = withShown(merged(spoken), shown.names, OLD_WORTH.name)
  const errors = merged(factsIn(db, scope, "error", LOOKED_AT))
  const statuses = new Map(errors.map(({ text, form }) => [text, form]))
  const ages = agesOf([paths, commands, names, errors])
  const failed = failedRuns(db, scope, since)
  return {
    paths: ranked(weighed(paths), ages),
    // Those are weighed where they are chosen (complement.ts).
    commands: ranked(commands, ages)
      .slice(0, MOST_COMMANDS)
      .map((fact) => ({ ...fact, ...failed(fact.text), weight: weigh(fact.text) })),
    names: ranked(weighed(names), ages),
    errors: ranked(
      errors.map((row) => ({ ...row, form: row.text })),
      ages,
      1,
    ).map((fact) => {
      const status = statuses.get(fact.text)!
      return status === fact.text ? fact : { ...fact, exit: status }
    }),
  }
}

interface Candidate extends FactRow {
  /** Of a path, as much as is known of it. */
  readonly whole?: string
  /** How much likelier it is needed than what the human and the model have mentioned as often. */
  readonly worth?: number
  readonly weight?: number
}

/** What was shown counts as used where it was used at all. */
function withShown(used: readonly FactRow[], shown: readonly ShownRow[], ofOld: number): Candidate[] {
  const known = new Set(used.map(({ text }) => text))
  const recent = new Set(shown.filter(({ isRecent }) => isRecent).map(({ text }) => text))
  return merged([...used, ...shown]).map((row) =>
    known.has(row.text) ? row : { ...row, worth: recent.has(row.text) ? SHOWN_WORTH : ofOld },
  )
}

/** Merges equal texts: from a fork and its origin, or a path written in two ways. */
function merged<Row extends FactRow>(rows: readonly Row[]): Row[] {
  const once = new Map<string, Row>()
  for (const row of rows) {
    const known = once.get(row.text)
    const times = row.times + (known?.times ?? 0)
    const isLater = row.latest >= (known?.latest ?? 0)
    once.set(row.text, { ...(isLater ? row : known!), times })
  }
  return [...once.values()]
}

/**
 * Names each file in one way, however it was written: by folder and name, which tell it from others. Where two files have
 * both, what was written of each stands for it. A name alone stands for the only file of that name.
 */
function filesOf(
  rows: readonly FactRow[],
): <Row extends FactRow>(row: Row) => Row & { readonly whole: string } {
  /** As much as is known of each; null: they are several. */
  const wholes = new Map<string, string | null>()
  for (const { text } of rows) {
    const short = lastTwo(text)
    const known = wholes.get(short)
    if (known === undefined || (known !== null && text.endsWith(`/${known}`))) wholes.set(short, text)
    else if (known !== null && known !== text && !known.endsWith(`/${text}`)) wholes.set(short, null)
  }
  const homes = new Map<string, string | null>()
  for (const [short, whole] of wholes) {
    const name = short.slice(short.lastIndexOf("/") + 1)
    if (name !== short) homes.set(name, whole === null || homes.has(name) ? null : short)
  }
  return (row) => {
    const short = lastTwo(row.text)
    const text = wholes.get(short) === null ? row.text : (homes.get(short) ?? short)
    return { ...row, text, form: text, whole: wholes.get(text) ?? text }
  }
}

/**
 * How many messages with facts came after each. Message ids cannot tell, since they also count other sessions'
 * messages.
 */
function agesOf(kinds: readonly (readonly FactRow[])[]): ReadonlyMap<number, number> {
  const latest = new Set(kinds.flatMap((rows) => rows.map((row) => row.latest)))
  return new Map([...latest].sort((a, b) => b - a).map((message, age) => [message, age]))
}

/** @param brevity exponent of the length: error lines are equally likely at any length, so short ones go first */
function ranked(rows: readonly Candidate[], ages: ReadonlyMap<number, number>, brevity = 0.5): Fact[] {
  const need = ({ form, times, latest, worth = 1, weight = 1 }: Candidate): number =>
    (weight * worth * Math.sqrt(times / (ages.get(latest)! + SETTLING))) / (form.length + AROUND) ** brevity
  return rows
    .map((row) => ({ row, need: need(row) }))
    .sort((a, b) => b.need - a.need || (a.row.text < b.row.text ? -1 : 1))
    .map(({ row: { text, form, whole, times, latest, weight } }) => {
      const used = {
        text,
        ...(whole !== undefined && whole !== text && { whole }),
        times,
        age: ages.get(latest)!,
        ...(weight && { weight }),
      }
      return form === text ? used : { ...used, form }
    })
}

/**
 * Whether and how the last run of a command failed. Only for scripts of a single command: with several, there is no
 * telling which one failed.
 *
 * @param since id of a message: how a command ended that was last run before is not known
 */
function failedRuns(db: Database, scope: Scope, since: number): (command: string) => { exit?: string } {
  const runs = latestRuns(db, scope, MOST_RUNS)
  const failures = runs
    .filter(({ isError }) => isError === 1)
    .map(({ script }) => script)
    .join("\n")
  return (command) => {
    if (!failures.includes(command)) return {}
    const last = runs.find(({ script }) => script.includes(command))
    if (last?.isError !== 1 || last.result <= since || !isAlone(command, last.script)) return {}
    return { exit: last.exitCode === null ? "failed" : `Exit code ${last.exitCode}` }
  }
}

const isAlone = (command: string, script: string): boolean => {
  const [first, ...others] = simpleCommands(script)
  return script === command || (first === command && others.length === 0)
}

/* What Claude Code's summary says of what comes next: what has its words is likelier to be needed. */

/** Where its summaries begin to say what is being done. */
const NOW = /\b(?:current work|next step|pending tasks)\b/gi
/** UTF-16 units of the end that count if nothing says where that is; the least behind such a title; the most. */
const END = { usual: 2000, least: 400, most: 6000 } as const

/** How much likelier something is needed if the end of the summary has all of its words, or some of them. */
const ALL_WORDS = 2
const SOME_WORDS = 1.5

function guidedBy(summary: string): (text: string) => number {
  const titles = [...summary.matchAll(NOW)].filter(({ index }) => summary.length - index >= END.least)
  const end = summary.slice(titles.at(-1)?.index ?? -END.usual).slice(0, END.most)
  const said = new Set(tellingWords(end))
  return (text) => {
    const words = tellingWords(text)
    const known = words.filter((word) => said.has(word)).length
    return known > 0 && known === words.length
      ? ALL_WORDS
      : 1 + ((SOME_WORDS - 1) * known) / (words.length || 1)
  }
}

/** Parted at capitals, digits and low lines; two letters say nothing. */
const tellingWords = (text: string): string[] =>
  (text.match(PART) ?? []).map((word) => word.toLowerCase()).filter((word) => word.length > 2)

const PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g

/*
 * Names of code and files in what the model last read and found in files. Half of what it needs again and the summary
 * lacks has been seen there only.
 *
 * A file may be anybody's, so nothing that could hold a sentence is taken: no more than a few words in a row, without
 * blanks, of which each is part of a name as programs have them.
 */

/** How many of the latest results are read, and of how many it counts for more what they show. */
const MOST_RESULTS = 50
const RECENT_RESULTS = 25
const MOST_TURNS = 40
/** Longer lines, in bytes, are not worth unpacking. */
const LONGEST = 32 << 10

/** How much of a result is read, in UTF-16 units. With more, a restore takes longer and finds next to nothing more. */
const RESULTS_LOOKED_AT = 5000

/** Before a line that a search found: its file and number, and no blank after them. */
const FOUND_LINE = /^(\S+\.[A-Za-z]\w{0,9})[:-]\d+[:-]/gm
const CODE_NAME = /^\w{5,40}$/
const CODE_WORDS = 4
const PATH_LONGEST = 120
const PATH_WORDS = 6
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g

interface ShownRow extends FactRow {
  /** Whether one of the latest results has it. */
  readonly isRecent: boolean
}

interface ShownNames {
  readonly names: readonly ShownRow[]
  /** Relative to the session's folder, or as shown. */
  readonly paths: readonly ShownRow[]
}

/** @param inProject how a path is shown: relative to the session's folder when it is below it */
export function shownNames(
  db: Database,
  scope: Scope,
  inProject: (path: string) => string,
  lines: ArchivedLines | undefined,
): ShownNames {
  if (lines === undefined) return { names: [], paths: [] }
  const names = new Map<string, ShownRow>()
  const paths = new Map<string, ShownRow>()
  let left = MOST_RESULTS
  for (const turn of latestTurnIds(db, scope, MOST_TURNS)) {
    for (const place of shownIn(db, turn, LONGEST, left)) {
      const isRecent = MOST_RESULTS - left-- < RECENT_RESULTS
      const text = resultText(lines.at(place)).slice(0, RESULTS_LOOKED_AT).replace(FOUND_LINE, "$1 ")
      for (const name of factNames(text)) if (isCodeName(name)) add(names, name, place.message, isRecent)
      for (const path of [...pathsIn(text), ...quotedFilesIn(text)].map(inProject))
        if (isPlainPath(path)) add(paths, path, place.message, isRecent)
    }
    if (left <= 0) break
  }
  return { names: [...names.values()], paths: [...paths.values()] }
}

/** @param message not later than those before */
function add(found: Map<string, ShownRow>, text: string, message: number, recent: boolean): void {
  const { times, latest, isRecent } = found.get(text) ?? { times: 0, latest: message, isRecent: recent }
  found.set(text, { text, form: text, times: times + 1, latest, isRecent })
}

const isCodeName = (name: string): boolean =>
  CODE_NAME.test(name) && wordsOf(name) <= CODE_WORDS && !isSentence(name)

const isPlainPath = (path: string): boolean =>
  path.length <= PATH_LONGEST &&
  /^\w[\w./-]*$/.test(path) &&
  path.split("/").every((part) => wordsOf(part) <= PATH_WORDS) &&
  !isSentence(path)

const wordsOf = (name: string): number => name.match(WORD)?.length ?? 0
