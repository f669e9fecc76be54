/** The host's own summary of a compaction, as it stands in the transcript. */
import { textsOf } from "./content.ts"
import { type JsonObject, objectOf } from "./json.ts"
import { linesWith } from "./lines-with.ts"

/** The words that its line has. */
export const SUMMARY = '"isCompactSummary":true'

export const isSummary = (line: JsonObject): boolean => line["isCompactSummary"] === true

/**
 * The first one.
 *
 * @param content whole lines, and maybe a part of one at the end
 */
export function summaryIn(content: Uint8Array): string {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const found = linesWith(bytes, SUMMARY).find(({ line }) => isSummary(line) && line["isSidechain"] !== true)
  return textsOf(objectOf(found?.line["message"])["content"]).join("\n")
}
