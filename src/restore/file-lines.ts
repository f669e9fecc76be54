/** The files in flight in a restore, each on a line with its last change. Pure. */
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { count } from "../util/text.ts"
import type { FileInFlight } from "./material.ts"
import { roomOf } from "./page.ts"
import { code, quoteInert } from "./quote.ts"

export const FILES_TITLE = "Files in flight"
/** Characters of a last change, the most that leave room for all files. */
const CHANGE_SHOWN = [60, 40, 25] as const

/** @param room characters for the section: the less there is, the less is shown of each change */
export function fileLines(files: readonly FileInFlight[], room: number): string[] {
  const lines = (shown: number): string[] =>
    files.map(
      (file) => `- ${code(file.path, 200)}: ${changeOf(file, shown)} (${HANDLE_PREFIX}${file.handle})`,
    )
  const shown = CHANGE_SHOWN.find((most) => roomOf(FILES_TITLE, lines(most)) <= room)
  return lines(shown ?? CHANGE_SHOWN.at(-1)!)
}

function changeOf({ op, change }: FileInFlight, shown: number): string {
  if (change === undefined) return op === "write" ? "written" : "edited"
  if ("written" in change) return `written, ${count(change.written, "line")}`
  return "added" in change
    ? `added ${quoteInert(change.added, shown)}`
    : `removed ${quoteInert(change.removed, shown)}`
}
