/** The frames of a target by themselves, with what belongs to the target as a whole. */
import { openFolderTarget } from "../../src/sync/targets/folder-target.ts"
import type { LineFills } from "../../src/sync/targets/pieces.ts"
import type { ServerAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import type { FrameStore, Target } from "../../src/sync/targets/target.ts"

export interface FramesOf extends FrameStore {
  forget(sessions: readonly string[], fills?: readonly LineFills[]): Promise<number>
  close(): Promise<void>
}

export function framesOf(target: Target): FramesOf {
  const { frames } = target
  if (frames === undefined) throw new Error("it keeps no frames")
  const more = {
    forget: (sessions: readonly string[], fills: readonly LineFills[] = []) =>
      target.forget({ sessions, fills }),
    close: () => target.close(),
  }
  return Object.assign(frames, more)
}

export const openFolderFrames = (...given: Parameters<typeof openFolderTarget>): FramesOf =>
  framesOf(openFolderTarget(...given))

export const openPostgresFrames = async (
  address: ServerAddress,
  writer: string,
  deadline?: number,
): Promise<FramesOf> => framesOf(await openPostgresTarget(address, deadline, false, writer))
