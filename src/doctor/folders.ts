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
import { dirname, join } from "node:path"
import { isMissing } from "../util/errors.ts"
import { bytes, count } from "../util/text.ts"
import { type Finding, finding, MINUTE, type Patient, SHOWN } from "./finding.ts"

interface Entry {
  readonly path: string
  readonly stats: Stats
}

export function folderChecks(patient: Patient): Finding[] {
  const entries = [...new Set([patient.dataHome, patient.stateHome])].flatMap((folder) => entriesOf(folder))
  // The state folder may be inside the data folder.
  const unique = [...new Map(entries.map((entry) => [entry.path, entry])).values()]
  return [...privacy(unique), ...access(patient, unique), leftovers(patient, unique), space(patient)]
}

/** The folder and everything in it; empty if it does not exist. Links are not followed. */
function entriesOf(folder: string): Entry[] {
  const stats = outside(folder)
  if (stats === undefined) return []
  const own = [{ path: folder, stats }]
  if (!stats.isDirectory()) return own
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return own
  }
  return [...own, ...names.flatMap((name) => entriesOf(join(folder, name)))]
}

/** undefined also if a parent folder is in fact a file. */
function outside(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function privacy(entries: readonly Entry[]): Finding[] {
  if (entries.length === 0) return [finding("private", "skipped", "there is no archive yet")]
  const open = entries.filter(({ stats }) => !stats.isSymbolicLink() && (stats.mode & 0o077) !== 0)
  if (open.length === 0) {
    return [
      finding(
        "private",
        "ok",
        `only you can read the archive (${count(entries.length, "file")} and folders)`,
      ),
    ]
  }
  return [
    finding("private", "warn", `others may read or write ${open.length} files or folders of the archive`, {
      details: open
        .slice(0, SHOWN)
        .map(({ path, stats }) => `${(stats.mode & 0o777).toString(8).padStart(3, "0")} ${path}`),
      repair: {
        what: "take away others' access",
        run: () => {
          for (const { path, stats } of open) chmodSync(path, stats.mode & 0o700)
        },
      },
    }),
  ]
}

function access({ dataHome }: Patient, entries: readonly Entry[]): Finding[] {
  const home = entries.find(({ path }) => path === dataHome)
  if (home !== undefined && !statSync(dataHome).isDirectory()) {
    return [
      finding("owner", "fail", `${dataHome} is not a folder`, { hint: "nothing can be archived there" }),
    ]
  }
  const uid = process.getuid?.()
  const strange = entries.filter(({ stats }) => uid !== undefined && stats.uid !== uid)
  if (strange.length > 0) {
    return [
      finding("owner", "fail", `${strange.length} files of the archive belong to another user`, {
        hint: "chown them; a command run with sudo may have made them",
        details: strange.slice(0, SHOWN).map(({ path }) => path),
      }),
    ]
  }
  const closed = entries.filter(({ path, stats }) => stats.isDirectory() && !isWritable(path))
  if (closed.length === 0) return [finding("owner", "ok", "the archive is yours and can be written")]
  return [
    finding(
      "owner",
      "fail",
      `${closed[0]!.path === dataHome ? "the data folder" : "a folder"} cannot be written`,
      {
        hint: "nothing can be archived there",
        details: closed.slice(0, SHOWN).map(({ path }) => path),
      },
    ),
  ]
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** What a process that died leaves behind: files not yet renamed, and copies being merged. */
const TEMPORARY = /(\.json\.\d+|\.compact|\.tmp)$/

function leftovers({ now }: Patient, entries: readonly Entry[]): Finding {
  const stale = entries.filter(
    ({ path, stats }) => stats.isFile() && TEMPORARY.test(path) && now - stats.mtimeMs > 60 * MINUTE,
  )
  if (stale.length === 0) return finding("leftovers", "ok", "no temporary file was left behind")
  return finding("leftovers", "warn", `${count(stale.length, "temporary file")} left behind`, {
    details: stale.slice(0, SHOWN).map(({ path }) => path),
    repair: {
      what: "remove temporary files older than an hour",
      run: () => {
        for (const { path } of stale) rmSync(path, { force: true })
      },
    },
  })
}

/** Free bytes below which to warn, and below which hooks will soon fail. */
const LITTLE = 1_000_000_000
const ALMOST_NONE = 50_000_000

function space({ dataHome }: Patient): Finding {
  let folder = dataHome
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder) {
    folder = dirname(folder)
  }
  const { bavail, bsize } = statfsSync(folder)
  return spaceFinding(bavail * bsize)
}

/** @param free bytes that this user can still write */
export function spaceFinding(free: number): Finding {
  const text = `${bytes(free)} free`
  if (free >= LITTLE) return finding("space", "ok", text)
  return finding("space", free < ALMOST_NONE ? "fail" : "warn", `only ${text} where the archive is`, {
    hint: "a full disk stops the archiving; `ctxbridge compact` may free some space",
  })
}
