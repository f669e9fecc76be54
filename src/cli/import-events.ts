/**
 * `import --json` prints events, one object per line, in this order: `start`, then `progress` and `file` during the
 * import, and `done` at the end. docs/import.md describes them.
 */

import type { ImportedFile } from "../job/import-file.ts"
import type { ImportReport } from "../job/import-transcripts.ts"
import type { Output } from "./command.ts"

/** Minimum ms between two `progress` events. */
const EVERY = 500

export interface FilesToImport {
  readonly transcripts: readonly string[]
  /** Other tools' archives named on the command line. */
  readonly archives: readonly string[]
  /** Links found in folders, which are not followed. */
  readonly links: readonly string[]
}

export function importEvents(out: Output) {
  let told = performance.now()
  return {
    start({ transcripts, archives }: FilesToImport, totalBytes: number, dryRun: boolean): void {
      const files = transcripts.length + archives.length
      out.event({
        event: "start",
        files,
        transcripts: transcripts.length,
        archives: archives.length,
        totalBytes,
        dryRun,
      })
    },
    progress(doneBytes: number, totalBytes: number): void {
      const now = performance.now()
      if (now - told < EVERY) return
      told = now
      out.event({ event: "progress", doneBytes, totalBytes })
    },
    file(file: ImportedFile): void {
      out.event({ event: "file", ...file })
    },
    done(
      report: ImportReport & { readonly found: readonly string[]; readonly links: readonly string[] },
    ): void {
      out.event({ event: "done", ...report })
    },
  }
}
