/**
 * Requests from hooks to the background job, each a small file, so that a running job finds later requests as well as
 * those left by a killed job.
 */

import { isMissing, throwBusy } from "../base/errors.ts"
import { writeWhole } from "../base/files.ts"
import { existsSync, renameSync, rmSync, unlinkSync } from "../base/fs.ts"
import { dropFile, fileNamesIn, hashName, readJson } from "../base/json-files.ts"
import { isLockFree, withLockFile } from "../base/lock.ts"
import { isAlive } from "../base/own-program.ts"
import { join } from "../base/path.ts"
import { listedStrings } from "../record/json.ts"

export interface JobRequest {
  /** Transcripts to bring up to date. */
  readonly transcripts: readonly string[]
  /** Folders of Claude Code to search for anything not archived. */
  readonly sweep: readonly string[]
  /** Look again over a few seconds, because Claude Code may still be writing. */
  readonly settle: boolean
  /** The views may be damaged or missing; rebuild them if so. */
  readonly rebuild?: boolean
  /** The sweep imports the whole history, including an unfinished last line if the file is no longer being written. */
  readonly history?: boolean
  /** Where a session has begun: a repository may have been moved there. */
  readonly folder?: string
}

/** A request being worked on. Its file is deleted when it is done. */
export interface Accepted {
  readonly request: JobRequest
  readonly file: string
}

const TAKEN = ".taken"

const folder = (dataHome: string): string => join(dataHome, "requests")

/** Identical requests count as one until the job takes them. */
export function leaveRequest(dataHome: string, request: JobRequest): void {
  const text = JSON.stringify(request)
  const file = join(folder(dataHome), `${hashName(text)}.json`)
  writeWhole(file, text)
}

/** Marks all waiting requests as taken and returns them. Only the holder of the job's lock may call this. */
export function takeRequests(dataHome: string): Accepted[] {
  const accepted: Accepted[] = []
  for (const name of names(dataHome)) {
    if (!name.endsWith(".json")) continue
    const file = join(folder(dataHome), name)
    // Renamed so that an identical request made from now on is noticed.
    const taken = `${file}${TAKEN}`
    try {
      renameSync(file, taken)
    } catch (error) {
      // `forget` may have replaced the request with another one.
      if (isMissing(error)) continue
      throw error
    }
    const request = read(taken)
    if (request === undefined) unlinkSync(taken)
    else accepted.push({ request, file: taken })
  }
  return accepted
}

/** Restores requests that a job took but did not finish, or a writer wrote but did not rename, before it was killed. */
export function recoverRequests(dataHome: string): void {
  for (const name of names(dataHome)) {
    const file = join(folder(dataHome), name)
    // As `writeWhole` names it.
    const [, unnamed, writer] = /^(.+\.json)\.(\d+)$/.exec(name) ?? []
    if (name.endsWith(TAKEN)) renameSync(file, file.slice(0, -TAKEN.length))
    else if (unnamed !== undefined && !isAlive(Number(writer))) {
      if (read(file) === undefined) rmSync(file, { force: true })
      else renameSync(file, join(folder(dataHome), unnamed))
    }
  }
}

export const finishRequest = ({ file }: Accepted): void => dropFile(file)

/** Removes transcripts from waiting requests. A job that takes one just now will find it forgotten. */
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

/** All unfinished requests, including those a job is working on. */
export function waitingRequests(dataHome: string): JobRequest[] {
  const isWhole = (name: string): boolean => name.endsWith(".json") || name.endsWith(TAKEN)
  return names(dataHome).flatMap((name) => (isWhole(name) ? (read(join(folder(dataHome), name)) ?? []) : []))
}

const names = (dataHome: string): string[] => fileNamesIn(folder(dataHome)).sort()

function read(file: string): JobRequest | undefined {
  const document = readJson(file)
  if (document === undefined || document === null) return undefined
  const { transcripts, sweep, settle, rebuild, history, folder } = document as JobRequest
  return {
    transcripts: listedStrings(transcripts),
    sweep: listedStrings(sweep),
    settle: settle === true,
    rebuild: rebuild === true,
    history: history === true,
    ...(typeof folder === "string" && { folder }),
  }
}

/*
 * Asks the background job to stop, and waits until it has. The request is a lock held by whoever asks, so it ends if
 * that process dies. Stopping loses nothing.
 */

const askOf = (stateHome: string): string => join(stateHome, "job.stop")

/** Held by the job for as long as it works. */
export const jobLock = (stateHome: string): string => join(stateHome, "job.lock")

/** Error code of a job that is to stop. */
export const STOPPED = "stopped"

export const isAskedToStop = (stateHome: string): boolean => !isLockFree(askOf(stateHome), 0)

/**
 * Runs `work` while no job is running and none can start.
 *
 * @param wait ms to wait for the job to end
 * @throws CtxError `busy`
 */
export function withoutJob<T>(stateHome: string, wait: number, work: () => T): T {
  if (!existsSync(stateHome)) return work()
  const end = performance.now() + wait
  return withLockFile(
    askOf(stateHome),
    wait,
    () => withLockFile(jobLock(stateHome), end - performance.now(), work, atWork),
    atWork,
  )
}

const atWork = (): never => throwBusy("the background job is running")
