/**
 * What a new session of a project is told, rendered beforehand: a start then costs no database (docs/adr/0003).
 *
 * A pointer is valid as long as nothing is indexed. They are written, and whoever indexes takes all of them away, inside
 * a transaction that writes: so none is older than the views that are read beside it.
 */

import { writeWhole } from "../util/files.ts"
import { existsSync, readFileSync, rmSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export interface Pointer {
  /** The session it tells of. */
  readonly session: string
  /** What the model is told; `""` when there is nothing to tell. */
  readonly text: string
  /** The setting `restore.related` that it was rendered with. */
  readonly related: number
}

/** Goes up when the same session is told of in other words: what an earlier version rendered is not valid then. */
const WORDING = 4

interface Worded {
  readonly wording: number
}

const folder = (dataHome: string): string => join(dataHome, "pointers")

const fileOf = (dataHome: string, project: string): string =>
  join(folder(dataHome), `${Bun.hash.xxHash64(project, 0n).toString(16)}.json`)

/** @param project as `projectOf` names it */
export function readPointer(dataHome: string, project: string): Pointer | undefined {
  try {
    const pointer = JSON.parse(readFileSync(fileOf(dataHome, project), "utf8")) as Pointer & Worded
    return pointer.wording === WORDING ? pointer : undefined
  } catch {
    return undefined
  }
}

/** To be called inside a transaction that writes, and before its commit. */
export function writePointer(dataHome: string, project: string, pointer: Pointer): void {
  const text = JSON.stringify({ ...pointer, wording: WORDING } satisfies Pointer & Worded)
  try {
    writeWhole(fileOf(dataHome, project), text)
  } catch {
    // Somebody who forgets takes the folder away at this moment, or the disk is full: a start asks the views then.
  }
}

export function dropPointers(dataHome: string): void {
  // Mostly there are none, and a look costs a hook less than the call that removes.
  if (existsSync(folder(dataHome))) rmSync(folder(dataHome), { recursive: true, force: true })
}
