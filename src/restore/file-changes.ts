/** What was last done to the files in flight: read from the vault, since the views do not hold what was written. */
import { type FileChange, fileChange } from "../agents/file-change.ts"
import type { Database } from "../archive/database.ts"
import { placesOf } from "../archive/queries/messages.ts"
import { callIn } from "../claude/line-texts.ts"
import { type ArchivedLines, LONGEST_LINE } from "./archived-line.ts"
import { FILES_SHOWN, type FileInFlight } from "./material.ts"

/** The files that a restore shows, each with its last change, if its line can be read and is not too long. */
export function withLastChanges(
  db: Database,
  files: readonly FileInFlight[],
  lines: ArchivedLines,
): FileInFlight[] {
  const shown = files.slice(0, FILES_SHOWN)
  const places = placesOf(
    db,
    shown.flatMap(({ call }) => call?.message ?? []),
  )
  return shown.map((file) => {
    const { call } = file
    const place = places.find(({ id }) => id === call?.message)
    if (call === undefined || place === undefined || place.length >= LONGEST_LINE) return file
    const change = changeIn(lines.at(place), call.id)
    return change === undefined ? file : { ...file, change }
  })
}

function changeIn(line: string, id: string): FileChange | undefined {
  const call = callIn(line, id)
  return call && fileChange(call.name, call.input)
}
