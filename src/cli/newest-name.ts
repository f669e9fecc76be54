/** The hint for a command that lacks a session or a turn: the newest one there is. */
import { type CtxError, usageError } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import type { ArgSpec } from "./command.ts"
import { offeredNames } from "./offered-names.ts"

/** Of a name's title or prompt. */
const ABOUT = 40

/** @returns the error to tell: with a command that could be meant, if anything is archived */
export function withNewestName(
  error: CtxError,
  dataHome: string,
  cwd: string,
  command: string,
  specs: Readonly<Record<string, ArgSpec>>,
): CtxError {
  const kind = Object.values(specs).find(
    ({ type, names }) => type === "positional" && names !== undefined,
  )?.names
  const [newest] = (kind && tryTo(() => offeredNames(dataHome, cwd, kind, ""))) ?? []
  if (newest === undefined) return usageError(error.message, error.hint)
  const about = newest.about === "" ? "" : ` (${newest.about.slice(0, ABOUT)})`
  const more = kind === "option" ? "ctxbridge config list" : "ctxbridge sessions"
  return usageError(error.message, `such as ctxbridge ${command} ${newest.name}${about}; ${more} has more`)
}
