/** Names of the design documents: each has an effect, or is told with what to use instead. */
import { expect, test } from "bun:test"
import { OPTIONS } from "../../../src/config/options.ts"
import { unusedVariables } from "../../../src/config/unused-variables.ts"

/** All that the design documents name. */
const NAMED =
  "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET CLAUDE_FLOW_COMPACT_INSTRUCTION_BUDGET CLAUDE_FLOW_AUTO_OPTIMIZE " +
  "CLAUDE_FLOW_RETENTION_DAYS CLAUDE_FLOW_CONTEXT_AUTOPILOT CLAUDE_FLOW_CONTEXT_WINDOW CLAUDE_FLOW_AUTOPILOT_WARN " +
  "CLAUDE_FLOW_AUTOPILOT_PRUNE CLAUDE_FLOW_BLOCK_COMPACTION CLAUDE_TEXT_PRUNE_KEEP CLAUDE_TEXT_PRUNE_THRESHOLD " +
  "CLAUDE_TEXT_PRUNE_MAX_CHARS CLAUDE_AUTOCOMPACT_PCT_OVERRIDE CLAUDE_MEMORY_DB DISABLE_COMPACT RUFLO_DEBUG " +
  "RUVECTOR_HOST RUVECTOR_PORT RUVECTOR_DATABASE RUVECTOR_USER RUVECTOR_PASSWORD RUVECTOR_SSL"

/** Read by config/load.ts. */
const READ = /^(CLAUDE_AUTOCOMPACT_PCT_OVERRIDE|DISABLE_COMPACT|RUVECTOR_\w+)$/

test("each of them is an option, is read, or is told as unused", () => {
  const options = new Set<string>(Object.values(OPTIONS).flatMap(({ env }) => env as readonly string[]))
  const names = NAMED.split(" ")
  const unused = new Set(unusedVariables(names).map(({ name }) => name))
  const kinds = (name: string): number =>
    [options.has(name), READ.test(name), unused.has(name)].filter(Boolean).length
  expect(names.filter((name) => kinds(name) !== 1)).toEqual([])
})

test("says what to use instead", () => {
  for (const { asks, instead } of unusedVariables(NAMED.split(" "))) {
    expect(asks).not.toBe("")
    expect(instead).not.toBe("")
  }
  expect(unusedVariables(["PATH", "DEBUG", "PGHOST", "constructor"])).toEqual([])
})

test("what says where a server is has an effect only with one", () => {
  const told = (...names: string[]) => unusedVariables(names).map(({ name }) => name)
  expect(told("RUVECTOR_PORT", "RUVECTOR_PASSWORD")).toEqual(["RUVECTOR_PORT", "RUVECTOR_PASSWORD"])
  for (const name of ["RUVECTOR_HOST", "CTXBRIDGE_SYNC_TO", "CTXBRIDGE_BACKEND"])
    expect(told("RUVECTOR_PORT", name)).toEqual([])
})
