/** The server's life: from the first line on stdin to its end. */
import { linesOf } from "./lines.ts"
import { serve } from "./sdk.ts"
import { serviceOf } from "./server.ts"
import type { World } from "./tool.ts"

/** @param write takes a line, with its end, for stdout */
export function serveArchive(world: World, write: (line: string) => void): Promise<void> {
  return serve(serviceOf(world), linesOf(Bun.stdin.stream()), write)
}
