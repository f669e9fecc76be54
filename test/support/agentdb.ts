/** The real `@claude-flow/memory` from npm, at the version that is known to work. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fromNpm } from "../host/from-npm.ts"

const PACKAGE = "@claude-flow/memory"

/** @returns undefined if it cannot be had: tests that need it are skipped, and say so */
export async function agentdbFolder(): Promise<string | undefined> {
  const found = await fromNpm(`${PACKAGE}@3.0.0-alpha.25`, "claude-flow-memory")
  const folder = "modules" in found ? join(found.modules, PACKAGE) : ""
  if (existsSync(join(folder, "package.json"))) return folder
  console.warn(`skipped: ${PACKAGE}: ${"missing" in found ? found.missing : "it is not in its folder"}`)
  return undefined
}
