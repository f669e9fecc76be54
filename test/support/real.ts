/** Real transcripts beside the checkout, for measuring. Tests that need them are skipped where there are none. */
import { existsSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"

const SHARED = resolve(import.meta.dir, "..", "..", "..", "shared")

function below(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".jsonl"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

export const transcriptFiles = (): string[] => below(join(SHARED, "transcripts"))

export const sampleFiles = (): string[] => below(join(SHARED, "samples"))
