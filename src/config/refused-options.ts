/**
 * What a person is told about options that do not take effect as set. A command refuses to run because of errors in the
 * user's own file or environment, since those values were intended. A project's file comes with `git clone` and stops
 * nobody. Pure.
 */
import type { Settings } from "./load.ts"
import type { Problem } from "./options.ts"

interface Refusal {
  /** One line: option, value, where it is set, what is allowed. */
  readonly message: string
  readonly hint: string
  /** Whether only some of the user's patterns are not used. The others are, so commands go on. */
  readonly goesOn: boolean
}

/** @returns undefined when everything the user set takes effect */
export function refusalOf({ paths, resolved, broken }: Settings): Refusal | undefined {
  const unread = broken.filter((text) => text.startsWith(`${paths.configFile}: `))
  const wrong = resolved.problems.filter(({ origin, isValue }) => isValue && origin !== "project")
  const lines = [
    ...unread.map((text) => `your file cannot be read: ${text}`),
    ...wrong.map((problem) => `${problem.key}: ${problem.message}, ${placeOf(problem, paths.configFile)}`),
  ]
  const [first] = lines
  if (first === undefined) return undefined
  const [option] = wrong
  const only = lines.length === 1 ? option : undefined
  return {
    message: lines.length === 1 ? first : `${first} (and ${lines.length - 1} more)`,
    goesOn: unread.length === 0 && wrong.every(({ key }) => key === "secrets.patterns"),
    hint: `ctxbridge config ${only === undefined ? "list" : `get ${only.key}`} shows what counts instead`,
  }
}

const placeOf = ({ variable }: Problem, file: string): string =>
  variable === undefined ? `in ${file}` : `in the environment: ${variable}`
