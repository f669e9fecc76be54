/** The server's life: from the first line on stdin to its end. */
import { compileAsUsual } from "../util/compiling.ts"
import { linesOf } from "./lines.ts"
import { type Service, serve } from "./sdk.ts"
import { serviceOf } from "./server.ts"
import type { World } from "./tool.ts"

/** @param write takes a line for stdout, including its line break */
export function serveArchive(world: World, write: (line: string) => void): Promise<void> {
  const service = serviceOf(world)
  // Most servers are started but never called. So the engine does not compile the start-up code, only what answers
  // calls.
  const call: Service["call"] = (name, args) => {
    compileAsUsual()
    return service.call(name, args)
  }
  return serve({ ...service, call }, linesOf(Bun.stdin.stream()), write)
}
