/** Takes our patch out of every program that is installed: without ctxbridge, it would ask for what nobody answers. */
import { existsSync } from "node:fs"
import { messageOf } from "../../util/errors.ts"
import { revertPatch } from "./apply-patch.ts"
import { recordFile } from "./patch-record.ts"
import { installedTargets } from "./patch-targets.ts"

/** A program that has, or had, our patch. */
export interface RevertedPatch {
  readonly file: string
  /** Whether it is, or would be, as it was before. */
  readonly changed: boolean
  /** Why not. */
  readonly failed?: string
}

export const revertInstalled = (home: string, cwd: string, dryRun: boolean): RevertedPatch[] =>
  installedTargets(home, cwd)
    .filter((file) => existsSync(recordFile(file)))
    .map((file) => reverted(file, dryRun))

/** One that cannot be restored does not keep the others from it. */
function reverted(file: string, dryRun: boolean): RevertedPatch {
  try {
    return { file, changed: revertPatch(file, { dryRun }).changed }
  } catch (error) {
    return { file, changed: false, failed: messageOf(error) }
  }
}
