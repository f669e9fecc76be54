/**
 * Sessions that `/clear` ended, until another continues them. The host tells of the end and of the beginning in two calls
 * that name no session of each other's; what they have in common is the host's process.
 */
import { changingSessions, sessionFolder } from "../archive/session-files.ts"
import { hostProcess } from "../config/load.ts"
import { writeWhole } from "../util/files.ts"
import { existsSync, readFileSync, unlinkSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

/** A /clear is continued within this time, in ms, or by nobody. */
export const CLEAR_LASTS = 5 * 60_000
/** Some hosts report the session after /clear as `startup`: then only at once, in ms. */
export const SILENT_CLEAR_LASTS = 15_000

interface Clear {
  readonly session: string
  /** ms since the epoch. */
  readonly time: number
  /** The host's process. */
  readonly host: number
}

/** One file for each project: `archive/traces.ts` knows its name, too. */
const clearFile = (dataHome: string, project: string): string =>
  join(sessionFolder(dataHome), `clear-${Bun.hash.xxHash64(project, 0n).toString(16)}.json`)

/**
 * `/clear` ended this session; the next one of the project, and of the same process, continues it.
 *
 * @param now ms since the epoch
 */
export function rememberClear(dataHome: string, project: string, session: string, now: number): void {
  const file = clearFile(dataHome, project)
  changingSessions(dataHome, () => {
    const others = clearsIn(file).filter((one) => one.session !== session && one.time >= now - CLEAR_LASTS)
    writeWhole(file, JSON.stringify([...others, { session, time: now, host: ownHost() } satisfies Clear]))
  })
}

/**
 * The session that `/clear` ended and that nobody has continued.
 *
 * @param since ms since the epoch: an older /clear was continued by nobody
 */
export const clearedSession = (dataHome: string, project: string, since: number): string | undefined =>
  chosen(clearsIn(clearFile(dataHome, project)), since)?.session

export const isCleared = (dataHome: string, project: string, since: number): boolean =>
  clearsIn(clearFile(dataHome, project)).some(({ time }) => time >= since)

/** The same as `clearedSession`, once. */
export function claimClear(dataHome: string, project: string, since: number): string | undefined {
  const file = clearFile(dataHome, project)
  if (!existsSync(file)) return undefined
  return changingSessions(dataHome, () => {
    const clears = clearsIn(file)
    const clear = chosen(clears, since)
    if (clear === undefined) return undefined
    const others = clears.filter((one) => one !== clear)
    try {
      if (others.length > 0) writeWhole(file, JSON.stringify(others))
      else unlinkSync(file)
      return clear.session
    } catch {
      // another session was faster
      return undefined
    }
  })
}

/** Of one's own host the latest, else of any: a host may have been started anew, or through a program that we do not know. */
function chosen(clears: readonly Clear[], since: number): Clear | undefined {
  const open = clears.filter(({ time }) => time >= since)
  if (open.length < 2) return open[0]
  const host = ownHost()
  return open.findLast((one) => one.host === host) ?? open.at(-1)
}

function clearsIn(file: string): readonly Clear[] {
  // Asked first: an error costs six times as much.
  if (!existsSync(file)) return []
  try {
    const clears = JSON.parse(readFileSync(file, "utf8"))
    return Array.isArray(clears) ? clears : [clears]
  } catch {
    return []
  }
}

/** The process that has called this hook; hosts to 2.1.112 do not say it, and call through a shell. */
function ownHost(): number {
  const parent = process.ppid
  const told = hostProcess()
  if (told !== undefined) return told
  try {
    // A shell may become the program that it starts; this one did not.
    if (!readFileSync(`/proc/${parent}/cmdline`, "utf8").includes(" hook session-")) return parent
    const [, above] = readFileSync(`/proc/${parent}/stat`, "utf8").split(") ").at(-1)!.split(" ")
    return Number(above)
  } catch {
    // A system without these files.
    return parent
  }
}
