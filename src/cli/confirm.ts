/** Asks the person at the terminal: before something is deleted for good, or whether something should be done. */
import { readSync, writeSync } from "node:fs"
import { isatty } from "node:tty"
import { usageError } from "../base/errors.ts"
import { STDERR, STDIN, STDOUT } from "../base/write-output.ts"
import { type Context, flag, type Output } from "./command.ts"

export const YES_ARG = { yes: flag("Do not ask for confirmation", "y") } as const

const LONGEST_ANSWER = 64

/** Whether somebody can answer what is asked on stderr. */
const canAsk = (out: Output): boolean => !out.wantsJson && isatty(STDIN) && isatty(STDERR)

/**
 * @param grave what needs their leave, for where nobody can be asked
 * @returns whether the person agrees
 * @throws CtxError exit 64 if nobody can be asked
 */
export function confirmed(
  { args, out }: Context,
  question: string,
  grave = "this cannot be undone",
): boolean {
  if (args["yes"] === true) return true
  if (!canAsk(out)) {
    throw usageError(
      `${grave}, and there is no terminal to ask on`,
      "--dry-run shows what would happen, --yes goes ahead",
    )
  }
  out.flush()
  const isYes = /^y(es)?$/i.test(typedAfter(STDERR, `${question} [y/N] `) ?? "")
  if (!isYes) out.print("Nothing was changed")
  return isYes
}

/**
 * Lets the person choose one of several things that were listed on stderr, from 1.
 *
 * @param usual what just pressing enter means; undefined: none of them
 * @returns 0 if none was chosen; undefined if nobody can be asked
 */
export function chosenOf(
  { out }: Context,
  many: number,
  question: string,
  usual?: number,
): number | undefined {
  if (!canAsk(out)) return undefined
  out.flush()
  const typed = typedAfter(STDERR, `${question} [${usual ?? "none"}] `)
  if (typed === "") return usual ?? 0
  const number = /^\d{1,3}$/.test(typed ?? "") ? Number(typed) : 0
  return number <= many ? number : 0
}

/** True if they just press enter, false if they close the input; undefined if nobody is there to answer. */
export function ask(question: string): boolean | undefined {
  // Not `isTerminal`, which is also true for /dev/null, where nobody would see the question.
  if (!isatty(STDIN) || !isatty(STDOUT)) return undefined
  return /^(y|$)/i.test(typedAfter(STDOUT, `${question} [Y/n] `) ?? "no")
}

/** @returns the line that is typed, without blanks around it; undefined if the input is closed instead */
function typedAfter(fd: number, question: string): string | undefined {
  writeSync(fd, question)
  const answer = new Uint8Array(LONGEST_ANSWER)
  const length = readSync(STDIN, answer)
  if (length > 0) return new TextDecoder().decode(answer.subarray(0, length)).trim()
  // Nobody has pressed enter, so the cursor is still behind the question.
  writeSync(fd, "\n")
  return undefined
}
