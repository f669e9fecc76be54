/**
 * A tool's arguments, as a model made them up. Read by name, and rejected with a hint if they do not match the
 * description. Pure.
 */

import { usageError } from "../../base/errors.ts"
import { cut } from "../../base/text.ts"
import { ALSO_ROLES } from "../../find/parse-query.ts"

/** The part of JSON Schema that we use. */
export interface Property {
  readonly type: "string" | "integer" | "boolean"
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

export class Arguments {
  readonly #values: ReadonlyMap<string, unknown>

  /** @throws CtxError for an unknown or missing name, or a value of the wrong type or out of range */
  constructor(
    given: unknown,
    properties: Readonly<Record<string, Property>>,
    required: readonly string[] = [],
  ) {
    if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given))) {
      throw usageError("the arguments are not an object", namesOf(properties))
    }
    const values = new Map<string, unknown>()
    for (const [name, value] of Object.entries(given ?? {})) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (property === undefined) throw usageError(`unknown argument: ${shown(name)}`, namesOf(properties))
      // Some models write null for arguments that they omit.
      if (value === null || value === undefined) continue
      const meant = meantBy(value, property)
      check(name, meant, property)
      values.set(name, meant)
    }
    for (const name of required) {
      if (!values.has(name)) throw usageError(`${name} is missing`, properties[name]?.description)
    }
    this.#values = values
  }

  /** The value trimmed; undefined when nothing remains. */
  text(name: string): string | undefined {
    return (this.#values.get(name) as string | undefined)?.trim() || undefined
  }

  number(name: string): number | undefined {
    return this.#values.get(name) as number | undefined
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true
  }
}

/** What a model writes as a string is taken for what it says, and a list of words for the words. */
function meantBy(value: unknown, { type, enum: words }: Property): unknown {
  if (type === "string") {
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(" ")
    if (typeof value === "number") return String(value)
    if (words === undefined || typeof value !== "string") return value
    const word = value.trim().toLowerCase()
    const alias = Object.hasOwn(ALSO_ROLES, word) ? ALSO_ROLES[word]! : word
    return words.includes(alias) ? alias : value
  }
  if (typeof value !== "string") return value
  const text = value.trim().toLowerCase()
  if (type === "integer") return /^-?\d{1,15}(?:\.0+)?$/.test(text) ? Number(text) : value
  return text === "true" ? true : text === "false" ? false : value
}

function check(name: string, value: unknown, { type, enum: words, minimum, maximum }: Property): void {
  const isRight = type === "integer" ? Number.isSafeInteger(value) : typeof value === type
  if (!isRight) throw usageError(`${name} must be ${ARTICLE[type]} ${type}, not ${shown(value)}`)
  if (words !== undefined && !words.includes(value as string)) {
    throw usageError(`${name} cannot be ${shown(value)}`, `one of ${words.join(", ")}`)
  }
  const low = minimum !== undefined && (value as number) < minimum
  const high = maximum !== undefined && (value as number) > maximum
  const range = maximum === undefined ? `at least ${minimum}` : `from ${minimum} to ${maximum}`
  if (low || high) throw usageError(`${name} must be ${range}, not ${value}`)
}

const ARTICLE = { string: "a", boolean: "a", integer: "an" } as const

const LONGEST_SHOWN = 40

/** The beginning of a given value on one line, for an error message. */
const shown = (value: unknown): string => cut(JSON.stringify(value) ?? typeof value, LONGEST_SHOWN)

const namesOf = (properties: Readonly<Record<string, Property>>): string => {
  const names = Object.keys(properties)
  return names.length === 0 ? "it takes no arguments" : `it takes ${names.join(", ")}`
}
