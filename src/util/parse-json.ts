/** JSON that may not be any. Pure. */

/** @returns undefined for what is no JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The values of a text with one on each line; half a line that a killed process has left is passed over. */
export const parseLines = (text: string): unknown[] =>
  text
    .split("\n")
    .map(parseJson)
    .filter((value) => value !== undefined)
