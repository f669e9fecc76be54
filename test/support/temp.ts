/** Folders that are removed at the end of the test. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export function tempFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "ctxbridge-"))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
