/**
 * Texts for new sessions of a project, rendered in advance so that a start needs no database (docs/adr/0003).
 *
 * A pointer is valid until something is indexed. Pointers are written, and all of them removed by whoever indexes,
 * inside a write transaction. So none is older than the views it is read with.
 */
import { tryTo } from "../base/files.ts"
import { existsSync, rmSync } from "../base/fs.ts"
import { hashName, readJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"

interface Pointer {
  /** The session that the text is about. */
  readonly session: string
  /** Text for the model; `""` if there is nothing to tell. */
  readonly text: string
  /** The value of `restore.related` that it was rendered with. */
  readonly related: number
}

/** Goes up whenever the wording for the same session changes, which invalidates pointers of earlier versions. */
const WORDING = 6

interface Worded {
  readonly wording: number
}

const folder = (dataHome: string): string => join(dataHome, "pointers")

const fileOf = (dataHome: string, project: string): string =>
  join(folder(dataHome), `${hashName(project)}.json`)

/** @param project as returned by `projectOf` */
export function readPointer(dataHome: string, project: string): Pointer | undefined {
  const pointer = readJson(fileOf(dataHome, project)) as (Pointer & Worded) | undefined
  return pointer?.wording === WORDING ? pointer : undefined
}

/** Call inside a write transaction, before its commit. */
export function writePointer(dataHome: string, project: string, pointer: Pointer): void {
  const worded: Pointer & Worded = { ...pointer, wording: WORDING }
  // If `forget` has just removed the folder, or the disk is full, a start asks the views.
  tryTo(() => writeJson(fileOf(dataHome, project), worded))
}

export function dropPointers(dataHome: string): void {
  // Usually there are none, and the check costs a hook less than the call that removes.
  if (existsSync(folder(dataHome))) rmSync(folder(dataHome), { recursive: true, force: true })
}
