/**
 * `ctxbridge __complete <kind> [beginning]`: names that a shell can offer, one a line, each with a tab and what it is.
 * Silent whatever happens: somebody is typing.
 */

import { currentFolder } from "../../base/path.ts"
import { resolvePlaces } from "../../config/load.ts"
import type { NameKind } from "../command.ts"
import { offeredNames } from "../offered-names.ts"
import { writeOut } from "../output.ts"
import { safe } from "../style.ts"

const KINDS: readonly NameKind[] = ["session", "turn", "tool", "option", "tag", "project"]

export function runComplete([kind, begun = ""]: readonly string[]): void {
  const wanted = KINDS.find((one) => one === kind)
  if (wanted === undefined) return
  try {
    const found = offeredNames(resolvePlaces().dataHome, currentFolder(), wanted, begun)
    // A name of several lines, or with a tab, could not be told from two.
    const lines = found
      .filter(({ name }) => !/[\s\p{Cc}]/u.test(name))
      .map(({ name, about }) => `${safe(name)}\t${about}\n`)
    writeOut(lines.join(""))
  } catch {
    // No archive, or one in use: nothing to offer.
  }
}
