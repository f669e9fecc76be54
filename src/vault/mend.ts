/** Removes what keeps a copy from being written, and holds nothing of a transcript. */
import { closeSync, fstatSync, openSync, renameSync, unlinkSync } from "node:fs"
import { lock } from "../util/lock.ts"
import { holdsNothing, inodeOf } from "./file.ts"

/** Removes a copy that was begun and holds nothing, unless somebody is writing it. */
export function removeBegun(file: string): void {
  const fd = openSync(file, "r+")
  try {
    if (lock(fd, 0) && fstatSync(fd).ino === inodeOf(file) && holdsNothing(fd)) unlinkSync(file)
  } finally {
    closeSync(fd)
  }
}

/** Renames what is in the place of a copy. The new name is none that a copy may have. */
export function moveAside(file: string): void {
  for (let n = 1; ; n++) {
    const target = `${file}.aside-${n}`
    if (inodeOf(target) !== undefined) continue
    renameSync(file, target)
    return
  }
}
