/**
 * What was made of the archive for a look, in the data folder: the pages of `open`, and answers that take long to derive.
 * They are copies of what the vault holds, so they go with it.
 */

import { version } from "../../package.json"
import { isMissing } from "../base/errors.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { type FileStats, rmSync, statSync } from "../base/fs.ts"
import { fileNamesIn, hashName, readJson, writeJson } from "../base/json-files.ts"
import { DAY } from "../base/local-time.ts"
import { once } from "../base/once.ts"
import { ownProgram } from "../base/own-program.ts"
import { join } from "../base/path.ts"
import { databasePath } from "./database.ts"

/** ms after which a page is not looked at any more. */
const KEPT = 30 * DAY

export const pagesFolder = (dataHome: string): string => join(dataHome, "pages")

/** Whatever is in them may be what is to be forgotten. */
export const removePages = (dataHome: string): void =>
  rmSync(pagesFolder(dataHome), { recursive: true, force: true })

export function dropOldPages(dataHome: string, now: number): void {
  const folder = pagesFolder(dataHome)
  // The texts of sessions that their pages are searched by, too.
  for (const place of [folder, join(folder, "search")]) {
    for (const name of fileNamesIn(place, isMissing)) {
      tryTo(() => {
        const path = join(place, name)
        if (now - statSync(path).mtimeMs > KEPT) rmSync(path)
      })
    }
  }
}

/** An empty log of the database comes and goes with those who only read. */
function filledStats(path: string): FileStats | undefined {
  const stats = statsOf(path)
  return stats === undefined || stats.size === 0 ? undefined : stats
}

/** Changes with each write to the file, as far as the system's clock tells two writes apart. */
export function fileState(path: string): string {
  const stats = filledStats(path)
  return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`
}

/** Changes when another file takes its place. */
export const fileIdentity = (path: string): string => String(statsOf(path)?.ino ?? "")

/** Another program may derive something else from the same. */
export const programState = once(() => `${version} ${fileState(ownProgram())}`)

const databaseFiles = (dataHome: string): string[] => {
  const database = databasePath(dataHome)
  return [database, `${database}-wal`]
}

/** Changes with each write to the views. */
export const databaseState = (dataHome: string): string => databaseFiles(dataHome).map(fileState).join(", ")

/** ms after which nothing can be written any more at what a coarse file system says is the same time. */
const SETTLED = 2000

/**
 * @param question all that decides the answer besides the archive, as JSON
 * @param derive gives what JSON can hold
 * @returns what was derived last, unless something was written to the views since
 */
export function derivedOnce<T>(dataHome: string, question: unknown, now: number, derive: () => T): T {
  const state = databaseState(dataHome)
  const asked = JSON.stringify([programState(), question])
  const file = keptFile(dataHome, `answer-${hashName(asked)}`)
  const kept = readJson(file) as { asked: string; state: string; answer: T } | undefined
  if (kept?.asked === asked && kept.state === state) return kept.answer
  const answer = derive()
  const written = Math.max(...databaseFiles(dataHome).map((path) => filledStats(path)?.mtimeMs ?? 0))
  if (now - written < SETTLED || databaseState(dataHome) !== state) return answer
  // Where nothing can be written, it is derived each time.
  tryTo(() => writeJson(file, { asked, state, answer }))
  // Somebody may have forgotten what is in it just then.
  if (databaseState(dataHome) !== state) tryTo(() => rmSync(file))
  dropOldPages(dataHome, now)
  return answer
}

export const keptFile = (dataHome: string, name: string): string =>
  join(pagesFolder(dataHome), `${name}.json`)
