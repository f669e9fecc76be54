/** Images, documents and sounds: which blocks are some, and their bytes, which records leave out. */
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"

const MEDIA: readonly unknown[] = ["image", "document", "audio"]

export const isMedia = (block: JsonObject): boolean =>
  MEDIA.includes(block["type"]) || stringOf(objectOf(block["resource"])["blob"]) !== undefined

/** A block's media type and base64: in a `source`, as the API has it, or as servers of tools write it. */
export function mediaIn(block: JsonObject): { readonly type?: string; readonly data?: string } {
  const source = objectOf(block["source"])
  const resource = objectOf(block["resource"])
  const type = stringOf(source["media_type"]) ?? stringOf(block["mimeType"]) ?? stringOf(resource["mimeType"])
  const data = stringOf(source["data"]) ?? stringOf(block["data"]) ?? stringOf(resource["blob"])
  return { ...(type === undefined ? {} : { type }), ...(data === undefined ? {} : { data }) }
}

/** A limit to how deeply a line is searched: an image is in a message, or in a result in it. */
const DEPTH = 6
/** Words that lines with media have. Most lines have none, and may be long. */
const HINTS = ['"base64"', '"audio"', '"image"', '"blob"']

/** As base64, in the line's order. The same bytes may be there twice: in the message, and in the tool's own result. */
export function mediaData(line: string): string[] {
  if (!HINTS.some((hint) => line.includes(hint))) return []
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? [...within(value["message"], 0), ...within(value["data"], 0)] : []
  } catch {
    return []
  }
}

function* within(value: unknown, depth: number): Generator<string> {
  if (depth > DEPTH || typeof value !== "object" || value === null) return
  if (isObject(value) && isMedia(value)) {
    const { data } = mediaIn(value)
    if (data !== undefined) yield data
    return
  }
  for (const inner of Object.values(value)) yield* within(inner, depth + 1)
}
