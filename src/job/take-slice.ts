/** Takes a transcript into the vault for work that nobody waits for. */
import { captureTranscript, type Taken, type TakeOptions, UNHURRIED } from "../archive/capture-transcript.ts"
import type { Paths, Policy } from "../config/load.ts"
import { knownOf } from "../vault/known-values.ts"

/** @param slice ms after which to stop; what is left is taken by the next call */
export const takeSlice = (
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
  lastLine: TakeOptions["lastLine"],
  slice: number,
): Taken =>
  captureTranscript(paths, path, {
    now: Date.now(),
    deadline: performance.now() + slice,
    lastLine,
    level: UNHURRIED,
    known: knownOf,
  })
