/** Variables of the design documents that have no effect here, and what to use instead. Pure. */

/** By name. Those that are other names of an option are in the option table. */
const UNUSED: Readonly<Record<string, { readonly asks: string; readonly instead: string }>> = {
  CLAUDE_MEMORY_DB: {
    asks: "another database",
    instead: "CTXBRIDGE_HOME says where the archive is; ctxbridge import FILE takes such a database over",
  },
  RUFLO_DEBUG: { asks: "debug output", instead: "--debug shows an error's stack trace" },
}

/** What says where a server is has an effect only if something says that there is one. */
const OF_SERVER = /^RUVECTOR_(?:PORT|DATABASE|USER|PASSWORD|SSL|SSLMODE|SSLROOTCERT)$/
const NAMES_SERVER = ["RUVECTOR_HOST", "CTXBRIDGE_SYNC_TO", "CTXBRIDGE_BACKEND"]

interface Unused {
  readonly name: string
  /** What it asks for. */
  readonly asks: string
  readonly instead: string
}

/** @param set names of variables; values are never looked at */
export function unusedVariables(set: readonly string[]): Unused[] {
  const hasServer = NAMES_SERVER.some((name) => set.includes(name))
  return set.flatMap((name) => {
    if (Object.hasOwn(UNUSED, name)) return [{ name, ...UNUSED[name]! }]
    if (hasServer || !OF_SERVER.test(name)) return []
    return [
      { name, asks: "a server, but names none", instead: "set RUVECTOR_HOST, too, or sync --to postgres:" },
    ]
  })
}
