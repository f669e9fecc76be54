/** Real transcripts beside the checkout, for measuring. Tests that need them are skipped where there are none. */
import { existsSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"

export const SHARED = resolve(import.meta.dir, "..", "..", "..", "shared")

function below(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".jsonl"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

export const transcriptFiles = (): string[] => below(join(SHARED, "transcripts"))

/** Transcripts of real clients of Claude Code, one folder per version; folders beside them are of other programs. */
export const sampleFiles = (): string[] => {
  const folder = join(SHARED, "samples")
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names.filter((name) => /^\d+\.\d+\.\d+$/.test(name)).flatMap((name) => below(join(folder, name)))
}
