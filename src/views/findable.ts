/** Which parts of a message it can be found by: neither what our own tools found, nor what was given back. */

import { isGivenBack } from "../record/our-marks.ts"
import type { Part } from "../record/types.ts"
import { isOwnTool } from "./tool-rows.ts"

/** @param toolOf the tool that a part calls, or that answers with it */
export const findable = (parts: readonly Part[], toolOf: (part: Part) => string | undefined): Part[] =>
  parts.filter((part) => !isOwnTool(toolOf(part)) && !isGivenBack(part))
