/** Asks the person at the terminal: before something is deleted for good, or whether something should be done. */
import { readSync, writeSync } from "node:fs"
import { isatty } from "node:tty"
import { usageError } from "../util/errors.ts"
import { type Context, flag } from "./command.ts"

export const YES_ARG = { yes: flag("Do not ask", "y") } as const

const STDIN = 0
const STDOUT = 1
const STDERR = 2
const LONGEST_ANSWER = 64

/**
 * @returns whether the person agrees
 * @throws CtxError exit 64 if nobody can be asked
 */
export function confirmed({ args, out }: Context, question: string): boolean {
  if (args["yes"] === true) return true
  if (out.wantsJson || !isatty(STDIN) || !isatty(STDERR)) {
    throw usageError(
      "this cannot be undone, and there is no terminal to ask at",
      "--dry-run shows what would go, --yes goes ahead",
    )
  }
  out.flush()
  writeSync(STDERR, `${question} [y/N] `)
  const answer = new Uint8Array(LONGEST_ANSWER)
  const length = readSync(STDIN, answer)
  const isYes = /^\s*y(es)?\s*$/i.test(new TextDecoder().decode(answer.subarray(0, length)))
  if (!isYes) out.print("Nothing was changed")
  return isYes
}

/** True if they just press enter, false if they close the input; undefined if nobody is there to answer. */
export function ask(question: string): boolean | undefined {
  // Not `isTerminal`, which is also true for /dev/null, where nobody would see the question.
  if (!isatty(STDIN) || !isatty(STDOUT)) return undefined
  const answer = prompt(question, "yes")
  // Nobody has pressed enter, so the cursor is still behind the question.
  if (answer === null) writeSync(STDOUT, "\n")
  return /^\s*y/i.test(answer ?? "no")
}
