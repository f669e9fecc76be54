/** Variables of the design documents or of earlier versions that have no effect here, and what to use instead. Pure. */

/** By name, with those of options that earlier versions had. Those that are other names of an option are in the option table. */
const UNUSED: Readonly<Record<string, { readonly asks: string; readonly instead: string }>> = {
  CLAUDE_MEMORY_DB: {
    asks: "another database",
    instead: "CTXBRIDGE_HOME says where the archive is; ctxbridge import FILE takes such a database over",
  },
  // Measured: docs/adr/0022.
  CLAUDE_TEXT_PRUNE_THRESHOLD: {
    asks: "a size of the context above which old text is pruned",
    instead: "prune.threshold says how much there must be to prune, since each time costs the API's cache",
  },
  CTXBRIDGE_LEARN_HOLDOUT: {
    asks: "a share of restores to be left out by chance",
    instead: "the option no longer exists: nothing is left out",
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

/**
 * Variables that make a Bun binary something else, set to what makes them harmless: options of Bun, Bun itself, a
 * debugger that opens a port and waits, and one that is called. Our hook commands and children begin with them. Others
 * cannot be cleared in this way: a `BUN_JSC_*` variable that the engine does not know ends the process even if empty.
 */
export const NO_BUN_VARIABLES = {
  BUN_OPTIONS: "",
  BUN_BE_BUN: "",
  BUN_INSPECT: "",
  BUN_INSPECT_CONNECT_TO: "",
} as const
