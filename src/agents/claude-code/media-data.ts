/** The bytes of a line's images and documents, which records leave out. */
import { isObject, objectOf, stringOf } from "../../transcript/json.ts"

/** A limit to how deeply a line is searched: an image is in a message, or in a result in it. */
const DEPTH = 6

/** As base64, in the line's order. The same bytes may be there twice: in the message, and in the tool's own result. */
export function mediaData(line: string): string[] {
  // Most lines have none, and may be long.
  if (!line.includes('"base64"')) return []
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? [...within(value["message"], 0), ...within(value["data"], 0)] : []
  } catch {
    return []
  }
}

function* within(value: unknown, depth: number): Generator<string> {
  if (depth > DEPTH || typeof value !== "object" || value === null) return
  if (isObject(value) && (value["type"] === "image" || value["type"] === "document")) {
    const data = stringOf(objectOf(value["source"])["data"])
    if (data !== undefined) yield data
    return
  }
  for (const inner of Object.values(value)) yield* within(inner, depth + 1)
}
