/** The files of the archive: whether something else has one of their names (a pipe, a folder), and whether they can be locked. */
import type { Stats } from "node:fs"
import { databasePath, lockPath } from "../archive/database.ts"
import { sessionFolder, sharedState } from "../archive/session-files.ts"
import { probe } from "../archive/unwritable.ts"
import { codeOf, messageOf } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { renameSync } from "../util/fs.ts"
import { logPath } from "../util/log.ts"
import { join } from "../util/path.ts"
import { count } from "../util/text.ts"
import { type Finding, finding, type Patient, repairEach } from "./finding.ts"
import { existing } from "./folder-checks.ts"

const foldersOf = ({ dataHome, stateHome }: Patient): string[] => [
  ...["vault", "pending", "requests", "forgotten", "pointers", "notes", "models", "sync", "pages"].map(
    (name) => join(dataHome, name),
  ),
  sessionFolder(dataHome),
  stateHome,
  join(stateHome, "swept"),
]

const filesOf = ({ dataHome, stateHome }: Patient): string[] => [
  ...["", "-wal", "-shm"].map((suffix) => databasePath(dataHome) + suffix),
  lockPath(dataHome),
  ...["compact", "forget", "models", "notes", "rebuild", "sessions", "sync"].map((name) =>
    join(dataHome, `${name}.lock`),
  ),
  sharedState(dataHome),
  logPath(stateHome),
  join(stateHome, "job.lock"),
  join(stateHome, "job.stop"),
]

export function placeCheck(patient: Patient): Finding[] {
  if (statsOf(patient.dataHome)?.isDirectory() !== true) return []
  const other = [
    ...foldersOf(patient).filter((path) => existing(path)?.isDirectory() === false),
    ...filesOf(patient).filter((path) => existing(path)?.isFile() === false),
  ]
  if (other.length === 0) return [finding("places", "ok", "nothing is in the way of the archive's files")]
  return [
    finding(
      "places",
      "fail",
      `something else is in the place of ${count(other.length, "file")} of the archive`,
      {
        hint: "move it away; it holds nothing of the archive",
        details: other.map((path) => `${path} is ${kindOf(existing(path)!)}`),
        repair: repairEach("move it aside", other, (path) => renameSync(path, freeBeside(path))),
      },
    ),
  ]
}

function kindOf(stats: Stats): string {
  if (stats.isFile()) return "a file"
  if (stats.isDirectory()) return "a folder"
  if (stats.isFIFO()) return "a pipe"
  return stats.isSocket() ? "a socket" : "a device"
}

function freeBeside(path: string): string {
  for (let n = 1; ; n++) if (existing(`${path}.aside-${n}`) === undefined) return `${path}.aside-${n}`
}

/** Without locks, nothing is archived. */
export function lockCheck({ dataHome }: Patient): Finding {
  if (statsOf(dataHome)?.isDirectory() !== true) return finding("locks", "skipped", "there is no archive yet")
  try {
    probe(dataHome)
    return finding("locks", "ok", "files of the archive can be locked")
  } catch (error) {
    if (codeOf(error) !== "lock-failed") return finding("locks", "skipped", messageOf(error))
    return finding("locks", "fail", messageOf(error), {
      hint: "hooks write elsewhere; move the archive to a file system with locks, and set CTXBRIDGE_HOME",
    })
  }
}
