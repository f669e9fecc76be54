/**
 * What followed an error: the calls made until the same thing next succeeded, or what was done after the user had pasted
 * it. Whether texts tell of the same error is told by its words, apart from what changes from one time to the next:
 * numbers, paths, addresses and times.
 */
import { isShell, SHELL_KINDS, toolKind } from "../agents/tool-kinds.ts"
import { once } from "../base/once.ts"
import { cut } from "../base/text.ts"
import { wordSet } from "../base/words.ts"
import { errorLinesIn } from "../record/error-lines.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { unfiltered } from "../record/script-essence.ts"
import type { Database } from "../views/database.ts"
import { answeredCall, type CallInTurn, callsAfter, failedCall } from "../views/queries/calls.ts"
import { rankRows } from "../views/queries/messages.ts"
import { type TakenBack, takenBackOf } from "../views/queries/scope.ts"
import { turnOfMessage } from "../views/queries/turns.ts"
import { candidatesIn, hasTerm } from "./candidates.ts"
import { hasWord } from "./fts-expression.ts"
import { MessageTexts } from "./message-text.ts"
import { parseQuery, partsAsked, type Term } from "./parse-query.ts"
import { bestFirst } from "./rank.ts"
import type { Topic } from "./topics.ts"
import { WholeCalls } from "./whole-matches.ts"

/** `takenBack` is that of the turn of the error. */
export interface Fix extends TakenBack {
  /** The turn of the error, with `ctx:`. */
  readonly handle: string
  readonly time: string | null
  /** Empty, as is `target`, if no call has failed but the error was pasted. */
  readonly tool: string
  readonly target: string
  readonly error: string
  /** Set if the user has pasted the error into a prompt. */
  readonly pasted?: true
  /** Calls made after it, in order: the last ones before the success, or the first ones when it never succeeded. */
  readonly steps: readonly FixStep[]
  /** The turn in which the same call succeeded; null when it never did in this session. */
  readonly solvedIn: string | null
  /** Whether that turn was taken back. */
  readonly solutionTakenBack?: true
  /** What the model said at the end of that turn, or of the error's turn when there is none. */
  readonly answer: string
}

interface FixStep {
  readonly tool: string
  readonly target: string
  readonly failed: boolean
}

/** How many calls after an error are examined, and how many of them are reported. */
const LOOKED_AT = 400
const TOLD = 8

type WholeFix = () => Pick<Fix, "target" | "error" | "steps">

/**
 * @param messages results that were found, best first
 * @returns each fix with a function that reads its full texts from the vault; the fix itself has the views' short ones
 */
export function fixesFor(
  db: Database,
  messages: readonly number[],
  calls: WholeCalls,
): (readonly [Fix, WholeFix])[] {
  // The calls after one error are mostly those after the next as well.
  const scripts = new Map<string, string>()
  const scriptOf = (text: string): string => {
    const known = scripts.get(text) ?? unfiltered(text)
    scripts.set(text, known)
    return known
  }
  return messages.flatMap((message) => {
    const failed = failedCall(db, message) ?? loggedIn(db, message)
    return failed === null ? [] : [fixOf(db, failed, calls, isShell(failed.name) ? scriptOf : (text) => text)]
  })
}

/** The call that has shown an error which was another program's, such as the log of a job. */
function loggedIn(db: Database, message: number): CallInTurn | null {
  const call = answeredCall(db, message)
  // Files and what is found in them name errors that nobody had.
  const kind = call === null ? "read" : toolKind(call.name)
  return kind === undefined || isShell(call?.name) ? call : null
}

/** What the model did after the user had pasted an error, as far as it changed or ran something. */
function pastedFix(db: Database, message: number, error: string): Fix | undefined {
  const turn = turnOfMessage(db, message)
  if (turn === null) return undefined
  const done = callsAfter(db, { ...turn, use: message }, LOOKED_AT).filter(
    (call) => call.turn === turn.turn && DOES.has(toolKind(call.name) ?? ""),
  )
  return {
    handle: HANDLE_PREFIX + turn.handle,
    time: turn.time,
    tool: "",
    target: "",
    error,
    pasted: true,
    steps: done.slice(-TOLD).map((call) => stepOf(call, call.target)),
    solvedIn: null,
    answer: turn.answer,
    ...takenBackOf(turn),
  }
}

const DOES: ReadonlySet<string> = new Set(["edit", "write", ...SHELL_KINDS])

const stepOf = (call: CallInTurn, target: string): FixStep => ({
  tool: call.name,
  target,
  failed: call.isError === 1 || call.error !== null,
})

/** @param essence what calls must share to be the same */
function fixOf(
  db: Database,
  failed: CallInTurn,
  calls: WholeCalls,
  essence: (target: string) => string,
): readonly [Fix, WholeFix] {
  const after = callsAfter(db, failed, LOOKED_AT)
  const target = essence(failed.target)
  const key = once(() => essence(calls.key(failed)))
  const isSame = (one: CallInTurn): boolean =>
    one.name === failed.name && essence(one.target) === target && essence(calls.key(one)) === key()
  // The same log, shown again, solves nothing.
  const at =
    failed.error === null
      ? -1
      : after.findIndex((one) => one.isError === 0 && one.error === null && isSame(one))
  const solved = at < 0 ? undefined : after[at]!
  const until = at < 0 ? after.slice(0, TOLD) : after.slice(0, at).slice(-TOLD)
  const fix: Fix = {
    handle: HANDLE_PREFIX + failed.handle,
    time: failed.time,
    tool: failed.name,
    target: failed.target,
    error: failed.error ?? "",
    steps: until.map((call) => stepOf(call, call.target)),
    solvedIn: solved === undefined ? null : HANDLE_PREFIX + solved.handle,
    answer: (solved ?? failed).answer,
    ...takenBackOf(failed),
    ...(solved?.takenBack === 1 ? { solutionTakenBack: true } : {}),
  }
  const wholeFix: WholeFix = () => ({
    target: calls.target(failed) ?? fix.target,
    error: calls.output(failed) ?? fix.error,
    steps: until.map((call) => stepOf(call, calls.target(call) ?? call.target)),
  })
  return [fix, wholeFix]
}

/** Number of errors considered. The solved ones among them come first. */
const ERRORS = 40

/**
 * Only of the same error. What has all of its words as they stand there comes first, then what has them all anywhere; of
 * these, those that were solved, then what was pasted.
 */
export function fixesAbout(topic: Topic): Fix[] {
  const { db, dataHome, readers, limit } = topic
  const calls = new WholeCalls(db, dataHome, readers)
  const found = errorsLike(topic).flatMap(({ message, isPasted, farness, from }) => {
    if (isPasted) {
      const fix = pastedFix(db, message, from)
      return fix === undefined ? [] : [{ fix, farness, whole: () => ({}) }]
    }
    return fixesFor(db, [message], calls).map(([fix, whole]) => ({ fix, farness, whole }))
  })
  const rank = ({ fix, farness }: (typeof found)[number]): number =>
    3 * farness + (fix.solvedIn !== null ? 0 : fix.pasted ? 1 : 2)
  return found
    .toSorted((a, b) => rank(a) - rank(b))
    .map(({ fix, whole }, n) => (n < limit ? { ...fix, ...whole() } : fix))
}

interface FoundError {
  readonly message: number
  readonly isPasted: boolean
  /** 0: it has the error as it stands; 1: all of its words; 2: most of them. */
  readonly farness: number
  /** The text of the message from the line on that is nearest. */
  readonly from: string
}

/** A pasted error of fewer words may just be what somebody wrote about. */
const FEWEST = 4
/** UTF-16 units of a pasted error that are kept. */
const PASTED = 2000

/** Failed calls by themselves: files and listings with the same words are many more. */
const TOLD_BY = [
  { role: "tool", error: true },
  { role: "tool", error: false },
  { role: "human", error: false },
] as const

/** Where this error is told, by results and by the user, nearest first. */
function errorsLike({ db, dataHome, readers, text, project, program }: Topic): FoundError[] {
  const sought = soughtError(text)
  const scope = candidatesIn(db, sought.terms, { project, program })
  const weights = new Map(scope?.terms.map(({ word, weight }) => [word, weight]))
  // What nobody has said tells most.
  const most = Math.max(1, ...weights.values())
  const weightOf = ({ word }: Term): number => weights.get(word) ?? most
  const texts = new MessageTexts(db, dataHome, readers)
  const looked = new Set<number>()
  const found = TOLD_BY.flatMap(({ role, error }) => {
    const candidates = candidatesIn(db, sought.terms, { project, program, role, error })
    if (candidates === undefined) return []
    const mayBe = (id: number): boolean =>
      !looked.has(id) && isSameError(sought, weightOf, hasTerm(candidates, id))
    const chosen = bestFirst(candidates, ERRORS).filter(mayBe)
    for (const id of chosen) looked.add(id)
    const kinds = new Map(rankRows(db, chosen, false).map(({ id, kind }) => [id, kind]))
    texts.load([], chosen)
    return chosen.flatMap((message) => {
      const kind = kinds.get(message) ?? ""
      const place = errorPlace(texts.of(message)?.text ?? "", kind, sought, weightOf)
      const isPasted = role === "human"
      const isTold = place?.isNamed || (isPasted && sought.terms.length >= FEWEST)
      if (place === undefined || !isTold || !place.isSame) return []
      const farness = place.isAsTyped ? 0 : place.isWhole ? 1 : 2
      return [{ message, isPasted, farness, from: cut(place.from, PASTED) }]
    })
  })
  return found.toSorted((a, b) => a.farness - b.farness)
}

/* What makes two errors the same. Pure. */

interface SoughtError {
  readonly terms: readonly Term[]
  /** The same, name by name: of another name's parts, some may be the same. */
  readonly names: readonly (readonly Term[])[]
  /** Numbers that name an error, such as `CS0518` or the 413 of `HTTP 413`: another number is another error. */
  readonly codes: readonly string[]
  /** What stands between the parts that change, as `plainLines` has it. */
  readonly runs: readonly string[]
}

const ADDRESS = /\b[a-z][a-z\d+.-]*:\/\/[^\s"'<>`)\]]*/gi
/** What contains a slash or backslash between names. A unit or an option of two words has them as well: `and/or`. */
const PATH = /(?:[A-Za-z]:)?[\w.@~+-]*(?:[\\/]+[\w.@~+-]+)+[\\/]?|(?<![\w])~?[\\/][\w.@~+-]*/g
const TIME = /\b\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d?:\d\d:\d\d(?:[.,]\d+)?/g
/** Takes the place of what changes. A blank to whatever reads it. */
const CHANGES = "\v"
/** Letters that are the name of a list of errors, and the number of one in it. */
const NUMBERED = /\b[A-Z]{1,12}-?\d{2,6}\b/g
/** A number that says which error it is. Elsewhere it says where, when or how often. */
const CODE =
  /\b(?:https?|status|code|errno|errcode|exit|signal|response)\b[^\d\n]{0,32}?(\d{1,5})\b|\berror[: #]{1,3}(\d{1,5})\b/gi
/** Places in a file, amounts, addresses in memory, and other numbers. */
const NUMBER = /\b0x[\da-f]+\b|(?<![\w.])[\d.,:_-]*\d[\d.,:_-]*(?:[kmgt]?i?b|ms|s|m|h|%)?(?![\w])/gi
const OPERATOR = /\b(?:AND|OR|NOT)\b/g

/** @param text what was typed or pasted */
export function soughtError(text: string): SoughtError {
  const plain = text.replace(ADDRESS, CHANGES).replace(TIME, CHANGES).replace(PATH, CHANGES)
  const numbered = plain.match(NUMBERED) ?? []
  const told = plain
    .replace(NUMBERED, " ")
    .matchAll(CODE)
    .map(([, one, other]) => one ?? other!)
  const codes = [...new Set([...numbered, ...told])]
  const words = termsIn(plain.replace(NUMBERED, (one) => ` ${one} `).replace(NUMBER, " "))
  // Nothing but a path or a number was given: then it is what was meant.
  const hasWords = words.length + codes.length > 0
  const terms = hasWords ? words : termsIn(text)
  const runs = plainLines(hasWords ? plain.replace(NUMBER, CHANGES).replaceAll(CHANGES, "\n") : text)
    .split("\n")
    .flatMap((run) => run.trim() || [])
  return { terms, names: [...Map.groupBy(terms, ({ typed }) => typed).values()], codes, runs }
}

/** Words and numbers alone, in lower case, with a blank around each and the line breaks. */
const plainLines = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\n]+/gu, " ")
    .replaceAll("\n", " \n ")} `.replace(/ +/g, " ")

/** Whether it has the error as it stands: nothing between its words but what changes. */
function hasRuns({ runs }: SoughtError, text: string): boolean {
  const lines = plainLines(text)
  let from = 0
  for (const run of runs) {
    const at = lines.indexOf(` ${run} `, from)
    if (at < 0) return false
    from = at + run.length + 1
  }
  return runs.length > 0
}

/** Signs of the language of queries say nothing of an error. */
const termsIn = (text: string): Term[] =>
  partsAsked(
    parseQuery(text.replace(/["()*]|(?<=\w):(?=\S)/g, " ").replace(OPERATOR, (word) => word.toLowerCase())),
  )

type WeightOf = (term: Term) => number
type Has = (term: Term) => boolean

/** The share of an error's words, by what they tell, that another text must have to tell of the same one. */
const SAME = 0.8

/** Whether it has as much of the error as the same one must: most of it, and a name that tells most. */
function isSameError(sought: SoughtError, weightOf: WeightOf, has: Has): boolean {
  const weights = sought.names.map((terms) => weightOfName(terms, weightOf))
  const telling = Math.max(0, ...weights)
  const hasTelling = sought.names.some((terms, n) => weights[n] === telling && terms.every(has))
  return hasTelling && shareOf(sought, weightOf, has) >= SAME
}

/** How much of the error is there, 0 to 1. */
function shareOf({ names }: SoughtError, weightOf: WeightOf, has: Has): number {
  let all = 0
  let met = 0
  for (const terms of names) {
    const weight = weightOfName(terms, weightOf)
    all += weight
    if (terms.every(has)) met += weight
  }
  return all === 0 ? 1 : met / all
}

const weightOfName = (terms: readonly Term[], weightOf: WeightOf): number => Math.max(...terms.map(weightOf))

/** Lines around the nearest one that count as well: an error may be told in several. */
const AROUND = 3
/** UTF-16 units of a text that are read. */
const READ = 200_000

interface ErrorPlace {
  /** Whether it is the same error, and has all of its words. */
  readonly isSame: boolean
  readonly isWhole: boolean
  /** Whether they stand there in the same order, with nothing between them. */
  readonly isAsTyped: boolean
  /** The text from the nearest line on. */
  readonly from: string
  /** Whether that is a failure, or a line that names an error. */
  readonly isNamed: boolean
}

/**
 * Where in a text the error is told.
 *
 * @param kind of the message
 * @param weightOf how much a word tells
 */
export function errorPlace(
  text: string,
  kind: string,
  sought: SoughtError,
  weightOf: WeightOf,
): ErrorPlace | undefined {
  const lines = text.slice(0, READ).split("\n")
  const words = [...sought.terms.map(({ word }) => word), ...sought.codes]
  // Most lines have none, and reading a line word by word takes long.
  const any = new RegExp(words.map((word) => RegExp.escape(word)).join("|"), "i")
  const sharedBy = (told: string): number => shareOf(sought, weightOf, hasIn(told))
  let at = -1
  let most = 0
  let isExact = false
  for (const [n, line] of lines.entries()) {
    const share = any.test(line) ? sharedBy(line) : 0
    if (share === 0 || share < most || (share === most && isExact)) continue
    const isIt = hasRuns(sought, line)
    if (share > most || isIt) [at, most, isExact] = [n, share, isIt]
  }
  if (at < 0) return undefined
  const named = errorLinesIn(text, kind === "failure")
  const around = lines.slice(Math.max(0, at - AROUND), at + AROUND + 1)
  const told = [...around, ...named].join("\n")
  const hasCode = (code: string): boolean =>
    new RegExp(`(?<![\\w.])${RegExp.escape(code)}(?!\\w)`, "i").test(told)
  const isSame = sought.codes.every(hasCode) && isSameError(sought, weightOf, hasIn(told))
  const isWhole = isSame && sought.terms.every(hasIn(told))
  return {
    isSame,
    isWhole,
    isAsTyped: isWhole && (isExact || hasRuns(sought, around.join("\n"))),
    from: lines.slice(at).join("\n"),
    isNamed: kind === "failure" || named.some((line) => sharedBy(line) >= most / 2),
  }
}

function hasIn(text: string): Has {
  const words = wordSet(text)
  return ({ word, isPrefix }) => hasWord(words, word, isPrefix)
}
