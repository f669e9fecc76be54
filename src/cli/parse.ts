/**
 * Parses the words of the command line into a command's arguments. Nothing is ignored: unknown options, surplus words
 * and missing values are errors. Pure.
 */
import { nearest } from "../util/edit-distance.ts"
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import type { ArgSpec } from "./command.ts"

type Specs = Readonly<Record<string, ArgSpec>>

export const endOfFlags = (argv: readonly string[]): readonly string[] => {
  const end = argv.indexOf("--")
  return end < 0 ? argv : argv.slice(0, end)
}

/**
 * @returns values by the names in `specs`, and all words that are not options as `_rest`
 * @throws CtxError exit 64
 */
export function parseArguments(
  argv: readonly string[],
  specs: Specs,
  command: string,
): Record<string, unknown> {
  const help = `ctxbridge ${command} --help`
  const { values, words } = read(argv, specs, command)
  let places = 0
  let takesAll = false
  let missing: string | undefined
  // A single plain loop: each command runs it just once, cold.
  for (const name in specs) {
    const { type, required, rest, default: otherwise } = specs[name]!
    if (type === "positional") {
      const word = words[places++]
      if (word !== undefined) values[name] = word
      takesAll ||= rest === true
    }
    if (values[name] !== undefined) continue
    if (otherwise !== undefined) values[name] = otherwise
    else if (type === "positional" && required === true) missing ??= name
  }
  const surplus = takesAll ? undefined : words[places]
  if (surplus !== undefined) {
    // Other commands take a session without an option.
    const hasSession = places === 0 && specs["session"] !== undefined
    const hint = hasSession ? `did you mean --session ${surplus}?` : help
    throw usageError(`unexpected argument: ${surplus}`, hint)
  }
  if (missing !== undefined) throw missingArgument(missing, specs[missing]!, help)
  values["_rest"] = words
  return values
}

/** Code of the error for an argument that is not there, whose choices only the archive knows. */
export const MISSING_NAME = "missing-name"

function missingArgument(name: string, { valueHint = "", names }: ArgSpec, help: string): CtxError {
  const message = `${name.toUpperCase()} is missing`
  if (names !== undefined) return new CtxError(MISSING_NAME, message, { hint: help, exit: EXIT.usage })
  const choices = /^[a-z]/.test(valueHint) ? `one of ${valueHint.split("|").join(", ")}` : undefined
  return usageError(message, choices ?? help)
}

function read(argv: readonly string[], specs: Specs, command: string) {
  const flagged = endOfFlags(argv)
  const values: Record<string, unknown> = {}
  const words: string[] = []
  for (let n = 0; n < flagged.length; n++) {
    const word = flagged[n]!
    if (!word.startsWith("-") || word === "-") {
      words.push(word)
      continue
    }
    const [flag, value] = splitFlag(word, specs)
    const name = nameOf(flag, specs)
    if (name === undefined) throw unknown(flag, specs, command)
    if (specs[name]!.type === "boolean") {
      if (value !== undefined) throw usageError(`${flag} takes no value`, `${flag} alone`)
      values[name] = true
      continue
    }
    const next = value ?? flagged[++n]
    // An empty value is probably an unset variable. Ignoring the option would make the command do more than intended.
    const isFlag = value === undefined && next?.startsWith("--") === true
    if (next === undefined || next === "" || isFlag) {
      throw usageError(
        `${flag} needs a value`,
        isFlag
          ? `${flag}=… takes one that begins with --`
          : `${flag} ${specs[name]!.valueHint ?? name.toUpperCase()}`,
      )
    }
    values[name] = next
  }
  return { values, words: [...words, ...argv.slice(flagged.length + 1)] }
}

/** `--name=value`, or `-n5` where `-n` takes a value. */
function splitFlag(word: string, specs: Specs): readonly [flag: string, value: string | undefined] {
  const equals = word.indexOf("=")
  if (equals >= 0) return [word.slice(0, equals), word.slice(equals + 1)]
  const short = word.slice(0, 2)
  const name = word.length > 2 && !word.startsWith("--") ? nameOf(short, specs) : undefined
  return name !== undefined && specs[name]!.type === "string" ? [short, word.slice(2)] : [word, undefined]
}

/** Finds the option typed as `--name` or `-n`. */
function nameOf(flag: string, specs: Specs): string | undefined {
  const name = flag.slice(2)
  if (flag.startsWith("--")) {
    return Object.hasOwn(specs, name) && specs[name]!.type !== "positional" ? name : undefined
  }
  for (const one in specs) if (specs[one]!.alias === flag.slice(1)) return one
  return undefined
}

function unknown(flag: string, specs: Specs, command: string): CtxError {
  const flags = Object.entries(specs).flatMap(([name, { type, alias }]) =>
    type === "positional" ? [] : alias === undefined ? [`--${name}`] : [`--${name}`, `-${alias}`],
  )
  const isWord = /[a-z]/i.test(flag)
  const near = isWord ? nearest(flag, flags, 2) : undefined
  if (near !== undefined) return usageError(`unknown option: ${flag}`, `did you mean ${near}?`)
  const takesWords = Object.values(specs).some(({ rest }) => rest === true)
  const dash = takesWords || !isWord ? "; put -- before words that begin with a dash" : ""
  return usageError(`unknown option: ${flag}`, `ctxbridge ${command} --help lists them${dash}`)
}
