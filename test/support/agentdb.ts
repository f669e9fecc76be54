/** The real package for tests, where somebody has installed it. */
import { existsSync } from "node:fs"
import { join } from "node:path"

/** @returns undefined if it is not there: tests that need it are skipped */
export function agentdbFolder(): string | undefined {
  const named = process.env["CTXBRIDGE_TEST_AGENTDB"]
  return named !== undefined && existsSync(join(named, "package.json")) ? named : undefined
}
