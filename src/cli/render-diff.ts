/** What a call changed in files, as coloured lines. Pure. */
import type { DiffLine } from "../read/edit-diff.ts"
import { type Style, safe } from "./style.ts"

/** Hunks are separated by a line of dots, since their place in the file is not known. */
export const diffLines = (hunks: readonly (readonly DiffLine[])[], style: Style): string[] =>
  hunks.flatMap((hunk, n) => [
    ...(n > 0 ? [style.dim("  ⋮")] : []),
    ...hunk.map((line) => colored(line, style)),
  ])

function colored({ mark, text }: DiffLine, style: Style): string {
  const line = safe(`${mark} ${text}`).replaceAll("\n", " ")
  if (mark === " ") return style.dim(line)
  return mark === "+" ? style.green(line) : style.red(line)
}
