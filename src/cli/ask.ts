/** A question to the person at the terminal. */
import { isatty } from "node:tty"

const STDIN = 0
const STDOUT = 1

/** Yes when they just press enter, no when they go away; undefined where nobody is there to answer. */
export function ask(question: string): boolean | undefined {
  // Not `isTerminal`: a question in /dev/null would wait for an answer all the same.
  if (!isatty(STDIN) || !isatty(STDOUT)) return undefined
  return /^\s*y/i.test(prompt(question, "yes") ?? "no")
}
