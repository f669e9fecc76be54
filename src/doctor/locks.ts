/** Whether files of the data folder can be locked: without that, nothing is archived there. */
import { probe } from "../archive/unwritable.ts"
import { codeOf, messageOf } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { type Finding, finding, type Patient } from "./finding.ts"

export function lockCheck({ dataHome }: Patient): Finding[] {
  if (statsOf(dataHome)?.isDirectory() !== true)
    return [finding("locks", "skipped", "there is no archive yet")]
  try {
    probe(dataHome)
    return [finding("locks", "ok", "files of the archive can be locked")]
  } catch (error) {
    if (codeOf(error) !== "lock-failed") return [finding("locks", "skipped", messageOf(error))]
    return [
      finding("locks", "fail", messageOf(error), {
        hint: "hooks write elsewhere; move the archive to a file system with locks, and set CTXBRIDGE_HOME",
      }),
    ]
  }
}
