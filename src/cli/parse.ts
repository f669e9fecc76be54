/**
 * Words of the command line → a command's arguments. Nothing is passed over: an unknown option, a surplus word and a
 * missing value are errors. Pure.
 */
import { usageError } from "../util/errors.ts"
import type { ArgSpec } from "./command.ts"
import { distance } from "./spelling.ts"

type Specs = Readonly<Record<string, ArgSpec>>

export const endOfFlags = (argv: readonly string[]): readonly string[] => {
  const end = argv.indexOf("--")
  return end < 0 ? argv : argv.slice(0, end)
}

/**
 * @returns values by the names in `specs`; all words that are no options as `_rest`
 * @throws CtxError exit 64
 */
export function parseArguments(
  argv: readonly string[],
  specs: Specs,
  command: string,
): Record<string, unknown> {
  const help = `ctxbridge ${command} --help`
  const { values, words } = read(argv, specs, command)
  const places = Object.entries(specs).filter(([, { type }]) => type === "positional")
  if (words.length > places.length && !places.some(([, { rest }]) => rest)) {
    throw usageError(`unexpected argument: ${words[places.length]}`, help)
  }
  for (const [n, [name, { required, default: otherwise }]] of places.entries()) {
    const value = words[n] ?? otherwise
    if (value === undefined && required === true) {
      throw usageError(`${name.toUpperCase()} is missing`, help)
    }
    if (value !== undefined) values[name] = value
  }
  for (const [name, { type, default: otherwise }] of Object.entries(specs)) {
    if (type !== "positional" && values[name] === undefined && otherwise !== undefined)
      values[name] = otherwise
  }
  return { ...values, _rest: words }
}

function read(argv: readonly string[], specs: Specs, command: string) {
  const flags = flagsOf(specs)
  const flagged = endOfFlags(argv)
  const values: Record<string, unknown> = {}
  const words: string[] = []
  for (let n = 0; n < flagged.length; n++) {
    const word = flagged[n]!
    if (!word.startsWith("-") || word === "-") {
      words.push(word)
      continue
    }
    const [flag, value] = splitOnce(word, "=")
    const known = flags.get(flag)
    if (known === undefined)
      throw usageError(
        `unknown option: ${flag}`,
        /[a-z]/i.test(flag)
          ? suggestion(flag, [...flags.keys()], command)
          : "put -- before what begins with a dash and is not an option",
      )
    const [name, { type }] = known
    if (type === "boolean") {
      if (value !== undefined) throw usageError(`${flag} takes no value`)
      values[name] = true
      continue
    }
    const next = value ?? flagged[++n]
    // An empty one is a variable that was never set: without it the command would do more than was meant.
    if (next === undefined || next === "" || (value === undefined && next.startsWith("--"))) {
      throw usageError(`${flag} needs a value`)
    }
    values[name] = next
  }
  return { values, words: [...words, ...argv.slice(flagged.length + 1)] }
}

/** By what is typed: `--name`, `-n`. */
function flagsOf(specs: Specs): Map<string, readonly [name: string, spec: ArgSpec]> {
  const flags = new Map<string, readonly [string, ArgSpec]>()
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.type === "positional") continue
    flags.set(`--${name}`, [name, spec])
    if (spec.alias !== undefined) flags.set(`-${spec.alias}`, [name, spec])
  }
  return flags
}

function splitOnce(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + mark.length)]
}

function suggestion(name: string, known: readonly string[], command: string): string {
  const near = known.find((one) => distance(one, name) <= 2)
  return near === undefined ? `ctxbridge ${command} --help lists them` : `did you mean ${near}?`
}
