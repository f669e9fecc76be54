/** Asks the person at the terminal a question. */
import { writeSync } from "node:fs"
import { isatty } from "node:tty"

const STDIN = 0
const STDOUT = 1

/** True if they just press enter, false if they close the input; undefined if nobody is there to answer. */
export function ask(question: string): boolean | undefined {
  // Not `isTerminal`, which is also true for /dev/null, where nobody would see the question.
  if (!isatty(STDIN) || !isatty(STDOUT)) return undefined
  const answer = prompt(question, "yes")
  // Nobody has pressed enter, so the cursor is still behind the question.
  if (answer === null) writeSync(STDOUT, "\n")
  return /^\s*y/i.test(answer ?? "no")
}
