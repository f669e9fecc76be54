/**
 * Sessions that `/clear` ended and no session has continued yet. The host reports the end and the new beginning in two
 * calls that do not name each other's session; all they have in common is the host's process.
 */
import { changingSessions, sessionFolder } from "../archive/session-files.ts"
import { hostProcess } from "../config/load.ts"
import { existsSync, readFileSync, unlinkSync } from "../util/fs.ts"
import { hashName, readJson, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"

/** ms within which a session continues one that `/clear` ended. */
export const CLEAR_LASTS = 5 * 60_000
/** The same for hosts that report the session after `/clear` as `startup`. */
export const SILENT_CLEAR_LASTS = 15_000

interface Clear {
  readonly session: string
  /** ms since the epoch. */
  readonly time: number
  /** The host's process. */
  readonly host: number
}

/** One file per project. `archive/session-traces.ts` also knows its name. */
const clearFile = (dataHome: string, project: string): string =>
  join(sessionFolder(dataHome), `clear-${hashName(project)}.json`)

/**
 * Records that `/clear` ended this session, so that the next one of the same project and process continues it.
 *
 * @param now ms since the epoch
 */
export function rememberClear(dataHome: string, project: string, session: string, now: number): void {
  const file = clearFile(dataHome, project)
  changingSessions(dataHome, () => {
    const others = clearsIn(file).filter((one) => one.session !== session && one.time >= now - CLEAR_LASTS)
    writeJson(file, [...others, { session, time: now, host: ownHost() } satisfies Clear])
  })
}

/**
 * The session that `/clear` ended and no session has continued.
 *
 * @param since ms since the epoch; older ones are ignored
 */
export const clearedSession = (dataHome: string, project: string, since: number): string | undefined =>
  chosen(clearsIn(clearFile(dataHome, project)), since)?.session

export const isCleared = (dataHome: string, project: string, since: number): boolean =>
  clearsIn(clearFile(dataHome, project)).some(({ time }) => time >= since)

/** Like `clearedSession`, but each session is returned only once. */
export function claimClear(dataHome: string, project: string, since: number): string | undefined {
  const file = clearFile(dataHome, project)
  if (!existsSync(file)) return undefined
  return changingSessions(dataHome, () => {
    const clears = clearsIn(file)
    const clear = chosen(clears, since)
    if (clear === undefined) return undefined
    const others = clears.filter((one) => one !== clear)
    try {
      if (others.length > 0) writeJson(file, others)
      else unlinkSync(file)
      return clear.session
    } catch {
      // Another session was faster.
      return undefined
    }
  })
}

/**
 * Prefers the latest of our own host. Falls back to any, because the host may have been restarted or may call us
 * through an unknown program.
 */
function chosen(clears: readonly Clear[], since: number): Clear | undefined {
  const open = clears.filter(({ time }) => time >= since)
  if (open.length < 2) return open[0]
  const host = ownHost()
  return open.findLast((one) => one.host === host) ?? open.at(-1)
}

function clearsIn(file: string): readonly Clear[] {
  const clears = readJson(file) as readonly Clear[] | Clear | undefined
  if (clears === undefined) return []
  return Array.isArray(clears) ? clears : [clears as Clear]
}

/** The process that called this hook. Hosts up to 2.1.112 do not tell, and call through a shell. */
function ownHost(): number {
  const parent = process.ppid
  const told = hostProcess()
  if (told !== undefined) return told
  try {
    // A shell may replace itself with the program it starts; this one has not.
    if (!readFileSync(`/proc/${parent}/cmdline`, "utf8").includes(" hook session-")) return parent
    const [, above] = readFileSync(`/proc/${parent}/stat`, "utf8").split(") ").at(-1)!.split(" ")
    return Number(above)
  } catch {
    // This system has no such files.
    return parent
  }
}
