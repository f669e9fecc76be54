/**
 * Where lines of a file come from: the archived edit that introduced each. Edits say nothing of line numbers, so lines
 * are found by their text, wherever they have moved since.
 */
import { toolFiles } from "../agents/tool-input.ts"
import type { Database } from "../archive/database.ts"
import { type Condition, pathNamed } from "../archive/queries/condition.ts"
import { editsOf, type FileEdit } from "../archive/queries/file-edits.ts"
import { type TakenBack, takenBackOf } from "../archive/taken-back-mark.ts"
import { type DiffLine, editDiff, replacedTexts } from "../read/edit-diff.ts"
import { once } from "../util/once.ts"
import { withSlashes } from "../util/path.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { changedWithin, type EditedText, editedText, effectOn, lineKey } from "./line-effect.ts"
import { WholeCalls } from "./whole-calls.ts"

/** Lines of a diff shown on each side of the line. */
const AROUND = 3

export interface SoughtLine {
  /** From 1. */
  readonly line: number
  readonly text: string
}

export interface LineEdit extends Omit<FileEdit, "id" | "use" | "result" | "takenBack">, TakenBack {
  /** tool_use_id */
  readonly call: string
  /** Whether only a piece of the line comes from it. */
  readonly isPiece: boolean
  /** What it changed there. */
  readonly diff: readonly DiffLine[]
}

/** Lines side by side that one edit introduced. */
export interface LinesOrigin {
  readonly lines: readonly SoughtLine[]
  /** Null: no archived edit has them. */
  readonly edit: LineEdit | null
}

export interface LinesWanted {
  /** Absolute path of the file. */
  readonly path: string
  /** The end of it by which the file is known in other checkouts. */
  readonly end: string
  /** For `end`; undefined: all projects. */
  readonly project: string | undefined
  readonly lines: readonly SoughtLine[]
}

export function originsOfLines(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  { path, end, project, lines }: LinesWanted,
): LinesOrigin[] {
  const calls = new WholeCalls(db, dataHome, readers)
  const sought = new Set(lines.map(({ text }) => lineKey(text)))
  const find = (condition: Condition, within: string | undefined) =>
    once(() => readEdits(editsOf(db, condition, within), calls, sought))
  const here = find({ sql: "f.path = ?", values: [withSlashes(path)] }, undefined)
  // The same file in another checkout or worktree.
  const elsewhere = find(pathNamed(end), project)
  const groups: { lines: SoughtLine[]; found: Found | undefined }[] = []
  for (const line of lines) {
    const key = lineKey(line.text)
    const found =
      originIn(here(), key) ?? originIn(elsewhere(), key) ?? pieceIn(here(), key) ?? pieceIn(elsewhere(), key)
    const last = groups.at(-1)
    if (last !== undefined && isSame(last.found, found)) last.lines.push(line)
    else groups.push({ lines: [line], found })
  }
  return groups.map(({ lines: ofEdit, found }) => ({
    lines: ofEdit,
    edit: found === undefined ? null : editOf(found, lineKey(ofEdit[0]!.text), calls),
  }))
}

const isSame = (one: Found | undefined, other: Found | undefined): boolean =>
  one?.edit.id === other?.edit.id && one?.isPiece === other?.isPiece

interface ReadEdit {
  readonly edit: FileEdit
  readonly texts: readonly EditedText[]
}

interface Found extends ReadEdit {
  readonly isPiece: boolean
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

function editOf({ edit, isPiece }: Found, key: string, calls: WholeCalls): LineEdit {
  const { id, use: _use, result: _result, takenBack, ...row } = edit
  const diff = around(editDiff(edit.tool, calls.input(edit)) ?? [], key)
  return { ...row, call: id, isPiece, diff, ...takenBackOf({ takenBack }) }
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
