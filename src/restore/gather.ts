/** Reads the material for a restore from the views. */
import { toolKind } from "../agents/tool-kinds.ts"
import { codeOf } from "../base/errors.ts"
import { resolve } from "../base/path.ts"
import { cut } from "../base/text.ts"
import { endsWithAnswer, filesShownAgain } from "../claude/context/shown-again.ts"
import { HASHED_ID } from "../find/embed/hashed-words.ts"
import {
  type Clue,
  cluesOf,
  FOCUSED,
  FOCUSED_WITHIN,
  type Gate,
  placeOf,
  type RelatedTurn,
  relatedTurns,
} from "../find/related-turns.ts"
import { isSentence } from "../record/sentence-names.ts"
import { shellWords } from "../record/shell-script.ts"
import type { Database } from "../views/database.ts"
import type { PassedOver } from "../views/indexing.ts"
import {
  type ChangedFile,
  filesChangedIn,
  type LastRun,
  lastRun,
  movingScripts,
  subagentsStarted,
  successesSince,
} from "../views/queries/calls.ts"
import { isCommandOf } from "../views/queries/fact-uses.ts"
import { idsOfProject, projectOfSession } from "../views/queries/projects.ts"
import type { Scope } from "../views/queries/scope.ts"
import { aboutSession, archivedOf, keptNotes, statementsIn } from "../views/queries/sessions.ts"
import { hasNamesake, lastChangedElsewhere, turnsWithChanges } from "../views/queries/touched-files.ts"
import { kinships } from "../views/queries/transcripts.ts"
import { countTurns, latestTurnIds, latestTurns, type TurnLine, turnNames } from "../views/queries/turns.ts"
import type { ArchivedLines } from "../views/records.ts"
import { openTodos, parseTodos } from "../views/todos.ts"
import { type ComparedVectors, isScale, isWholeRow, unpackVectors, vectorsBeside } from "../views/vectors.ts"
import { belowFolder } from "./complement.ts"
import {
  type Brief,
  type CommandOutcome,
  type Fact,
  type Facts,
  FILES_SHOWN,
  type FileInFlight,
  type Material,
  type Quote,
  type RelatedLine,
} from "./material.ts"
import { runsAgain, typed } from "./quote.ts"
import { gatherFacts, shownNames } from "./ranked-facts.ts"
import { clearedBefore, scopeOf } from "./restore-scope.ts"

const MOST_TURNS = 60
/** More than there is room for, since the new context may already contain some. */
const MOST_NOTES = 30
const MOST_FILES = 10
const MOST_FOCUSED = 5
const MOST_SUBAGENTS = 3
/** How many of the latest turns are searched for subagents. */
const SUBAGENTS_WITHIN = 20
/** More notes of the model's than there is room for. */
const MOST_KEPT = 10
/** How many later runs are searched for a success of a failed command. */
const MOST_RUNS = 200

/** A prompt that has not been fully answered. */
export interface PendingPrompt {
  readonly text: string
  /** Size of the transcript, in bytes, when the prompt arrived; its own line comes after that. */
  readonly at: number
}

interface GatherOptions extends Pick<BriefOptions, "related" | "about" | "focus" | "passed"> {
  readonly pending?: PendingPrompt | undefined
  /** Id of the last turn that counts. Default: the session's last. */
  readonly upTo?: number | undefined
  /** If absent, what files and searches have shown is not looked at. */
  readonly lines?: ArchivedLines | undefined
  /** Claude Code's own summary, whose end says what comes next. */
  readonly summary?: string | undefined
}

/** Everything a restore may need. The cost does not depend on the length of the session. */
export function gather(db: Database, session: string, options: GatherOptions = {}): Material {
  const { pending: asked, related, about = asked?.text, focus, upTo, lines, summary, passed } = options
  const since = passed?.message
  const scope = scopeOf(db, session, upTo)
  const brief = gatherBrief(db, session, { scope, turns: MOST_TURNS, related, about, focus, passed })
  const last = brief.turns[0]
  const inProject = belowFolder(brief.cwd)
  // The views keep only the beginning of a long prompt, cut the same way as here.
  const stored = last !== undefined && asked !== undefined && isOf(last, asked) ? last : undefined
  const files = filesInFlight(db, scope, brief.cwd)
  const material: Material = {
    ...brief,
    related: related ? [...brief.related, ...changedBefore(db, session, brief, files)] : [],
    // A prompt whose author interrupted the model is not waiting for an answer.
    pending: stored?.interrupted === 1 ? undefined : asked?.text,
    pendingBegun: stored !== undefined && begun(stored),
    constraints: constraints(db, scope),
    answers: notes(db, scope, "answer"),
    decisions: notes(db, scope, "decision"),
    refuted: notes(db, scope, "refuted"),
    files,
    subagents: subagentsStarted(db, latestTurnIds(db, scope, SUBAGENTS_WITHIN), MOST_SUBAGENTS, since),
    shownAgain: filesShownAgain(db, scope),
    lastAnswer: last !== undefined && endsWithAnswer(db, last.handle) ? last.answer : undefined,
    failing: failingCommand(db, scope, since),
    good: asRun(lastRun(db, scope, 0, since)),
    facts: gatherFacts(db, scope, {
      inProject,
      shown: shownNames(db, scope, inProject, lines),
      summary,
      since,
    }),
  }
  if (focus === undefined) return material
  return { ...focusFirst(material, focus), focused: gatherFocused(db, session, focus, MOST_FOCUSED) }
}

interface BriefOptions {
  readonly scope?: Scope
  readonly turns?: number
  readonly related?: number | undefined
  /** What they should be about. Default: the pending prompt or else the latest turn's. */
  readonly about?: string | undefined
  /** What the user asked for in addition; turns about it come first. */
  readonly focus?: string | undefined
  /** If only the session's end was indexed: what it makes uncertain is not told. */
  readonly passed?: PassedOver | undefined
}

/** Where a session was left: its last turns and what remained to be done. */
export function gatherBrief(db: Database, session: string, options: BriefOptions = {}): Brief {
  const { scope = scopeOf(db, session), turns: most = 1, related = 0, about, focus, passed } = options
  const row = aboutSession(db, session)
  const { archived, unread } = archivedOf(db, session)
  const turns = latestTurns(db, scope, most, passed?.turns)
  const latest = about === undefined || about === turns[0]?.prompt ? turns[0] : undefined
  return {
    session,
    title:
      row?.titleOrigin === "import" || row?.titleOrigin === "other" ? undefined : (row?.title ?? undefined),
    ended: row?.ended ?? undefined,
    version: row?.version ?? undefined,
    cwd: row?.cwd ?? undefined,
    turnCount: countTurns(db, scope),
    archived,
    unread: unread + (passed?.unseen ?? 0),
    todos: openTodos(parseTodos(row?.todos)),
    notes: keptNotes(db, session, MOST_KEPT),
    turns,
    related: gatherRelated(
      db,
      session,
      { focus, about: about ?? latest?.prompt ?? "", latest: latest?.handle },
      related,
    ),
  }
}

/** Whether this turn began with that prompt, and not with the same words earlier. */
const isOf = (turn: TurnLine, { text, at }: PendingPrompt): boolean =>
  turn.offset >= at && turn.prompt === cut(text, turn.prompt.length)

const begun = (turn: TurnLine): boolean => turn.tools > 0 || turn.answer !== ""

/** Those of the sessions that `/clear` ended come after the session's own: what the user ruled out stays so. */
function constraints(db: Database, scope: Scope): Quote[] {
  const found = notes(db, scope, "constraint")
  for (const former of clearedBefore(db, scope)) {
    if (found.length >= MOST_NOTES) break
    const known = new Set(found.map(({ text }) => text))
    found.push(...notes(db, former, "constraint").filter(({ text }) => !known.has(text)))
  }
  return found.slice(0, MOST_NOTES)
}

/** What was chosen is the same whoever says so, but a summary that lists it need not say that it was chosen. */
const CHOSEN = / \(option \w+: ([\s\S]*)\)$/

/** Newest first, without duplicates. A choice that the model repeats is the user's. */
function notes(db: Database, scope: Scope, kind: Parameters<typeof statementsIn>[2]): Quote[] {
  const found = statementsIn(db, scope, kind, 2 * MOST_NOTES).sort((a, b) => b.turn - a.turn)
  const once = new Map<string, Quote>()
  for (const { text, handle, origin } of found) {
    const said = (kind === "decision" ? CHOSEN.exec(text)?.[1] : undefined) ?? text
    const byUser = origin === "human"
    if (!once.has(said) || (byUser && once.get(said)?.byUser === false))
      once.set(said, { text, handle, byUser })
  }
  return [...once.values()].slice(0, MOST_NOTES)
}

/**
 * Files by the last call that changed each, newest first, since one turn may change a hundred. A file that was moved
 * later is listed where it is now.
 */
function filesInFlight(db: Database, scope: Scope, cwd: string | undefined): FileInFlight[] {
  const turns = turnsWithChanges(db, scope, MOST_TURNS).sort((a, b) => b - a)
  const moves = movesOfSession(db, scope, cwd)
  const inProject = belowFolder(cwd)
  const latest = new Map<string, ChangedFile>()
  for (const turn of turns) {
    if (latest.size >= MOST_FILES) break
    for (const file of filesChangedIn(db, turn, MOST_FILES)) {
      const now = whereNow(file.path, file.latest, moves)
      if (now === undefined || isSentence(inProject(now))) continue
      if (!latest.has(now)) latest.set(now, file)
    }
  }
  return [...latest].slice(0, MOST_FILES).map(([path, { name, handle, call, latest, bySubagent }]) => ({
    path,
    op: toolKind(name) === "write" ? "write" : "edit",
    handle,
    call: bySubagent ? undefined : { id: call, message: latest },
  }))
}

function asRun(row: LastRun | undefined): CommandOutcome | undefined {
  if (row === undefined) return undefined
  const { command, handle } = row
  return { command, exitCode: row.exitCode ?? undefined, error: row.error ?? "", handle }
}

/** The last command that failed, unless it has succeeded since, even with its output redirected elsewhere. */
function failingCommand(db: Database, scope: Scope, behind?: number): CommandOutcome | undefined {
  const row = lastRun(db, scope, 1, behind)
  if (row === undefined) return undefined
  const failed = typed(row.command)
  const since = { words: failed.command, message: row.result, most: MOST_RUNS }
  const isMended = successesSince(db, scope, since).some((script) => runsAgain(failed, typed(script)))
  return isMended ? undefined : asRun(row)
}

/* What the user asked a compaction to keep (`/compact <words>`) comes first in each list. Pure. */

/** Only the order changes, and that of equals is kept: what the words do not name may be needed as well. */
function focusFirst(material: Material, focus: string): Material {
  const clues = cluesOf(focus)
  if (clues.length === 0) return material
  const texts = <T extends { readonly text: string }>(all: readonly T[]): T[] =>
    namedFirst(all, clues, ({ text }) => text)
  const facts = ({ paths, commands, names, errors }: Facts): Facts => ({
    paths: texts(paths),
    commands: namedFirst<Fact>(commands, clues, ({ text, form = text }) => form),
    names: texts(names),
    errors: texts(errors),
  })
  return {
    ...material,
    constraints: texts(material.constraints),
    answers: texts(material.answers),
    decisions: texts(material.decisions),
    refuted: texts(material.refuted),
    files: namedFirst(material.files, clues, ({ path }) => path),
    facts: facts(material.facts),
  }
}

function namedFirst<T>(all: readonly T[], clues: readonly Clue[], textOf: (one: T) => string): T[] {
  const named = all.filter((one) => clues.some((clue) => placeOf(clue, textOf(one)) >= 0))
  if (named.length === 0 || named.length === all.length) return [...all]
  const first = new Set(named)
  return [...named, ...all.filter((one) => !first.has(one))]
}

/* Tracks files that commands moved or deleted, as far as the commands' words tell. */

interface Move {
  readonly from: string
  /** Undefined when it was deleted or its new place is unknown. */
  readonly to: string | undefined
}

interface MoveAt extends Move {
  readonly at: number
}

/** How many of the latest commands are examined. */
const MOST_MOVES = 1000
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

function movesOfSession(db: Database, scope: Scope, cwd: string | undefined): MoveAt[] {
  if (cwd === undefined) return []
  return scope
    .flatMap((part) => {
      const isCommand = (words: string): boolean => isCommandOf(db, part.session, words)
      // The shell may still be in a folder that an earlier script changed to, which may have a file of that name.
      const mayBeAnother = ({ from }: Move): boolean =>
        from.startsWith(`${cwd}/`) && hasNamesake(db, part.session, from, from.slice(cwd.length))
      return movingScripts(db, part, MOST_MOVES).flatMap(({ target, at }) =>
        movesIn(target, cwd, isCommand)
          .filter((move) => target.startsWith("cd ") || !mayBeAnother(move))
          .map((move) => ({ ...move, at })),
      )
    })
    .sort((a, b) => a.at - b.at)
}

/** Where a file is now that was at `path` at message `at`; undefined when it is gone. */
function whereNow(path: string, at: number, moves: readonly MoveAt[]): string | undefined {
  let now = path
  for (const { from, to, at: moved } of moves) {
    if (moved <= at || (now !== from && !now.startsWith(`${from}/`))) continue
    if (to === undefined) return undefined
    now = to + now.slice(from.length)
  }
  return now
}

/*
 * Turns of the project's other sessions on the current subject. Words decide what is related (find/related-turns.ts);
 * vectors made by the background job choose among the results. Nothing here loads a model.
 */

/**
 * The found words should be within this many UTF-16 units of a prompt or answer as shown, with this many before them.
 */
const SEEN = 80
const LEAD = 20
/** How many turns' vectors are compared, the best by words. */
const COMPARED = 8
/** How many lines are gathered per line wanted: the restore or the summary may already contain some. */
const SPARE = 3

/** What turns of other sessions should be about. */
interface Subject {
  /** The user's own words, given for this purpose; turns about them come first. */
  readonly focus?: string | undefined
  readonly about: string
  /** Handle of the latest turn, if it began with `about`; it may have vectors. */
  readonly latest?: string | undefined
}

/**
 * An unreadable index loses these lines, but not the restore.
 *
 * @param most number of lines wanted; 0: nothing is searched
 */
function gatherRelated(
  db: Database,
  session: string,
  { focus = "", about, latest }: Subject,
  most: number,
): RelatedLine[] {
  if (most === 0) return []
  return unlessUnreadable(() => {
    // Searched separately, since a long prompt's words would outweigh the few words of the focus.
    const found = [
      ...relatedTo(db, session, { prompt: focus, gate: FOCUSED }, most),
      ...relatedTo(db, session, { prompt: about, latest }, most),
    ]
    const once = new Map<string, RelatedLine>()
    for (const line of found) if (!once.has(line.handle)) once.set(line.handle, line)
    return [...once.values()]
  })
}

/**
 * Turns of the session itself about the user's words for the compaction, however long ago they were.
 *
 * @param most number of lines wanted
 */
function gatherFocused(db: Database, session: string, focus: string, most: number): RelatedLine[] {
  return unlessUnreadable(() =>
    relatedTo(db, session, { prompt: focus, gate: FOCUSED_WITHIN, within: session }, most),
  )
}

/** The turn of another session that was the last to change the files in flight, if several: most of them. */
function changedBefore(
  db: Database,
  session: string,
  { cwd, related }: Brief,
  files: readonly FileInFlight[],
): RelatedLine[] {
  const about = projectOfSession(db, session)
  if (about === null || files.length === 0) return []
  const inFolder = belowFolder(cwd)
  const known = new Set(related.map(({ handle }) => handle))
  // What a worktree has may have been changed in the repository itself.
  const paths = files.slice(0, FILES_SHOWN).flatMap(({ path }) => {
    const below = inFolder(path)
    return [...new Set([path, below === path ? path : `${about.path}/${below}`])]
  })
  const changes = lastChangedElsewhere(db, paths, idsOfProject(db, about.project), kinOf(db, session))
  const startOf = ([first]: typeof changes): number => Date.parse(first?.started ?? "") || 0
  const turns = Map.groupBy(
    changes.filter(({ handle }) => !known.has(handle)),
    ({ turn }) => turn,
  )
  return [...turns.values()]
    .sort((a, b) => b.length - a.length || startOf(b) - startOf(a))
    .slice(0, 1)
    .map((changed) => {
      const { handle, started, prompt } = changed[0]!
      const shown = changed.map(({ path }) => belowFolder(about.path)(inFolder(path)))
      return { handle, started: started ?? undefined, prompt, answer: "", words: [], files: shown }
    })
}

function unlessUnreadable(find: () => RelatedLine[]): RelatedLine[] {
  try {
    return find()
  } catch (error) {
    if (!codeOf(error).startsWith("SQLITE_")) throw error
    return []
  }
}

interface Asked {
  readonly prompt: string
  readonly latest?: string | undefined
  readonly gate?: Gate
  /** Only this session; by default, the project's others. */
  readonly within?: string
}

function relatedTo(
  db: Database,
  session: string,
  { prompt, latest, gate, within }: Asked,
  most: number,
): RelatedLine[] {
  if (prompt.trim() === "") return []
  const about = projectOfSession(db, session)
  if (about === null) return []
  const { project, path } = about
  const scope = within === undefined ? { except: kinOf(db, session) } : { except: [], within }
  const found = relatedTurns(db, { prompt, project, name: path, ...scope }, gate)
  const ordered = latest === undefined ? found : byMeaning(db, latest, found)
  return linesOf(db, ordered.slice(0, most * SPARE))
}

/**
 * The session itself, all sessions joined to it by fork or resume, since those contain the same lines, and those joined
 * to it by /clear, since it was given theirs when it began.
 */
export function kinOf(db: Database, session: string): string[] {
  const links = kinships(db, session)
  const kin = new Set([session])
  for (const one of kin) {
    for (const { child, parent, kind } of links) {
      if (kind === "fork" && child === one) kin.add(parent)
      if (kind === "fork" && parent === one) kin.add(child)
    }
  }
  for (const { child, parent, kind } of links)
    if (kind === "clear") kin.add(child === session ? parent : child)
  return [...kin]
}

/**
 * Turns with vectors from the same model as the latest turn's move up if they are near it. Only the order changes:
 * similarity says little about whether two turns are related.
 */
function byMeaning(db: Database, latest: string, found: readonly RelatedTurn[]): RelatedTurn[] {
  const compared = found.slice(0, COMPARED)
  if (compared.length < 2) return [...found]
  const others = compared.map(({ turn }) => turn)
  const rows = vectorsBeside(db, latest, HASHED_ID, others)
  const vectors = new Map(rows.filter(isWholeRow).map((row) => [row.turn, meanOf(row)]))
  const wanted = vectors.get(rows.find(({ isLatest }) => isLatest === 1)?.turn ?? -1)
  if (wanted === undefined) return [...found]
  const score = ({ turn, share }: RelatedTurn): number => share + cosine(wanted, vectors.get(turn))
  return [...compared.sort((a, b) => score(b) - score(a)), ...found.slice(COMPARED)]
}

function meanOf({ dimension, vectors }: ComparedVectors): Float32Array {
  const sum = new Float32Array(vectors.length === 0 ? 0 : dimension)
  for (const { scale, data } of unpackVectors(vectors, dimension)) {
    if (!isScale(scale)) continue
    for (let n = 0; n < dimension; n++) sum[n]! += data[n]! * scale
  }
  return sum
}

function cosine(a: Float32Array, b: Float32Array | undefined): number {
  if (b === undefined || b.length !== a.length) return 0
  let [product, left, right] = [0, 0, 0]
  for (let n = 0; n < a.length; n++) {
    product += a[n]! * b[n]!
    left += a[n]! * a[n]!
    right += b[n]! * b[n]!
  }
  return left === 0 || right === 0 ? 0 : product / Math.sqrt(left * right)
}

function linesOf(db: Database, found: readonly RelatedTurn[]): RelatedLine[] {
  if (found.length === 0) return []
  const names = turnNames(
    db,
    found.map(({ turn }) => turn),
  )
  return found.flatMap(({ turn, clues, prompt, answer }) => {
    const row = names.get(turn)
    if (row === undefined) return []
    return {
      handle: row.handle,
      started: row.started ?? undefined,
      prompt: around(prompt, clues),
      answer: around(answer, clues),
      words: clues.map(({ typed }) => typed),
    }
  })
}

/** The text from its beginning, unless the first of the words is too far into it. */
function around(text: string, clues: readonly Clue[]): string {
  const places = clues.map((clue) => placeOf(clue, text)).filter((place) => place >= 0)
  const first = Math.min(...places)
  if (places.length === 0 || first < SEEN - LEAD) return text
  // Not within a word, and therefore not within a tag's name.
  const from = text.lastIndexOf(" ", first - LEAD) + 1
  return from === 0 ? text : `… ${text.slice(from)}`
}
