/** Converts argument values, which the command line leaves as strings. */

import { type CtxError, usageError } from "../base/errors.ts"
import { nearNames } from "../base/text.ts"

type Args = Readonly<Record<string, unknown>>

/** A whole number of at least 1; undefined when the option was not given. */
export function positive(args: Args, name: string): number | undefined {
  const value = args[name]
  if (value === undefined) return undefined
  const number = Number(value)
  if (typeof value === "string" && /^\d{1,9}$/.test(value) && number >= 1) return number
  const problem = `--${name} needs a whole number of at least 1, not ${JSON.stringify(value)}`
  throw usageError(problem, `such as --${name} 10`)
}

export const stringArg = (args: Args, name: string): string | undefined => {
  const value = args[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** All words that are not options. */
export const words = (args: Args): readonly string[] => args["_rest"] as readonly string[]

/**
 * One of these words, in upper or lower case; undefined when the option was not given.
 *
 * @param also other words that are understood, with what they mean
 */
export function oneOf<T extends string>(
  args: Args,
  name: string,
  choices: readonly T[],
  also: Readonly<Record<string, T>> = {},
): T | undefined {
  const value = stringArg(args, name)?.toLowerCase()
  if (value === undefined) return undefined
  const found =
    choices.find((choice) => choice === value) ?? (Object.hasOwn(also, value) ? also[value] : undefined)
  if (found !== undefined) return found
  const [near] = nearNames(value, choices, 1)
  throw usageError(
    `--${name} must be one of ${choices.join(", ")}, not ${JSON.stringify(args[name])}`,
    near === undefined ? `such as --${name} ${choices[0]}` : `did you mean --${name} ${near}?`,
  )
}

/** Of a word that is none of those that can stand there. */
export function unknownWord(what: string, word: string, choices: readonly string[]): CtxError {
  const [near] = nearNames(word, choices, 1)
  const all = choices.length === 1 ? `it can only be ${choices[0]}` : `one of ${choices.join(", ")}`
  const more = choices.length === 1 ? "" : ` It is ${all}`
  return usageError(`unknown ${what}: ${word}`, near === undefined ? all : `did you mean ${near}?${more}`)
}
