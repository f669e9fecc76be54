/** What `blame FILE:LINE` and `why FILE:LINE` answer, for commands and for the server. */
import { replacedTexts, toolFiles } from "../agents/tool-kinds.ts"
import { CtxError, EXIT, usageError } from "../base/errors.ts"
import { readOrdinary } from "../base/files.ts"
import { existsSync } from "../base/fs.ts"
import { once } from "../base/once.ts"
import { basename, dirname, resolve, withSlashes } from "../base/path.ts"
import { count } from "../base/text.ts"
import { namesWithin, wordSet, wordsOf } from "../base/words.ts"
import type { ReplacedText } from "../record/agent.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { type DiffLine, editDiff } from "../views/edit-diff.ts"
import { checkoutOf, folderOf, isInFolder, projectOf } from "../views/project.ts"
import { archivedAs, knownAs } from "../views/queries/projects.ts"
import { type Condition, pathNamed, type TakenBack, takenBackOf, type Whose } from "../views/queries/scope.ts"
import {
  editsOf,
  type FileEdit,
  type StatementBefore,
  statementsUpTo,
} from "../views/queries/touched-files.ts"
import { openTurn, type ToldPart } from "../views/turn.ts"
import { isEveryday } from "./related-turns.ts"
import type { Topic } from "./topics.ts"
import { WholeCalls } from "./whole-matches.ts"

export interface LinesReason extends LinesOrigin {
  /** Null where the edit is. */
  readonly reasons: LineReasons | null
}

interface Place {
  readonly folder: string
  readonly home: string
}

/** Whether the words name a line, and no file that is really called so. */
export const namesLine = (text: string, { folder, home }: Place): boolean =>
  linesNamed(text) !== undefined && !existsSync(absolute(text, { folder, home }))

const absolute = (typed: string, { folder, home }: Place): string =>
  typed.startsWith("~/") ? resolve(home, typed.slice(2)) : resolve(folder, typed)

/**
 * @param topic its text is `FILE:LINE` or `FILE:LINE-LINE`
 * @throws CtxError as `linesOfFile`
 */
export function blameLines(
  { db, dataHome, readers, text, project, program }: Topic,
  place: Place,
): LinesOrigin[] {
  const named = linesNamed(text)!
  const path = absolute(named.file, place)
  const own = ownFile(db, path, place.home)
  const lines = linesOfFile(path, named)
  const wanted = { path, end: own?.end ?? named.file, isSameFile: own?.isSameFile ?? (() => false), lines }
  return originsOfLines(db, dataHome, readers, { ...wanted, whose: { project, program } })
}

interface OwnFile {
  /** Its path from its checkout or project on. */
  readonly end: string
  /** Whether a file with that end is the same one, in another checkout, a worktree, or where the project was before. */
  isSameFile(other: string): boolean
}

/** @returns undefined if it lies in no project that is known */
function ownFile(db: Database, path: string, home: string): OwnFile | undefined {
  const folder = dirname(path)
  const project = archivedAs(db, projectOf(folder), home)!
  const root = checkoutOf(folder, [project]) ?? folderOf(project)
  if (!path.startsWith(`${root}/`)) return undefined
  const end = path.slice(root.length + 1)
  return {
    end,
    isSameFile(other) {
      const there = withSlashes(other).slice(0, -end.length - 1)
      const isCheckout = checkoutOf(there, [project]) === there
      if (isInFolder(there, project)) return isCheckout
      return (isCheckout && projectOf(there) === project) || knownAs(db, there) === project
    },
  }
}

/** @throws CtxError as `linesOfFile` */
export function whyLines(topic: Topic, place: Place): LinesReason[] {
  const { db, dataHome, readers } = topic
  return blameLines(topic, place).map(({ lines, edit }) => {
    const texts = lines.map((one) => one.text)
    return { lines, edit, reasons: edit === null ? null : reasonsFor(db, dataHome, readers, edit, texts) }
  })
}

/** Notes of earlier turns that are looked at, and notes of all kinds that are told. */
const LOOKED_AT = 500
const TOLD = 6

/** Words of languages, in nearly every line. */
const KEYWORDS = new Set(
  "const await async export import class void null true this self public private static string boolean throw catch readonly interface type undefined none struct func impl match".split(
    " ",
  ),
)

/** What was decided, said and thought around the edit that introduced a line. Only quotes. */
interface LineReasons {
  /** Of the edit's turn, and those of earlier turns that speak of the line or the file; the latest first. */
  readonly notes: readonly Omit<StatementBefore, "seq">[]
  /** What the model said last before the edit, and first after it, of what speaks of the line or the file. */
  readonly saidBefore: string | null
  readonly saidAfter: string | null
  /** What it thought last before the edit that does. */
  readonly thought: string | null
}

/** @param lines the lines that the edit introduced */
function reasonsFor(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  edit: LineEdit,
  lines: readonly string[],
): LineReasons {
  const speaks = speaksOf(edit.path, lines)
  const notes = statementsUpTo(db, edit.session, edit.seq, LOOKED_AT)
    .filter(({ seq, text }) => seq === edit.seq || speaks(text))
    .slice(0, TOLD)
    .map(({ seq: _seq, ...note }) => note)
  const parts =
    openTurn(db, dataHome, edit.handle, readers)?.messages.flatMap((message) => message.parts) ?? []
  const at = parts.findIndex((part) => part.kind === "toolUse" && part.id === edit.call)
  const [before, after] = at < 0 ? [[], []] : [parts.slice(0, at).reverse(), parts.slice(at + 1)]
  const first = (some: readonly ToldPart[], kind: "text" | "thinking"): string | null => {
    for (const part of some) if (part.kind === kind && speaks(part.text)) return part.text.trim()
    return null
  }
  return {
    notes,
    saidBefore: first(before, "text"),
    saidAfter: first(after, "text"),
    thought: first(before, "thinking"),
  }
}

/** Whether a text names the file, or a name from the lines that says something. */
function speaksOf(path: string, lines: readonly string[]): (text: string) => boolean {
  const file = basename(path).toLowerCase()
  const names = new Set(lines.flatMap((line) => namesWithin(line)))
  const subjects = [...names]
    .map((name) => ({ name: name.toLowerCase(), words: wordsOf(name) }))
    .filter(
      ({ name, words }) => name.length > 3 && words.length > 0 && !KEYWORDS.has(name) && !isEveryday(name),
    )
  return (text) => {
    if (text.toLowerCase().includes(file)) return true
    const words = wordSet(text)
    return subjects.some((subject) => subject.words.every((word) => words.has(word)))
  }
}

/*
 * Where lines of a file come from: the archived edit that introduced each. Edits say nothing of line numbers, so lines
 * are found by their text, wherever they have moved since.
 */

/** Lines of a diff shown on each side of the line. */
const AROUND = 3

interface SoughtLine {
  /** From 1. */
  readonly line: number
  readonly text: string
}

interface LineEdit extends Omit<FileEdit, "id" | "use" | "result" | "takenBack">, TakenBack {
  /** tool_use_id */
  readonly call: string
  /** Whether only a piece of the line comes from it. */
  readonly isPiece: boolean
  /** Set if it is of another file whose path ends like that of this one. */
  readonly namesake?: true
  /** What it changed there. */
  readonly diff: readonly DiffLine[]
}

/** Lines side by side that one edit introduced. */
export interface LinesOrigin {
  readonly lines: readonly SoughtLine[]
  /** Null: no archived edit has them. */
  readonly edit: LineEdit | null
}

interface LinesWanted {
  /** Absolute path of the file. */
  readonly path: string
  /** The end of it by which the file is known in other checkouts. */
  readonly end: string
  isSameFile(other: string): boolean
  /** For `end`: also which project's. */
  readonly whose: Whose
  readonly lines: readonly SoughtLine[]
}

function originsOfLines(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  { path, end, isSameFile, whose, lines }: LinesWanted,
): LinesOrigin[] {
  const calls = new WholeCalls(db, dataHome, readers)
  const sought = new Set(lines.map(({ text }) => lineKey(text)))
  const here = editsOf(db, onPath(path), { ...whose, project: undefined })
  const named = once(() =>
    Object.groupBy(editsOf(db, pathNamed(end), whose), (edit) =>
      edit.path !== withSlashes(path) && !isSameFile(edit.path) ? "namesake" : "same",
    ),
  )
  const ofSame = originFinder(calls, sought, here, () => named().same ?? [])
  const ofNamesake = originFinder(calls, sought, [], () => named().namesake ?? [])
  const origin = (key: string): Found | undefined => {
    const same = ofSame(key)
    const namesake = same === undefined ? ofNamesake(key) : undefined
    return same ?? (namesake && { ...namesake, isNamesake: true })
  }
  const groups: { lines: SoughtLine[]; found: Found | undefined }[] = []
  for (const line of lines) {
    const found = origin(lineKey(line.text))
    const last = groups.at(-1)
    if (last !== undefined && isSame(last.found, found)) last.lines.push(line)
    else groups.push({ lines: [line], found })
  }
  return groups.map(({ lines: ofEdit, found }) => ({
    lines: ofEdit,
    edit: found === undefined ? null : editOf(found, lineKey(ofEdit[0]!.text), calls),
  }))
}

const onPath = (path: string): Condition => ({ sql: "f.path = ?", values: [withSlashes(path)] })

/**
 * @param sought keys of the lines that will be asked for
 * @param here edits of the file, the newest first
 * @param elsewhere those of the same file in other places
 */
function originFinder(
  calls: WholeCalls,
  sought: ReadonlySet<string>,
  here: readonly FileEdit[],
  elsewhere: () => readonly FileEdit[],
): (key: string) => Found | undefined {
  const own = once(() => readEdits(here, calls, sought))
  const others = once(() => readEdits(elsewhere(), calls, sought))
  return (key) =>
    originIn(own(), key) ?? originIn(others(), key) ?? pieceIn(own(), key) ?? pieceIn(others(), key)
}

const isSame = (one: Found | undefined, other: Found | undefined): boolean =>
  one?.edit.id === other?.edit.id && one?.isPiece === other?.isPiece

interface ReadEdit {
  readonly edit: FileEdit
  readonly texts: readonly EditedText[]
}

interface Found extends ReadEdit {
  readonly isPiece: boolean
  readonly isNamesake?: true
}

/** Newest first. */
const readEdits = (edits: readonly FileEdit[], calls: WholeCalls, sought: ReadonlySet<string>): ReadEdit[] =>
  edits.flatMap((edit) => {
    const input = calls.input(edit)
    const texts = replacedTexts(edit.tool, input)?.map((text) => editedText(text, sought))
    const isOfFile = toolFiles(edit.tool, input).some(({ path }) => path === edit.path)
    return texts === undefined || !isOfFile ? [] : [{ edit, texts }]
  })

/**
 * The edit that introduced the line: goes back in time. Writing the whole file may only have repeated what was there, so
 * an earlier edit counts, also one that put a piece into the line, unless one between them had removed it.
 */
function originIn(edits: readonly ReadEdit[], key: string): Found | undefined {
  let written: number | undefined
  for (const [n, one] of edits.entries()) {
    const effect = effectOn(one.texts, key)
    if (effect === "introduced") return { ...one, isPiece: false }
    if (effect === "written") written = n
    if ((effect === "removed" || effect === "absent") && written !== undefined) break
  }
  if (written === undefined) return undefined
  return pieceIn(edits.slice(written + 1), key) ?? { ...edits[written]!, isPiece: false }
}

function pieceIn(edits: readonly ReadEdit[], key: string): Found | undefined {
  for (const one of edits) {
    if (changedWithin(one.texts, key)) return { ...one, isPiece: true }
    if (effectOn(one.texts, key) === "absent") return undefined
  }
  return undefined
}

function editOf({ edit, isPiece, isNamesake }: Found, key: string, calls: WholeCalls): LineEdit {
  const { id, use: _use, result: _result, takenBack, ...row } = edit
  const diff = around(editDiff(edit.tool, calls.input(edit)) ?? [], key)
  const namesake = isNamesake && { namesake: isNamesake }
  return { ...row, call: id, isPiece, ...namesake, diff, ...takenBackOf({ takenBack }) }
}

/** The lines of a diff around the added one. */
function around(hunks: readonly (readonly DiffLine[])[], key: string): readonly DiffLine[] {
  const isIt = ({ mark, text }: DiffLine): boolean => mark === "+" && lineKey(text) === key
  const isPieceOf = ({ mark, text }: DiffLine): boolean =>
    mark === "+" && lineKey(text) !== "" && key.includes(lineKey(text))
  const [hunk, at] = [isIt, isPieceOf]
    .flatMap((is) => hunks.map((one) => [one, one.findIndex(is)] as const))
    .find(([, n]) => n >= 0) ?? [hunks[0] ?? [], 0]
  return hunk.slice(Math.max(0, at - AROUND), at + AROUND + 1)
}

/* Where each line of a whole file comes from. */

/** `common`: it stands in many places, so that nothing tells where from. `unknown`: no archived edit has it. */
export type LineSource = SourceEdit | "common" | "unknown"

interface SourceEdit {
  readonly edit: FileEdit
  /** Whether only a piece of the line comes from it. */
  readonly isPiece: boolean
}

interface FileLines {
  readonly lines: readonly string[]
  /** Edits of the file, and of the same file in other checkouts; the newest first. */
  readonly here: readonly FileEdit[]
  readonly elsewhere: readonly FileEdit[]
}

/** For each line. The edits are read once, however many lines there are. */
export function sourcesOfLines(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  { lines, here, elsewhere }: FileLines,
): LineSource[] {
  const calls = new WholeCalls(db, dataHome, readers)
  const keys = lines.map(lineKey)
  const isCommon = lines.map(isCommonLine)
  const origin = originFinder(calls, new Set(keys.filter((_, n) => !isCommon[n])), here, () => elsewhere)
  const known = new Map<string, Found | undefined>()
  const found = keys.map((key, n) => {
    if (isCommon[n]) return undefined
    if (!known.has(key)) known.set(key, origin(key))
    return known.get(key)
  })
  joinCommonLines(keys, isCommon, found, calls)
  return found.map((one, n) => one ?? (isCommon[n] ? "common" : "unknown"))
}

/** Gives a common line to the edit that added it together with the line beside it: a bracket, say, below its function. */
function joinCommonLines(
  keys: readonly string[],
  isCommon: readonly boolean[],
  found: (Found | undefined)[],
  calls: WholeCalls,
): void {
  const known = new Map<FileEdit, Added>()
  const addedBy = ({ edit }: Found): Added => {
    const added = known.get(edit) ?? new Added(editDiff(edit.tool, calls.input(edit)) ?? [])
    known.set(edit, added)
    return added
  }
  const isFree = (n: number): boolean => isCommon[n] === true && found[n] === undefined
  for (const step of [1, -1] as const) {
    const order = step === 1 ? keys.keys() : [...keys.keys()].reverse()
    for (const n of order) {
      const one = found[n]
      if (one === undefined || one.isPiece || isCommon[n] || !isFree(n + step)) continue
      const length = addedBy(one).lengthBeside(keys, n, step, isFree)
      for (let m = 1; m <= length; m++) found[n + m * step] = one
    }
  }
}

/** Keys of the lines that an edit added, in their order; `undefined` is between what it did not add together. */
class Added {
  readonly #keys: readonly (string | undefined)[]
  readonly #places: ReadonlyMap<string | undefined, readonly number[]>

  constructor(hunks: readonly (readonly DiffLine[])[]) {
    this.#keys = hunks.flatMap((hunk) => [
      undefined,
      ...hunk
        .filter(({ mark }) => mark !== "-")
        .map(({ mark, text }) => (mark === "+" ? lineKey(text) : undefined)),
    ])
    this.#places = Map.groupBy(this.#keys.keys(), (n) => this.#keys[n])
  }

  /** How many lines beside this one it added with it. */
  lengthBeside(keys: readonly string[], n: number, step: 1 | -1, isFree: (n: number) => boolean): number {
    const lengths = (this.#places.get(keys[n]) ?? []).map((place) => {
      let length = 0
      for (let m = step; isFree(n + m) && this.#keys[place + m] === keys[n + m]; m += step) length++
      return length
    })
    return lengths.reduce((most, length) => Math.max(most, length), 0)
  }
}

/* Lines of a file as it is now, named as `FILE:LINE` or `FILE:LINE-LINE`. */

interface LinesNamed {
  /** As it was typed. */
  readonly file: string
  readonly from: number
  readonly to: number
}

/** @returns undefined if it names no line */
export function linesNamed(text: string): LinesNamed | undefined {
  const [, file, from, to = from] = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? []
  return file === undefined ? undefined : { file, from: Number(from), to: Number(to) }
}

/** Bytes. Nobody asks where a line of a larger file comes from. */
const LARGEST = 32 << 20
/** How far away a line that tells something is looked for, to suggest it. */
const NEAR = 20

/**
 * The lines that can be told from others.
 *
 * @param path absolute
 * @throws CtxError exit 3 if there is no such file, exit 64 if it has no such line, or only lines that stand everywhere
 */
function linesOfFile(path: string, { file, from, to }: LinesNamed): SoughtLine[] {
  if (!existsSync(path)) {
    throw new CtxError(
      "not-found",
      `there is no file ${file}: a line is looked up in the file as it is now`,
      {
        hint: `ctxbridge blame ${file} lists the turns that touched it`,
        exit: EXIT.notFound,
      },
    )
  }
  const content = readOrdinary(path, LARGEST)
  if (content === undefined) throw usageError(`${file} is not a file of at most ${LARGEST >> 20} MB`)
  const all = content.replace(/\r?\n$/, "").split(/\r?\n/)
  if (from < 1 || to < from || to > all.length) {
    throw usageError(
      `${file} has no line ${from === to ? from : `${from}-${to}`}`,
      `it has ${count(all.length, "line")}`,
    )
  }
  const wanted = all.slice(from - 1, to).map((text, n) => ({ line: from + n, text }))
  const telling = wanted.filter(({ text }) => !isCommonLine(text))
  if (telling.length === 0) throw tooCommon(file, all, from, to)
  return telling
}

function tooCommon(file: string, all: readonly string[], from: number, to: number): CtxError {
  const which = from === to ? `line ${from} of ${file} is` : `lines ${from}-${to} of ${file} are`
  const isTelling = (line: number): boolean =>
    line >= 1 && line <= all.length && !isCommonLine(all[line - 1]!)
  const steps = Array.from({ length: NEAR }, (_, n) => n + 1)
  const near = [
    ...steps
      .map((n) => from - n)
      .filter(isTelling)
      .slice(0, 1),
    ...steps
      .map((n) => to + n)
      .filter(isTelling)
      .slice(0, 1),
  ]
  return usageError(
    `${which} blank or stand${from === to ? "s" : ""} in many places: nothing tells which edit ${from === to ? "it is" : "they are"} from`,
    near.length === 0
      ? "name a line with words in it"
      : `try ${near.map((line) => `${file}:${line}`).join(" or ")}`,
  )
}

/* What an edit did to one line of a file. White space does not count, so line endings and indents do not either. Pure. */

/**
 * `introduced`: it is new. `written`: the whole file was written with it, and nobody says what was there before.
 * `kept`: it stands on both sides. `removed`: only before. `absent`: the whole file was written without it.
 */
type LineEffect = "introduced" | "written" | "kept" | "removed" | "absent"

/** Two lines with the same are the same line. */
const lineKey = (line: string): string => line.replace(/\s+/g, "")

/** Of a replaced text what matters for the lines that are sought, so that each costs no search in all of it. */
interface EditedText {
  /** Keys of sought lines; undefined: nobody says what was there before. */
  readonly before: ReadonlySet<string> | undefined
  readonly after: ReadonlySet<string>
  /** Keys of its first and last line, which may be pieces of lines; undefined if both were there before. */
  readonly ends: readonly [first: string, last: string] | undefined
  readonly isOneLine: boolean
}

/** @param sought keys of lines */
function editedText({ before, after }: ReplacedText, sought: ReadonlySet<string>): EditedText {
  const keys = after.split("\n").map(lineKey)
  const ends = [keys[0]!, keys.at(-1)!] as const
  const former = before === undefined ? undefined : lineKey(before)
  return {
    before: before === undefined ? undefined : new Set(before.split("\n").map(lineKey)).intersection(sought),
    after: new Set(keys).intersection(sought),
    ends: former === undefined || ends.every((piece) => former.includes(piece)) ? undefined : ends,
    isOneLine: keys.length === 1,
  }
}

/** @returns undefined if the edit does not touch the line with this key */
function effectOn(texts: readonly EditedText[], key: string): LineEffect | undefined {
  const effects = texts.map(({ before, after }): LineEffect | undefined => {
    const isAfter = after.has(key)
    if (before === undefined) return isAfter ? "written" : "absent"
    const isBefore = before.has(key)
    if (isAfter) return isBefore ? "kept" : "introduced"
    return isBefore ? "removed" : undefined
  })
  return ORDER.find((effect) => effects.includes(effect))
}

/** Which effect counts when a call has several edits. */
const ORDER: readonly LineEffect[] = ["introduced", "written", "removed", "kept", "absent"]

/** Shorter pieces of a line are in too many lines. */
const SHORTEST_PIECE = 4

/** Whether an edit put a piece into the line with this key: replaced texts may begin and end within a line. */
const changedWithin = (texts: readonly EditedText[], key: string): boolean =>
  texts.some(({ ends, isOneLine }) => {
    if (ends === undefined) return false
    const [first, last] = ends
    return isOneLine
      ? isTelling(first) && key.includes(first)
      : (isTelling(first) && key.endsWith(first)) || (isTelling(last) && key.startsWith(last))
  })

const isTelling = (piece: string): boolean => piece.length >= SHORTEST_PIECE && /\p{L}{2}/u.test(piece)

/** A line that is blank, or only punctuation, or a word that ends a block: it stands everywhere. */
const isCommonLine = (line: string): boolean =>
  !/[\p{L}\p{N}]{2}/u.test(line) ||
  /^\s*\W*(?:else|try|end|return|break|continue|pass|do|done|then|fi|finally)\b[^\p{L}]*$/u.test(line)
