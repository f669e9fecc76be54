/**
 * What Claude Code answers instead of executing a call: how its own tools want to be used, and who refused. A refusal
 * is not an error. A tool's demand comes up again, mostly after a compaction, when Claude Code has forgotten what was
 * read, but it says nothing about the project. Pure.
 */

import { atLeast, TELLS_REFUSALS, TELLS_STATUS } from "../claude/versions.ts"
import { errorLinesIn, exitStatusIn } from "../record/error-lines.ts"
import { isClaudeTool } from "./origin.ts"
import { isShell, toolKind } from "./tool-kinds.ts"

/**
 * Beginnings of tools' demands, with versions of Claude Code known to write them, from a transcript or from their
 * program.
 */
const USAGE: readonly (readonly [begins: string, seen: string])[] = [
  ["File has not been read yet.", "2.0.76, 2.1.112"],
  ["File has been modified since read", "2.0.76, 2.1.112"],
  ["File content has changed since it was last read", "2.1.112"],
  ["String to replace not found in file", "2.0.76, 2.1.112"],
  ["Found (\\d+) matches of the string to replace", "1.0.51, 2.0.76, 2.1.112"],
  ["No changes to make: old_string and new_string", "2.0.76, 2.1.112"],
  ["Cannot create new file - file already exists", "2.0.76, 2.1.112"],
  ["File is a Jupyter Notebook.", "2.0.76, 2.1.112"],
  ["File does not exist.", "2.0.76, 2.1.112, 2.1.226"],
  ["Path does not exist: ", "2.0.76, 2.1.112"],
  ["Directory does not exist: ", "2.0.76, 2.1.112"],
  ["File content \\(", "2.0.76, 2.1.112"],
  ["This tool cannot read binary files.", "2.0.76, 2.1.112"],
  ["EISDIR: illegal operation on a directory, read", "2.0.76, 2.1.112"],
  ["(?:Error: )?No such tool available: ", "2.0.37, 2.0.76, 2.1.112"],
  ["InputValidationError: ", "2.0.76, 2.1.112"],
  ["No task found with ID: ", "2.0.76, 2.1.112"],
  ["Agent type '", "2.0.76, 2.1.112, 2.1.227, 2.1.229"],
]
/** Beginnings of results of calls that were not run: refused by a human, Claude Code's rules or its checks. */
export const NOT_RUN = [
  "The user doesn't want to ",
  "Permission to use ",
  "Permission for this action ",
  "Claude requested permissions to ",
  "This command requires approval",
  "<tool_use_error>",
] as const
/** Encloses most of them since 2.0, and also what was not allowed. */
const TAG = "<tool_use_error>"
const beginning = (texts: readonly string[]): RegExp => new RegExp(`^\\s*(?:${TAG})?(?:${texts.join("|")})`)
const DEMAND = beginning(USAGE.map(([text]) => text))
const REFUSED = beginning(["Blocked: ", ...NOT_RUN.filter((text) => text !== TAG)])

/** What they say about a command that they ended themselves. */
const ENDED = /^\s*(?:<error>)?(?:Command timed out|Command was aborted)/

/** A call's result. */
interface Answer {
  readonly text: string
  readonly isError: boolean
}

/**
 * Lines that name an error met in the work: in a command's output, or as the reason why a call failed. None for tools
 * of servers and unknown tools, which return the words of strangers, nor for a command that succeeded and showed some.
 *
 * @param tool that was called
 * @param version of Claude Code
 * @param isText whether a command showed text that others wrote (failed-runs.ts)
 */
export function errorsMet(
  tool: string | undefined,
  { text, isError }: Answer,
  version: string | undefined,
  isText = false,
): string[] {
  const isAbout = isError || (toolKind(tool) === "run" && !isText)
  return isClaudeTool(tool) && isAbout ? namedBy(tool!, { text, isError }, version) : []
}

/** The same for any tool. */
export function namedBy(tool: string, { text, isError }: Answer, version: string | undefined): string[] {
  if (isError && REFUSED.test(text)) return []
  return errorLinesIn(text, isError && !mayBeRefused(tool, text, version))
}

/** Whether an error line states how one of Claude Code's tools wants to be used. */
export const isDemand = (line: string): boolean => DEMAND.test(line)

/**
 * Whether a human may have refused in words of their own (seen in 2.0.5). Only the missing exit status shows it, and
 * such words are not searched for a reason. From 2.1 on these are a hook's words, which come up again while the hook
 * exists.
 */
function mayBeRefused(tool: string, text: string, version: string | undefined): boolean {
  const isTold = exitStatusIn(text) !== undefined || ENDED.test(text)
  return !isTold && isShell(tool) && atLeast(version, TELLS_STATUS) && !atLeast(version, TELLS_REFUSALS)
}
