/** How a turn is named that is kept elsewhere: by the beginning of its entry's id. Pure. */

const PREFIX = "far:"
/** Digits of the id: enough that no two are alike. */
const DIGITS = 16

export const farHandle = (id: string): string => PREFIX + id.slice(0, DIGITS)

/** @returns the digits of a handle as it was copied from a sentence, maybe with a place in the turn; undefined: none */
export const farId = (typed: string): string | undefined =>
  /^["'`([<\s]*far:\s*([0-9a-f]{16,64})(?:@[-\d]*)?["'`)\]>.,;:\s]*$/i.exec(typed)?.[1]?.toLowerCase()
