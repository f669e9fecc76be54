/** Starts the background job and does not wait for it. */

import { tryTo } from "../base/files.ts"
import { ownProgram } from "../base/own-program.ts"
import { childEnvironment } from "../config/load.ts"
import { type JobRequest, leaveRequest } from "./requests.ts"

/**
 * Detached, and inheriting nothing that could hold up Claude Code: 0.5 ms. If a job is already running, the new one
 * exits at once and leaves the request to it. If it cannot be started, nothing is lost: the next job finds the request.
 */
export function spawnJob(dataHome: string, request: JobRequest): void {
  leaveRequest(dataHome, request)
  Bun.spawn([...ownCommand(), "__job"], {
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
    windowsHide: true,
    cwd: "/",
    env: childEnvironment(),
  }).unref()
}

/** What starts ctxbridge itself. */
export const ownCommand = (): string[] =>
  Bun.isStandaloneExecutable ? [ownProgram()] : [ownProgram(), Bun.main]

/** Asks the background job to check whether the views are damaged or lost, and to rebuild them if so. */
export const askForRebuild = (dataHome: string): void =>
  spawnJob(dataHome, { transcripts: [], sweep: [], settle: false, rebuild: true })

/**
 * Has the background job make views of an earlier version anew, when that takes longer than somebody waits: where no hook
 * is registered, nobody else would start it. Where no process can be started and nothing written, they are read as they
 * are.
 */
export const startRenewing = (dataHome: string): void => {
  tryTo(() => spawnJob(dataHome, { transcripts: [], sweep: [], settle: false }))
}
