/** Variables of the design documents that ask for what this version does not have. Pure. */

/** By what they ask for. */
const ASKS: Readonly<Record<string, readonly string[]>> = {
  "learning what is used": ["CLAUDE_FLOW_AUTO_OPTIMIZE"],
  "deleting by age": ["CLAUDE_FLOW_RETENTION_DAYS"],
  PostgreSQL: ["HOST", "PORT", "DATABASE", "USER", "PASSWORD", "SSL", "SSLMODE"].map(
    (end) => `RUVECTOR_${end}`,
  ),
  "pruning Claude Code's context": ["KEEP", "THRESHOLD", "MAX_CHARS"].map(
    (end) => `CLAUDE_TEXT_PRUNE_${end}`,
  ),
  "blocking a compaction": ["CLAUDE_FLOW_BLOCK_COMPACTION"],
  "another database": ["CLAUDE_MEMORY_DB"],
  "debug output": ["RUFLO_DEBUG"],
}

/** libpq's, which other programs use. */
const POSTGRES = ["PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGSSLMODE"]

interface Unused {
  readonly name: string
  /** What it asks for. */
  readonly asks: string
  /** Whether it may be meant for other programs. */
  readonly shared: boolean
}

/** @param set names of variables; values are never looked at, since one is a password */
export function unusedVariables(set: readonly string[]): Unused[] {
  const asks = new Map(Object.entries(ASKS).flatMap(([what, names]) => names.map((name) => [name, what])))
  return set.flatMap((name) => {
    const shared = POSTGRES.includes(name)
    const what = shared ? "PostgreSQL" : asks.get(name)
    return what === undefined ? [] : [{ name, asks: what, shared }]
  })
}
