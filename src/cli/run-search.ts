/**
 * `ctxbridge search` on its own: build/bundles.ts makes one chunk of the command, the router and everything they import
 * before the build, because a search must start at once (docs/adr/0013).
 */

import { compileLate, endWith } from "../base/own-program.ts"
import search from "./commands/search.ts"
import { runCli } from "./router.ts"

export async function runSearch(argv: readonly string[]): Promise<void> {
  compileLate()
  await runCli(argv, search)
  // All output has been written by now (cli/output.ts).
  endWith(Number(process.exitCode ?? 0))
}
