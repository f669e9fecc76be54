/** The host's own summary of a compaction, in the transcript. */
import { type JsonObject, objectOf } from "../record/json.ts"
import { linesWith } from "../record/lines-with.ts"
import { textsOf } from "./content.ts"

/** A word that its line contains. */
export const SUMMARY = '"isCompactSummary"'

export const isSummary = (line: JsonObject): boolean => line["isCompactSummary"] === true

/**
 * The first summary of the conversation itself.
 *
 * @param content whole lines, with perhaps part of one at the end
 */
export function summaryIn(content: Uint8Array): string {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const found = linesWith(bytes, SUMMARY).find(({ line }) => isSummary(line) && line["isSidechain"] !== true)
  return textsOf(objectOf(found?.line["message"])["content"]).join("\n")
}
