/**
 * The files of a folder in which several machines keep entries:
 *
 *     ctxbridge.json                   names the folder and its format
 *     entries/<writer>.<n>.jsonl       entries, one per line
 *     frames/<writer>.<n>.jsonl        pieces of the vault, one per line
 *     forgotten/<writer>.jsonl         ids and sessions that are forgotten
 *
 * Each writer appends only to its own files, so that whatever carries the folder from one machine to another never has
 * to merge two versions of a file. A half line at the end is one that is still on its way, or never arrived.
 */
import { rmSync } from "node:fs"
import { codeOf, isMissing } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { fileNamesIn, parseJson } from "../util/json-files.ts"
import { basename, dirname, join } from "../util/path.ts"
import type { ForgottenThere } from "./backend.ts"
import { COPY_OF, type LineSeal, wholeLines } from "./line-files.ts"

/** Bytes after which a writer begins another file: a cloud drive sends a changed file whole. */
const LARGEST = 8 << 20

/**
 * Where a name is, in whatever letters: some file systems show names in capitals that were written in small letters, and
 * a drive carries them on like this.
 */
function spelled(folder: string, name: string): string {
  const exact = join(folder, name)
  if (statsOf(exact) !== undefined) return exact
  const other = namesLike(folder, name)[0]
  return other === undefined ? exact : join(folder, other)
}

const namesLike = (folder: string, name: string): string[] =>
  fileNamesIn(folder)
    .filter((one) => one.toLowerCase() === name.toLowerCase())
    .sort()

export const markerFile = (root: string): string => spelled(root, "ctxbridge.json")
export const entriesFolder = (root: string): string => spelled(root, "entries")
export const framesFolder = (root: string): string => spelled(root, "frames")
export const forgottenFolder = (root: string): string => spelled(root, "forgotten")
export const forgottenFile = (root: string, writer: string): string =>
  join(forgottenFolder(root), `${writer}.jsonl`)

/** A folder that is open. */
export interface LineFolder {
  readonly root: string
  readonly id: string
  /** undefined: it is not encrypted. */
  readonly seal: LineSeal | undefined
  /** What was made when it was opened: the folder, or its key. */
  readonly made?: "folder" | "key"
}

/**
 * Names of all writers' files in a folder, in a fixed order: first those with names as we give them, then what cloud
 * drives have made of some (`….1 (conflicted copy 2026-01-01).jsonl`, `….1-LAPTOP.jsonl`, `….sync-conflict-….jsonl`). Where
 * there is a second folder of the same name in other letters, the names begin with its own.
 */
export function lineFilesIn(folder: string): string[] {
  const own = basename(folder)
  const others = namesLike(dirname(folder), own).filter((name) => name !== own)
  const elsewhere = others.flatMap((other) =>
    fileNamesIn(join(dirname(folder), other), isNoFolder).map((name) => `../${other}/${name}`),
  )
  return [...fileNamesIn(folder, isMissing), ...elsewhere]
    .filter((name) => isOurs(name) && statsOf(join(folder, name))?.isFile() !== false)
    .sort((a, b) => Number(isCopy(a)) - Number(isCopy(b)) || (a < b ? -1 : 1))
}

const isNoFolder = (error: unknown): boolean => isMissing(error) || codeOf(error) === "ENOTDIR"

const isOurs = (name: string): boolean => /\.jsonl/i.test(name) && !basename(name).startsWith(".")

const NAMED_BY_US = /^[A-Za-z0-9-]+(?:\.\d+)?\.jsonl$/i

/** Whether somebody has made it of one of our files. */
const isCopy = (name: string): boolean => !NAMED_BY_US.test(basename(name))

/** Whose file it is, whatever was added to its name; undefined: nobody's. */
export const isWriters = (name: string, writer: string): boolean =>
  basename(name).replace(COPY_OF, "").toLowerCase().startsWith(`${writer}.`.toLowerCase())

const numberOf = (name: string): number => Number(/\.(\d+)(?!\d)/.exec(basename(name))?.[1] ?? 0)

/** A writer's own files, the one to append to last; before it copies that somebody has made of them. */
export const ownFiles = (folder: string, writer: string): string[] =>
  lineFilesIn(folder)
    .filter((name) => isWriters(name, writer) && numberOf(name) > 0)
    .sort((a, b) => Number(isCopy(b)) - Number(isCopy(a)) || numberOf(a) - numberOf(b))

/** Removes what a killed process had begun to write in place of one of the writer's files. */
export function removeHalfRewritten(folder: string, writer: string): void {
  for (const name of fileNamesIn(folder, isMissing)) {
    if (name.startsWith(`.${writer}.`)) rmSync(join(folder, name), { force: true })
  }
}

/** Name of the file that the writer appends to. */
export function currentFile(folder: string, writer: string): string {
  const last = ownFiles(folder, writer)
    .filter((name) => !isCopy(name))
    .at(-1)
  const size = last === undefined ? undefined : statsOf(join(folder, last))?.size
  if (last === undefined || size === undefined) return `${writer}.1.jsonl`
  return size < LARGEST ? last : `${writer}.${numberOf(last) + 1}.jsonl`
}

export function readForgotten(folder: LineFolder): ForgottenThere {
  const ids = new Set<string>()
  const sessions = new Set<string>()
  for (const line of forgottenLines(folder)) {
    const { id, session } = line as { id?: unknown; session?: unknown }
    if (typeof id === "string") ids.add(id)
    if (typeof session === "string") sessions.add(session)
  }
  return { ids, sessions }
}

/** Lines that whoever forgets something has written, of all writers. */
export function* forgottenLines({ root, seal }: LineFolder): Generator<object> {
  for (const name of lineFilesIn(forgottenFolder(root))) {
    for (const line of wholeLines(join(forgottenFolder(root), name), seal)) {
      const value = parseJson(line)
      if (typeof value === "object" && value !== null) yield value
    }
  }
}
