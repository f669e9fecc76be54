/** What a call that wrote or edited a file did to it, as far as one line tells. Pure. */
import { isObject, objectOf, stringOf } from "../record/json.ts"
import { toolKind } from "./tool-kinds.ts"

/** Lines written, or one line as it was added or removed. */
export type FileChange =
  | { readonly written: number }
  | { readonly added: string }
  | { readonly removed: string }

/** Lines that say nothing of a change: marks of a conflict, words that only belong to a block. */
const NOTHING = /^(?:[<=>]{7}|(?:else|try|end|return)\b[^\p{L}]*$)/u
/** Lines that say little: comments, quotes, what is imported. */
const LITTLE =
  /^(?:\/\/|\/\*|\*|<!--|["'`]{3}|["'][\w./@-]+["'][,;]?$|(?:import|from|use|using|package|#include)\b)/
const SAYS_SOMETHING = /\p{L}{2}/u

export function fileChange(tool: string, input: unknown): FileChange | undefined {
  const fields = objectOf(input)
  const content = stringOf(fields["content"])
  if (toolKind(tool) === "write")
    return content === undefined ? undefined : { written: linesOf(content).length }
  const edits = Array.isArray(fields["edits"]) ? fields["edits"].filter(isObject) : [fields]
  return edits
    .toReversed()
    .map((edit) =>
      edited(stringOf(edit["old_string"]) ?? "", stringOf(edit["new_string"] ?? edit["new_source"]) ?? ""),
    )
    .find((change) => change !== undefined)
}

function edited(before: string, after: string): FileChange | undefined {
  const [old, now] = [linesOf(before), linesOf(after)]
  const added = telling(now.filter((line) => !old.includes(line)))
  if (added !== undefined) return { added }
  const removed = telling(old.filter((line) => !now.includes(line)))
  return removed === undefined ? undefined : { removed }
}

function telling(lines: readonly string[]): string | undefined {
  const some = lines.filter((line) => SAYS_SOMETHING.test(line) && !NOTHING.test(line))
  return some.find((line) => !LITTLE.test(line)) ?? some[0]
}

/** Without white space at the edges, and without a last line that is empty. */
const linesOf = (text: string): string[] =>
  text === ""
    ? []
    : text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => line.trim())
