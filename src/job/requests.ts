/**
 * What hooks ask of the background job: a small file each, so that a job at work finds what came after it began,
 * and what a killed one left.
 */

import { stringsOf } from "../transcript/json.ts"
import { isMissing } from "../util/errors.ts"
import { writeWhole } from "../util/files.ts"
import { readdirSync, readFileSync, renameSync, rmSync, unlinkSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export interface JobRequest {
  /** Transcripts to bring up to date. */
  readonly transcripts: readonly string[]
  /** Folders of the host to look through for anything not archived. */
  readonly sweep: readonly string[]
  /** Look again for a few seconds: the host may still be writing. */
  readonly settle: boolean
  /** The views are damaged or missing: make them anew when that is so. */
  readonly rebuild?: boolean
  /** The sweep is an import of the whole history: half a last line that nobody goes on with is taken, too. */
  readonly history?: boolean
}

/** A request being worked on; its file goes when it is done. */
export interface Accepted {
  readonly request: JobRequest
  readonly file: string
}

const TAKEN = ".taken"

const folder = (dataHome: string): string => join(dataHome, "requests")

/** The same request twice is one, until the job takes it. */
export function leaveRequest(dataHome: string, request: JobRequest): void {
  const text = JSON.stringify(request)
  const file = join(folder(dataHome), `${Bun.hash.xxHash64(text, 0n).toString(16)}.json`)
  writeWhole(file, text)
}

/** Marks all waiting requests as taken and returns them. Only the holder of the job's lock may call this. */
export function takeRequests(dataHome: string): Accepted[] {
  const accepted: Accepted[] = []
  for (const name of names(dataHome)) {
    if (!name.endsWith(".json")) continue
    const file = join(folder(dataHome), name)
    // Out of the way, so that the same request, made again from here on, is seen.
    const taken = `${file}${TAKEN}`
    try {
      renameSync(file, taken)
    } catch (error) {
      // Somebody who forgets leaves another one in its place.
      if (isMissing(error)) continue
      throw error
    }
    const request = read(taken)
    if (request === undefined) unlinkSync(taken)
    else accepted.push({ request, file: taken })
  }
  return accepted
}

/** Puts back what a job took and did not finish before it was killed. */
export function recoverRequests(dataHome: string): void {
  for (const name of names(dataHome)) {
    if (!name.endsWith(TAKEN)) continue
    const file = join(folder(dataHome), name)
    renameSync(file, file.slice(0, -TAKEN.length))
  }
}

export function finishRequest({ file }: Accepted): void {
  try {
    unlinkSync(file)
  } catch {
    // taken again in the meantime
  }
}

/** Takes transcripts out of what is asked for. One that a job takes at this moment, it will find forgotten. */
export function dropFromRequests(dataHome: string, isGone: (transcript: string) => boolean): void {
  for (const name of names(dataHome)) {
    if (!name.endsWith(".json")) continue
    const file = join(folder(dataHome), name)
    const request = read(file)
    if (request === undefined || !request.transcripts.some(isGone)) continue
    rmSync(file, { force: true })
    leaveRequest(dataHome, { ...request, transcripts: request.transcripts.filter((path) => !isGone(path)) })
  }
}

export const hasRequests = (dataHome: string): boolean =>
  names(dataHome).some((name) => name.endsWith(".json"))

/** All that are not done, those included that a job is working on. */
export function waitingRequests(dataHome: string): JobRequest[] {
  return names(dataHome).flatMap((name) => read(join(folder(dataHome), name)) ?? [])
}

function names(dataHome: string): string[] {
  try {
    return readdirSync(folder(dataHome)).sort()
  } catch {
    return []
  }
}

function read(file: string): JobRequest | undefined {
  try {
    const { transcripts, sweep, settle, rebuild, history } = JSON.parse(
      readFileSync(file, "utf8"),
    ) as JobRequest
    return {
      transcripts: stringsOf(transcripts),
      sweep: stringsOf(sweep),
      settle: settle === true,
      rebuild: rebuild === true,
      history: history === true,
    }
  } catch {
    return undefined
  }
}
