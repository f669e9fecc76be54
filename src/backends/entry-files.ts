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
import { isMissing } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { fileNamesIn } from "../util/json-files.ts"
import { parseJson } from "../util/parse-json.ts"
import { join } from "../util/path.ts"
import { type LineSeal, wholeLines } from "./line-files.ts"

/** Bytes after which a writer begins another file: a cloud drive sends a changed file whole. */
const LARGEST = 8 << 20

export const entriesFolder = (root: string): string => join(root, "entries")
export const framesFolder = (root: string): string => join(root, "frames")
export const forgottenFolder = (root: string): string => join(root, "forgotten")
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

/** Names of all writers' files in a folder, in a fixed order. */
export const lineFilesIn = (folder: string): string[] => fileNamesIn(folder, isMissing).filter(isOurs).sort()

const isOurs = (name: string): boolean => name.endsWith(".jsonl") && !name.startsWith(".")

const numberOf = (name: string): number => Number(/\.(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)

/** A writer's own files, the one to append to last. */
export const ownFiles = (folder: string, writer: string): string[] =>
  lineFilesIn(folder)
    .filter((name) => name.startsWith(`${writer}.`) && numberOf(name) > 0)
    .sort((a, b) => numberOf(a) - numberOf(b))

/** Removes what a killed process had begun to write in place of one of the writer's files. */
export function removeHalfRewritten(folder: string, writer: string): void {
  for (const name of fileNamesIn(folder, isMissing)) {
    if (name.startsWith(`.${writer}.`)) rmSync(join(folder, name), { force: true })
  }
}

/** Name of the file that the writer appends to. */
export function currentFile(folder: string, writer: string): string {
  const last = ownFiles(folder, writer).at(-1)
  const size = last === undefined ? undefined : statsOf(join(folder, last))?.size
  if (last === undefined || size === undefined) return `${writer}.1.jsonl`
  return size < LARGEST ? last : `${writer}.${numberOf(last) + 1}.jsonl`
}

/** What all writers have forgotten. */
export interface ForgottenEntries {
  readonly ids: ReadonlySet<string>
  readonly sessions: ReadonlySet<string>
}

export function readForgotten(folder: LineFolder): ForgottenEntries {
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
