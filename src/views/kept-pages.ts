/** Pages that `view` made for a look, in the data folder: copies of what the vault holds, so they go with it. */
import { rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { isMissing } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { fileNamesIn } from "../base/json-files.ts"

/** ms after which a page is not looked at any more. */
const KEPT = 30 * 86_400_000

export const pagesFolder = (dataHome: string): string => join(dataHome, "pages")

/** Whatever is in them may be what is to be forgotten. */
export const removePages = (dataHome: string): void =>
  rmSync(pagesFolder(dataHome), { recursive: true, force: true })

export function dropOldPages(dataHome: string, now: number): void {
  const folder = pagesFolder(dataHome)
  for (const name of fileNamesIn(folder, isMissing)) {
    tryTo(() => {
      const path = join(folder, name)
      if (now - statSync(path).mtimeMs > KEPT) rmSync(path)
    })
  }
}
