/**
 * `ctxbridge search` by itself: the command, the router and all that both import are one chunk, made before the build by
 * build/search.ts, since a search is to be there at once (docs/adr/0013).
 */
import { endWith } from "../hook/end.ts"
import { compileLate } from "../util/compiling.ts"
import search from "./commands/search.ts"
import { runCli } from "./router.ts"

export async function runSearch(argv: readonly string[]): Promise<void> {
  compileLate()
  await runCli(argv, search)
  // Every byte has been written by then (cli/output.ts).
  endWith(Number(process.exitCode ?? 0))
}
