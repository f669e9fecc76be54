/** What the job has done that the user should hear of, noted until the next session that starts tells them. */

import { dropFile, readJson, takeFile, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { shellWord, unsteered } from "../base/text.ts"
import { isObject } from "../record/json.ts"
import { folderOf } from "../views/project.ts"
import type { FoundMoves } from "./find-moves.ts"

interface ImportDone {
  readonly transcripts: number
  readonly bytes: number
}

/** Folders of a repository that was moved, as the projects' names have them. */
interface ToldMove {
  readonly from: string
  readonly to: string
  /** Whether they are joined now, or not any more. */
  readonly isJoined: boolean
}

interface Told {
  readonly done: ImportDone | undefined
  readonly moves: readonly ToldMove[]
}

export const importDoneFile = (dataHome: string): string => join(dataHome, "imported.json")

/** Only the job writes it, under its lock. */
export function noteImportDone(dataHome: string, { transcripts, bytes }: ImportDone): void {
  const { moves } = told(readJson(importDoneFile(dataHome)))
  writeJson(importDoneFile(dataHome), { transcripts, bytes, moves })
}

export function noteMoves(dataHome: string, { joined, parted }: FoundMoves): void {
  const { done, moves } = told(readJson(importDoneFile(dataHome)))
  writeJson(importDoneFile(dataHome), { ...done, moves: [...moves, ...movesToTell({ joined, parted })] })
}

export const movesToTell = ({ joined, parted }: FoundMoves): ToldMove[] => [
  ...parted.map(({ from, to }) => ({ from, to, isJoined: false })),
  ...joined.map(({ from, to }) => ({ from, to, isJoined: true })),
]

/** What a person is told of a move. */
export function moveTold({ from, to, isJoined }: ToldMove): string {
  const [old, now] = [from, to].map((project) => unsteered(folderOf(project)))
  return isJoined
    ? `The sessions of ${old} are now found in ${now}: the repository was moved (same root commit). ` +
        `To undo that: ctxbridge project move --undo ${shellWord(old!)}`
    : `The sessions of ${old} are no longer found in ${now}: both folders are there`
}

/** Nothing is to be told of what the user has had forgotten. */
export function forgetMoves(dataHome: string): void {
  const { done, moves } = told(readJson(importDoneFile(dataHome)))
  if (moves.length > 0) writeJson(importDoneFile(dataHome), { ...done, moves: [] })
}

/** @returns undefined if there is nothing to tell, or another session tells it */
export function takeImportDone(dataHome: string): Told | undefined {
  const file = importDoneFile(dataHome)
  const taken = `${file}.${process.pid}`
  if (!takeFile(file, taken)) return undefined
  const found = told(readJson(taken))
  dropFile(taken)
  return found.done === undefined && found.moves.length === 0 ? undefined : found
}

function told(file: unknown): Told {
  const { transcripts, bytes, moves } = isObject(file) ? file : {}
  const done =
    typeof transcripts === "number" && typeof bytes === "number" ? { transcripts, bytes } : undefined
  const listed = (Array.isArray(moves) ? moves : []).filter(
    (one) => isObject(one) && typeof one["from"] === "string" && typeof one["to"] === "string",
  )
  return { done, moves: listed as ToldMove[] }
}
