/**
 * What Claude Code adds to each of its requests (`CLAUDE_CODE_EXTRA_BODY`, a JSON object), with the edit of ours: old
 * results of tools are cleared by the API before the model sees them. Whatever else is in it stays as it is written.
 *
 * It takes the place of Claude Code's own `context_management`, which only keeps all thinking. We do not repeat that:
 * the value goes into every request, and the API refuses that edit in those without thinking (docs/adr/0025).
 *
 * Text in, text out. Pure.
 */

import { CtxError, isCtxError } from "../../util/errors.ts"
import { inserted, type JsonNode, rewritten, without } from "../../util/json-style.ts"
import { hasSiblings, isBlankJson, keyOf, member, parseObject, shapeError } from "../../util/json-text.ts"

const MANAGEMENT = "context_management"
const CLEAR_RESULTS = "clear_tool_uses_20250919"

export interface ClearingWish {
  /** Tokens of a request from which on results are cleared. */
  readonly trigger: number
  /** The latest results that stay. */
  readonly keep: number
  /** Tokens that a clearing must save: each costs the API's cache from there on. */
  readonly atLeast: number
}

const editFor = ({ trigger, keep, atLeast }: ClearingWish): object => ({
  type: CLEAR_RESULTS,
  trigger: { type: "input_tokens", value: trigger },
  keep: { type: "tool_uses", value: keep },
  clear_at_least: { type: "input_tokens", value: atLeast },
})

/** The value with our edit behind those that are there, or in the place of one of the same type. */
export function withClearing(value: string, wish: ClearingWish): string {
  const edit = editFor(wish)
  if (isBlankJson(value)) return JSON.stringify({ [MANAGEMENT]: { edits: [edit] } })
  const root = parse(value)
  const management = member(root, MANAGEMENT)
  if (management === undefined) return inserted(value, root, MANAGEMENT, { edits: [edit] })
  const edits = member(management, "edits")
  if (edits === undefined) return inserted(value, management, "edits", [edit])
  const there = clearings(edits)[0]
  if (there === undefined) return inserted(value, edits, undefined, edit)
  const written = JSON.stringify(edit)
  return JSON.stringify(JSON.parse(textOf(value, there))) === written
    ? value
    : rewritten(value, there, written)
}

/**
 * The value without our edit and what was there for it alone; `undefined` if nothing is left.
 *
 * @param former the value before us; undefined if there was none
 */
export function withoutClearing(value: string, former: string | undefined): string | undefined {
  const edits = member(member(parse(value), MANAGEMENT), "edits")
  const [ours] = edits === undefined ? [] : clearings(edits)
  if (ours === undefined) return value
  const before = former === undefined || isBlankJson(former) ? undefined : parse(former)
  const listed = member(member(before, MANAGEMENT), "edits")
  const list = ours.parent!
  const management = list.parent!.parent!
  const emptied =
    hasSiblings(ours) || listed !== undefined
      ? ours
      : hasSiblings(list.parent!) || member(before, MANAGEMENT) !== undefined
        ? list.parent!
        : management.parent!
  if (emptied === management.parent && !hasSiblings(emptied) && before === undefined) return undefined
  return without(value, emptied)
}

/** Whether results are cleared with this value. Anything that Claude Code cannot read clears nothing. */
export const clearsResults = (value: string | undefined): boolean => clearingKeys(value) !== undefined

/** Whether its clearing has the form that we write, whatever the numbers. */
export const hasOurForm = (value: string): boolean => clearingKeys(value) === OUR_KEYS

const OUR_KEYS = Object.keys(editFor({ trigger: 0, keep: 0, atLeast: 0 })).join()

/** The keys of the clearing that is there. */
function clearingKeys(value: string | undefined): string | undefined {
  try {
    const edits = member(member(parse(value ?? ""), MANAGEMENT), "edits")
    const [clearing] = edits === undefined ? [] : clearings(edits)
    return clearing?.children?.map(keyOf).join()
  } catch (error) {
    if (isCtxError(error)) return undefined
    throw error
  }
}

const clearings = (edits: JsonNode): JsonNode[] =>
  (edits.children ?? []).filter((edit) => member(edit, "type")?.value === CLEAR_RESULTS)

const textOf = (text: string, { offset, length }: JsonNode): string => text.slice(offset, offset + length)

/** @throws CtxError for what Claude Code would not take, or the API refuse */
function parse(value: string): JsonNode {
  const root = parsed(value)
  const management = member(root, MANAGEMENT)
  if (management !== undefined && management.type !== "object")
    throw shapeError(MANAGEMENT, "an object", management)
  const edits = member(management, "edits")
  if (edits !== undefined && edits.type !== "array")
    throw shapeError(`${MANAGEMENT}.edits`, "an array", edits)
  return root
}

function parsed(value: string): JsonNode {
  try {
    return parseObject(value)
  } catch (cause) {
    if (!isCtxError(cause)) throw cause
    throw new CtxError("settings-shape", `env.CLAUDE_CODE_EXTRA_BODY is no JSON object: ${cause.message}`, {
      hint: "nothing was changed; correct or remove it and try again",
      cause,
    })
  }
}
