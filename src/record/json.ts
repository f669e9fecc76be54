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
