/** Starts the background job and does not wait for it. */
import { childEnvironment } from "../config/load.ts"
import { type JobRequest, leaveRequest } from "./requests.ts"

/**
 * Detached, with nothing inherited that could hold the host: 0.5 ms. When a job is at work already, the new one ends
 * at once and leaves the request to it. Failing to start it loses nothing: the next one finds the request.
 */
export function spawnJob(dataHome: string, request: JobRequest): void {
  leaveRequest(dataHome, request)
  const command = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, Bun.main]
  Bun.spawn([...command, "__job"], {
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
    cwd: "/",
    env: childEnvironment(),
  }).unref()
}

/** The background job looks whether the views are damaged or lost, and makes them anew when they are. */
export const askForRebuild = (dataHome: string): void =>
  spawnJob(dataHome, { transcripts: [], sweep: [], settle: false, rebuild: true })
