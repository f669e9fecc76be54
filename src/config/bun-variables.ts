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
