/** Small files that are there whole or not at all. */
import { mkdirSync, renameSync, writeFileSync } from "./fs.ts"
import { dirname } from "./path.ts"

/** Replaces a file by a rename; makes its folder when it is missing. 0600 in 0700. */
export function writeWhole(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`
  writePrivate(temporary, text)
  renameSync(temporary, file)
}

/** Writes a file that nobody reads before we are done with it; makes its folder when it is missing. 0600 in 0700. */
export function writePrivate(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600 })
  } catch {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, text, { mode: 0o600 })
  }
}
