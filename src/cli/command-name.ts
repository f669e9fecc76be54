/** The command that a word means: its name, another program's name for it, or the beginning of one. Pure. */
import { nearest } from "../util/edit-distance.ts"
import { type CtxError, usageError } from "../util/errors.ts"
import { ALIASES, PLUMBING } from "./command-groups.ts"

const LISTED = "ctxbridge --help lists them"

/**
 * @param names of all commands
 * @throws CtxError exit 64 if it means none, or several
 */
export function commandMeant(word: string, names: readonly string[]): string {
  if (names.includes(word)) return word
  if (Object.hasOwn(ALIASES, word)) return ALIASES[word]!
  if (word.startsWith("-")) throw usageError(`no command before ${word}`, LISTED)
  const begun = names.filter((name) => word.length > 1 && name.startsWith(word) && !PLUMBING.includes(name))
  if (begun.length === 1) return begun[0]!
  throw begun.length > 1 ? ambiguous(word, begun) : unknown(word, names)
}

const ambiguous = (word: string, begun: readonly string[]): CtxError =>
  usageError(`${word} could be ${begun.slice(0, -1).join(", ")} or ${begun.at(-1)}`, "type one more letter")

function unknown(word: string, names: readonly string[]): CtxError {
  const near = nearest(word, names, 2)
  return usageError(`unknown command: ${word}`, near === undefined ? LISTED : `did you mean ${near}?`)
}
