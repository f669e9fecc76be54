/** The server's life: from the first line on stdin to its end. */
import { compileAsUsual } from "../util/compiling.ts"
import { peerLines } from "./peer-lines.ts"
import { type Service, serve } from "./sdk.ts"
import { serviceOf } from "./server.ts"
import type { ServerWorld } from "./tool.ts"

/** @param write takes a line for stdout, including its line break */
export function serveArchive(world: ServerWorld, write: (line: string) => void): Promise<void> {
  const service = serviceOf(world)
  // Most servers are started but never called. So the engine does not compile the start-up code, only what answers
  // calls.
  const call: Service["call"] = (name, args) => {
    compileAsUsual()
    return service.call(name, args)
  }
  return serve({ ...service, call }, peerLines(Bun.stdin.stream()), write)
}
