/**
 * Finds out whether text that a hook gave at a session's start has reached the conversation, from the lines that Claude
 * Code has written since.
 *
 * Versions from 2.1.112 on write each hook's context as a line of its own, together with a compaction's other lines,
 * but not always before the answer that follows (a terminal's automatic compaction). So a missing line proves something
 * only if more was said after the compaction's lines or after an interrupted turn, if a whole turn follows, or if
 * Claude Code itself says that the hook failed.
 */

import { type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { linesWith } from "../record/lines-with.ts"
import { MARK, RECALL } from "../record/our-marks.ts"
import { COMPACTION_SUMMARY, isCompactionSummary, textsOf } from "./content.ts"
import { atLeast, TELLS_CONTEXT } from "./versions.ts"

/** `open`: the lines that would tell are not there yet. `unknown`: this version does not tell. */
export type Outcome = "arrived" | "lost" | "unknown" | "open"

/** With these, Claude Code shows only to the user or to us that a hook has run. */
const SUCCEEDED = new Set(["hook_success", "hook_additional_context", "hook_system_message"])
const OUR_HOOK = " hook session-start"
/** Marks a turn that the user stopped. Like a compaction's other lines, it comes before what is said next. */
const INTERRUPT = "[Request interrupted by user"
/** Beginning of Claude Code's own lines, which come among a compaction's. */
const CLAUDES = /^\s*(?:<|Caveat:)/

/**
 * @param content whole lines, from where the transcript ended when the text was given
 * @param given when that was, in ms since the epoch
 */
export function outcomeIn(content: Uint8Array, given: number): Outcome {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const isRestore = (text: string): boolean => !text.includes(RECALL)
  if (linesWith(bytes, MARK).some(({ line }) => contextsIn(line).some(isRestore))) return "arrived"
  const failure = linesWith(bytes, '"hook_').find(({ line }) => isFailure(line) && isSince(line, given))
  const proof = failure?.line ?? saidBehind(bytes, given) ?? turnBehind(bytes, given)
  if (proof === undefined) return "open"
  return atLeast(stringOf(proof["version"]), TELLS_CONTEXT) ? "lost" : "unknown"
}

/** Our texts that this line brings into the conversation. */
export function contextsIn(line: JsonObject): string[] {
  const attachment = objectOf(line["attachment"])
  if (line["type"] !== "attachment" || attachment["type"] !== "hook_additional_context") return []
  return textsOf(attachment["content"]).filter((text) => text.includes(MARK))
}

/** Whether Claude Code stopped our hook or rejected its answer. */
function isFailure(line: JsonObject): boolean {
  const { type, hookEvent, command } = objectOf(line["attachment"])
  if (line["type"] !== "attachment" || hookEvent !== "SessionStart") return false
  if (typeof type !== "string" || SUCCEEDED.has(type)) return false
  return typeof command === "string" && command.includes(OUR_HOOK)
}

/** The first words of the human or the model after all that Claude Code writes together with the restore. */
function saidBehind(bytes: Buffer, given: number): JsonObject | undefined {
  const summary = linesWith(bytes, COMPACTION_SUMMARY).find(({ line }) => isCompactionSummary(line))
  const before = summary ?? linesWith(bytes, INTERRUPT).find(({ line }) => isSaid(line, given))
  if (before === undefined) return undefined
  const rest = bytes.subarray(before.end)
  for (const words of ['"assistant"', '"user"'])
    for (const { line } of linesWith(rest, words)) if (isSaid(line, given)) return line
  return undefined
}

/**
 * Whether it was said in the conversation itself since then, so neither kept by a compaction nor written by Claude
 * Code.
 */
function isSaid(line: JsonObject, given: number): boolean {
  const { type, isSidechain, isMeta, message } = line
  if ((type !== "user" && type !== "assistant") || isSidechain === true || isMeta === true) return false
  if (isCompactionSummary(line) || !isSince(line, given)) return false
  return type === "assistant" || !textsOf(objectOf(message)["content"]).some((text) => CLAUDES.test(text))
}

/** The first answer since then, if the end of its turn is there as well. */
function turnBehind(bytes: Buffer, given: number): JsonObject | undefined {
  const end = [...linesWith(bytes, '"stop_hook_summary"')].findLast(
    ({ line }) =>
      line["subtype"] === "stop_hook_summary" && line["isSidechain"] !== true && isSince(line, given),
  )
  if (end === undefined) return undefined
  const ended = timeOf(end.line)
  return linesWith(bytes, '"assistant"').find(
    ({ line }) =>
      line["type"] === "assistant" &&
      line["isSidechain"] !== true &&
      isSince(line, given) &&
      timeOf(line) <= ended,
  )?.line
}

const isSince = (line: JsonObject, given: number): boolean => timeOf(line) >= given

/** ms since the epoch; 0 for a line without a time. */
const timeOf = (line: JsonObject): number => Date.parse(stringOf(line["timestamp"]) ?? "") || 0
