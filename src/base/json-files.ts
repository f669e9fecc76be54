/** JSON that may not be any, and small files of it. */
import { tryTo, writeWhole } from "./files.ts"
import { existsSync, readdirSync, readFileSync, renameSync, unlinkSync } from "./fs.ts"

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

/** JSON with remarks, and commas behind the last of a list → JSON, with everything where it was. */
export const plainJson = (text: string): string =>
  text
    .replace(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/|^\uFEFF/g, blanked)
    .replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, blanked)

const blanked = (piece: string): string => (piece.startsWith('"') ? piece : piece.replace(/[^\r\n]/g, " "))

/*
 * Small JSON files that several processes write, read and remove. None is ever seen half: each is written whole, and
 * taken by renaming. What somebody else has just removed counts as never having been there.
 */

/** Name of a file about something that may have any name. */
export const hashName = (key: string): string => Bun.hash.xxHash64(key, 0n).toString(16)

/** @returns undefined if there is no such file, or none that we can read, or no JSON in it */
export function readJson(file: string): unknown {
  // Checked first, because an error costs six times as much.
  const text = existsSync(file) ? tryTo(() => readFileSync(file, "utf8")) : undefined
  return text === undefined ? undefined : parseJson(text)
}

export const writeJson = (file: string, value: unknown): void => writeWhole(file, JSON.stringify(value))

/** @returns false if it is gone, or the disk cannot be written */
export const takeFile = (file: string, taken: string): boolean =>
  tryTo(() => {
    renameSync(file, taken)
    return true
  }) ?? false

/** Removes a file whose work is done. If the disk cannot be written, the work is done again, which changes nothing. */
export const dropFile = (file: string): void => {
  tryTo(() => unlinkSync(file))
}

/**
 * Names in a folder, in no particular order.
 *
 * @param isNone whether an error means that there are none
 */
export function fileNamesIn(folder: string, isNone: (error: unknown) => boolean = () => true): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isNone(error)) return []
    throw error
  }
}
