/** Variables of the design documents that ask for what this version does not have. Pure. */

/** By what they ask for. */
const ASKS: Readonly<Record<string, readonly string[]>> = {
  "pruning Claude Code's context": ["KEEP", "THRESHOLD", "MAX_CHARS"].map(
    (end) => `CLAUDE_TEXT_PRUNE_${end}`,
  ),
  "blocking a compaction": ["CLAUDE_FLOW_BLOCK_COMPACTION"],
  "another database": ["CLAUDE_MEMORY_DB"],
  "debug output": ["RUFLO_DEBUG"],
}

interface Unused {
  readonly name: string
  /** What it asks for. */
  readonly asks: string
}

/** @param set names of variables; values are never looked at */
export function unusedVariables(set: readonly string[]): Unused[] {
  const asks = new Map(Object.entries(ASKS).flatMap(([what, names]) => names.map((name) => [name, what])))
  return set.flatMap((name) => {
    const what = asks.get(name)
    return what === undefined ? [] : [{ name, asks: what }]
  })
}
