/** A question to the person at the terminal. */
import { isatty } from "node:tty"
import { isTerminal } from "./output.ts"

const STDIN = 0

/** Yes when they just press enter, no when they go away; undefined where nobody is there to answer. */
export function ask(question: string): boolean | undefined {
  if (!isatty(STDIN) || !isTerminal()) return undefined
  return /^\s*y/i.test(prompt(question, "yes") ?? "no")
}
