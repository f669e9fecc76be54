/** The folders of the archive: who owns them, who may read them, and how much space is left. */

import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  readdirSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
} from "node:fs"
import { isMissing } from "../../base/errors.ts"
import { letsOthersIn, statsOf, tryTo } from "../../base/files.ts"
import { MINUTE } from "../../base/local-time.ts"
import { dirname, join } from "../../base/path.ts"
import { bytes, count } from "../../base/text.ts"
import { type Finding, finding, type Patient, repairEach, SHOWN } from "./finding.ts"

type Look = (path: string) => Stats

interface Entry {
  readonly path: string
  readonly stats: Stats
}

export function folderChecks(patient: Patient): Finding[] {
  // Either may be a link to another disk.
  const entries = [...new Set([patient.dataHome, patient.stateHome])].flatMap((folder) => entriesOf(folder))
  // The state folder may be inside the data folder.
  const unique = [...new Map(entries.map((entry) => [entry.path, entry])).values()]
  return [
    privacy(unique),
    access(patient, unique),
    leftovers(patient, unique),
    spaceFinding(patient.dataHome),
  ]
}

/** The folder and everything in it; empty if it does not exist. Links in it are not followed. */
function entriesOf(top: string): Entry[] {
  const found: Entry[] = []
  const visit = (path: string, look: Look): void => {
    const stats = existing(path, look)
    if (stats === undefined) return
    found.push({ path, stats })
    if (!stats.isDirectory()) return
    for (const name of tryTo(() => readdirSync(path)) ?? []) visit(`${path}/${name}`, lstatSync)
  }
  visit(top, statSync)
  return found
}

/** undefined also if a parent folder is in fact a file. */
export function existing(path: string, look: Look = statSync): Stats | undefined {
  try {
    return look(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function privacy(entries: readonly Entry[]): Finding {
  if (entries.length === 0) return finding("private", "skipped", "there is no archive yet")
  const open = entries.filter(({ stats }) => !stats.isSymbolicLink() && letsOthersIn(stats.mode))
  if (open.length === 0) {
    return finding(
      "private",
      "ok",
      `only you can read the archive (${count(entries.length, "file or folder", "files and folders")})`,
    )
  }
  const many = count(open.length, "file or folder", "files and folders")
  return finding("private", "warn", `others may read or write ${many} of the archive`, {
    details: open
      .slice(0, SHOWN)
      .map(({ path, stats }) => `${(stats.mode & 0o777).toString(8).padStart(3, "0")} ${path}`),
    repair: repairEach("take away others' access", open, ({ path, stats }) =>
      chmodSync(path, stats.mode & 0o700),
    ),
  })
}

function access({ dataHome }: Patient, entries: readonly Entry[]): Finding {
  const home = entries.find(({ path }) => path === dataHome)
  if (home === undefined) return notYet(dataHome)
  if (!home.stats.isDirectory()) {
    return finding("owner", "fail", `${dataHome} is not a folder`, { hint: "nothing can be archived there" })
  }
  const uid = process.getuid?.()
  const strange = entries.filter(({ stats }) => uid !== undefined && stats.uid !== uid)
  if (strange.length > 0) {
    const text = `${count(strange.length, "file")} of the archive belong to another user`
    return finding("owner", "fail", text, {
      hint: "chown them; a command run with sudo may have made them",
      details: strange.slice(0, SHOWN).map(({ path }) => path),
    })
  }
  const closed = entries.filter(({ path, stats }) => !stats.isSymbolicLink() && !isOurs(path, stats))
  if (closed.length === 0) return finding("owner", "ok", "the archive is yours and can be written")
  const what =
    closed[0]!.path === dataHome
      ? "the data folder"
      : count(closed.length, "file or folder", "files and folders")
  return finding("owner", "fail", `${what} of the archive cannot be read and written`, {
    hint: "chmod them; meanwhile hooks write elsewhere, if they can",
    details: closed.slice(0, SHOWN).map(({ path }) => path),
  })
}

/** Whether the data folder, which does not exist, can be made. */
function notYet(dataHome: string): Finding {
  if (canBeWritten(dataHome)) return finding("owner", "skipped", "there is no archive yet")
  const hint = `look at ${existingAbove(dataHome, lstatSync)}`
  return finding("owner", "fail", `${dataHome} cannot be made`, { hint })
}

/** Whether the folder, or what it would be made in, can be written, as far as this can be told without writing. */
export function canBeWritten(folder: string): boolean {
  // A link to nothing is in the folder's way.
  const above = existingAbove(folder, lstatSync)
  return statsOf(above)?.isDirectory() === true && isAllowed(above, FOLDER)
}

/** The path, or what it would be made in. */
function existingAbove(path: string, look: Look): string {
  let above = path
  while (existing(above, look) === undefined && dirname(above) !== above) above = dirname(above)
  return above
}

const FOLDER = constants.R_OK | constants.W_OK | constants.X_OK
const FILE = constants.R_OK | constants.W_OK

/** A file of our own by its mode alone: asking for each of a hundred thousand takes longer than all other checks. */
function isOurs(path: string, stats: Stats): boolean {
  if (stats.isDirectory()) return isAllowed(path, FOLDER)
  const isOwn = stats.uid === process.getuid?.()
  return isOwn ? (stats.mode & 0o600) === 0o600 : isAllowed(path, FILE)
}

/** @param mode `constants.X_OK` and the like */
export function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** What a process that died leaves behind: files not yet renamed, copies being merged, views being rebuilt. */
const TEMPORARY = /(\.json\.\d+|\.compact|\.tmp|\/archive\.db\.new-\d+)$/

function leftovers({ dataHome, now }: Patient, entries: readonly Entry[]): Finding {
  // A request that was not renamed is whole more often than not: the background job does it.
  const requests = join(dataHome, "requests/")
  const stale = entries.filter(
    ({ path, stats }) =>
      stats.isFile() &&
      TEMPORARY.test(path) &&
      !path.startsWith(requests) &&
      now - stats.mtimeMs > 60 * MINUTE,
  )
  if (stale.length === 0) return finding("leftovers", "ok", "no temporary file was left behind")
  return finding("leftovers", "warn", `${count(stale.length, "temporary file")} left behind`, {
    details: stale.slice(0, SHOWN).map(({ path }) => path),
    repair: repairEach("remove temporary files older than an hour", stale, ({ path }) =>
      rmSync(path, { force: true }),
    ),
  })
}

/** Free bytes below which to warn, and below which hooks will soon fail. */
const LITTLE = 1_000_000_000
const ALMOST_NONE = 50_000_000

/** Bytes that this user can still write. */
function freeAt(folder: string): number {
  const { bavail, bsize } = statfsSync(existingAbove(folder, statSync))
  return bavail * bsize
}

export function spaceFinding(dataHome: string, free = freeAt(dataHome)): Finding {
  const text = `${bytes(free)} free`
  if (free >= LITTLE) return finding("space", "ok", text)
  return finding("space", free < ALMOST_NONE ? "fail" : "warn", `only ${text} where the archive is`, {
    hint: "a full disk stops the archiving; `ctxbridge optimize --frames` may free some space",
  })
}
