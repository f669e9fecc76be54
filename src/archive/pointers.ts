/**
 * Texts for new sessions of a project, rendered in advance so that a start needs no database (docs/adr/0003).
 *
 * A pointer is valid until something is indexed. Pointers are written, and all of them removed by whoever indexes,
 * inside a write transaction. So none is older than the views it is read with.
 */

import { writeWhole } from "../util/files.ts"
import { existsSync, readFileSync, rmSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export interface Pointer {
  /** The session that the text is about. */
  readonly session: string
  /** Text for the model; `""` if there is nothing to tell. */
  readonly text: string
  /** The value of `restore.related` that it was rendered with. */
  readonly related: number
}

/** Goes up whenever the wording for the same session changes, which invalidates pointers of earlier versions. */
const WORDING = 4

interface Worded {
  readonly wording: number
}

const folder = (dataHome: string): string => join(dataHome, "pointers")

const fileOf = (dataHome: string, project: string): string =>
  join(folder(dataHome), `${Bun.hash.xxHash64(project, 0n).toString(16)}.json`)

/** @param project as returned by `projectOf` */
export function readPointer(dataHome: string, project: string): Pointer | undefined {
  try {
    const pointer = JSON.parse(readFileSync(fileOf(dataHome, project), "utf8")) as Pointer & Worded
    return pointer.wording === WORDING ? pointer : undefined
  } catch {
    return undefined
  }
}

/** Call inside a write transaction, before its commit. */
export function writePointer(dataHome: string, project: string, pointer: Pointer): void {
  const text = JSON.stringify({ ...pointer, wording: WORDING } satisfies Pointer & Worded)
  try {
    writeWhole(fileOf(dataHome, project), text)
  } catch {
    // `forget` has just removed the folder, or the disk is full. A start then asks the views.
  }
}

export function dropPointers(dataHome: string): void {
  // Usually there are none, and the check costs a hook less than the call that removes.
  if (existsSync(folder(dataHome))) rmSync(folder(dataHome), { recursive: true, force: true })
}
