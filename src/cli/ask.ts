/** Asks the person at the terminal a question. */
import { isatty } from "node:tty"

const STDIN = 0
const STDOUT = 1

/** True if they just press enter, false if they close the input; undefined if nobody is there to answer. */
export function ask(question: string): boolean | undefined {
  // Not `isTerminal`, which is also true for /dev/null, where nobody would see the question.
  if (!isatty(STDIN) || !isatty(STDOUT)) return undefined
  return /^\s*y/i.test(prompt(question, "yes") ?? "no")
}
