/** Guards for values from JSON.parse: nothing in a transcript's line is guaranteed to have a type. */

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** `value` as an object, so that fields of something absent or mistyped read as absent. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** `value` if it is a string and not empty. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

export const listedStrings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : []

export function isBlank(text: string): boolean {
  return text.trim() === ""
}

/** JSON.parse of a transcript's line without exceptions. Makes all strings well-formed and free of NUL. */
export function parseLine(line: string): unknown {
  try {
    const text = (line.charCodeAt(0) === 0xfeff ? line.slice(1) : line).toWellFormed()
    return needsCleaning(text) ? JSON.parse(text, cleaned) : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Agents escape only characters that need it, so these escapes are rare, and so is the slow path. */
function needsCleaning(text: string): boolean {
  return text.includes("\\u") && (text.includes("\\u0000") || text.includes("\\ud") || text.includes("\\uD"))
}

function cleaned(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value
}

/**
 * JSON.stringify of what JSON.parse has made, which can be nested deeper than JSON.stringify gets: that throws beyond some
 * 40,000 levels, and takes seconds for 30,000.
 */
export const jsonText = (value: unknown): string =>
  isDeeper(value, DEEP) ? deepJson(value) : JSON.stringify(value)

/** Levels that nobody means. */
const DEEP = 1000

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1)))

function deepJson(whole: unknown): string {
  const written: string[] = []
  /** What is still to be written, last first: values, and the marks between them. */
  const left: (string | { readonly value: unknown })[] = [{ value: whole }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === "string") {
      written.push(next)
      continue
    }
    const { value } = next
    if (typeof value !== "object" || value === null) {
      written.push(JSON.stringify(value) ?? "null")
      continue
    }
    const isList = Array.isArray(value)
    const fields = Object.entries(value).filter(([, one]) => isList || one !== undefined)
    left.push(isList ? "]" : "}")
    for (const [name, one] of fields.toReversed())
      left.push({ value: one }, isList ? "," : `,${JSON.stringify(name)}:`)
    // No comma before the first.
    const first = fields.length === 0 ? "" : (left.pop() as string).slice(1)
    left.push((isList ? "[" : "{") + first)
  }
  return written.join("")
}
