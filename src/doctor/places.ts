/** Whether something else stands where the archive has its files and folders: a pipe, a folder, a socket. */
import { renameSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"
import { databasePath, lockPath } from "../archive/database.ts"
import { sessionFolder, sharedState } from "../archive/session-files.ts"
import { isMissing } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { logPath } from "../util/log.ts"
import { count } from "../util/text.ts"
import { type Finding, finding, type Patient } from "./finding.ts"

const foldersOf = ({ dataHome, stateHome }: Patient): string[] => [
  ...["vault", "pending", "requests", "forgotten", "pointers", "notes", "models"].map((name) =>
    join(dataHome, name),
  ),
  sessionFolder(dataHome),
  stateHome,
  join(stateHome, "swept"),
]

const filesOf = ({ dataHome, stateHome }: Patient): string[] => [
  ...["", "-wal", "-shm"].map((suffix) => databasePath(dataHome) + suffix),
  lockPath(dataHome),
  ...["compact", "forget", "models", "notes", "rebuild", "sessions"].map((name) =>
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
    ...foldersOf(patient).filter((path) => stands(path)?.isDirectory() === false),
    ...filesOf(patient).filter((path) => stands(path)?.isFile() === false),
  ]
  if (other.length === 0) return [finding("places", "ok", "every name of the archive is free or its own")]
  return [
    finding("places", "fail", `something else has ${count(other.length, "name")} of the archive`, {
      hint: "move it away; nothing of the archive is in it",
      details: other.map((path) => `${path} is ${kindOf(stands(path)!)}`),
      repair: {
        what: "move it aside",
        run: () => {
          for (const path of other) renameSync(path, freeBeside(path))
        },
      },
    }),
  ]
}

/** undefined also below something that is no folder. */
function stands(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function kindOf(stats: Stats): string {
  if (stats.isFile()) return "a file"
  if (stats.isDirectory()) return "a folder"
  if (stats.isFIFO()) return "a pipe"
  return stats.isSocket() ? "a socket" : "a device"
}

function freeBeside(path: string): string {
  for (let n = 1; ; n++) if (stands(`${path}.aside-${n}`) === undefined) return `${path}.aside-${n}`
}
