/** Takes a transcript into the vault for work that nobody waits for. */

import { isPromptHistory } from "../agents/layouts.ts"
import type { Paths, Policy } from "../config/load.ts"
import type { HistoryPrompt } from "../record/agent.ts"
import { forgottenPrompts, withoutPrompts } from "../vault/forgotten-prompts.ts"
import { knownOf } from "../vault/known-values.ts"
import type { Forgotten } from "../vault/tombstones.ts"
import {
  captureTranscript,
  forgottenTranscript,
  type Taken,
  type TakeOptions,
  UNHURRIED,
} from "../views/capture-transcript.ts"
import { isExcludedFolder } from "../views/excluded.ts"

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
    forgotten: isPromptHistory(path) ? () => unwantedPrompts(paths) : undefined,
  })

/** What must not be archived of a transcript, or of the list of all prompts; undefined: all of it is wanted. */
export const unwantedIn = (
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
): Forgotten | undefined =>
  isPromptHistory(path) ? unwantedPrompts(paths) : forgottenTranscript(paths.dataHome, path)

/** Of the prompts of all projects, also those of excluded folders. */
function unwantedPrompts(paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>): Forgotten | undefined {
  const forgotten = forgottenPrompts(paths.dataHome)
  if (paths.exclude === undefined || paths.exclude.length === 0) return forgotten
  const isExcluded = ({ project }: HistoryPrompt): boolean =>
    project === undefined || isExcludedFolder(paths, project)
  return {
    whole: forgotten?.whole === true,
    edit: (content, from) => withoutPrompts(forgotten?.edit(content, from) ?? content, isExcluded),
  }
}
