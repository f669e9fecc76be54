/** What can be typed, derived from the table of commands. */
import { type ArgSpec, argsOf, type Command, type NameKind } from "../command.ts"
import { ALIASES } from "../commands.ts"

/** What can be typed in one place: one of these words, a file, a name that the binary knows, or anything. */
export interface Values {
  readonly choices: readonly string[]
  readonly files: boolean
  readonly names?: NameKind
}

export interface OptionModel {
  /** Without its dashes. */
  readonly name: string
  readonly alias: string | undefined
  readonly description: string
  /** undefined for a flag. */
  readonly values: Values | undefined
  /** What help shows for the value. */
  readonly hint: string | undefined
}

export interface PlaceModel {
  readonly name: string
  readonly description: string
  readonly values: Values
  /** Whether it takes all remaining words. */
  readonly rest: boolean
}

export interface CommandModel {
  readonly name: string
  /** Its name, and others that mean the same. */
  readonly words: readonly string[]
  readonly description: string
  readonly options: readonly OptionModel[]
  readonly places: readonly PlaceModel[]
}

export function commandModels(commands: readonly Command[]): CommandModel[] {
  return commands
    .filter(({ meta }) => !meta.hidden)
    .map((command) => {
      const { meta } = command
      const entries = Object.entries(argsOf(command))
      return {
        name: meta.name,
        words: [meta.name, ...aliasesOf(meta.name)],
        description: meta.description,
        options: entries.filter(([, spec]) => spec.type !== "positional").map(option),
        places: entries
          .filter(([, spec]) => spec.type === "positional")
          .map(([name, spec]) => ({
            name,
            description: spec.description,
            values: valuesOf(spec),
            rest: spec.rest === true,
          })),
      }
    })
}

const aliasesOf = (command: string): string[] =>
  Object.keys(ALIASES).filter((alias) => ALIASES[alias]!.split(" ")[0] === command)

const option = ([name, spec]: [string, ArgSpec]): OptionModel => ({
  name,
  alias: spec.alias,
  description: spec.description,
  values: spec.type === "string" ? valuesOf(spec) : undefined,
  hint: spec.type === "string" ? (spec.valueHint ?? name.toUpperCase()) : undefined,
})

/**
 * Hints like `user|project|local` and `hooks` list choices; `PATH`, `FILE` and `DIR` are files; others accept anything.
 */
function valuesOf({ valueHint = "", names }: ArgSpec): Values {
  if (names !== undefined) return { choices: [], files: false, names }
  if (/^(PATH|FILE|DIR)/.test(valueHint)) return { choices: [], files: true }
  return { choices: /^[a-z]/.test(valueHint) ? valueHint.split("|") : [], files: false }
}
