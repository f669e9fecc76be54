/** Lists the vault's folder. */
import { isMissing } from "../util/errors.ts"
import { readdirSync, statSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export interface VaultFile {
  readonly copy: string
  readonly bytes: number
}

/** All copies in order of their names, including superseded ones. */
export const vaultFiles = (dataHome: string): VaultFile[] => walk(dataHome).files

/** Paths below `vault/` that are named like copies, but are folders, pipes or the like. */
export const noFiles = (dataHome: string): string[] => walk(dataHome).others

function walk(dataHome: string): { files: VaultFile[]; others: string[] } {
  const found: VaultFile[] = []
  const others: string[] = []
  const visit = (below: string): void => {
    const folder = join(dataHome, "vault", below)
    let entries: ReturnType<typeof list>
    try {
      entries = list(folder)
    } catch (error) {
      if (isMissing(error)) return
      throw error
    }
    for (const entry of entries) {
      const copy = join(below, entry.name)
      const isNamed = entry.name.endsWith(".zst")
      if (isNamed && !entry.isFile() && !entry.isSymbolicLink()) others.push(copy)
      if (entry.isDirectory()) visit(copy)
      else if (entry.isFile() && isNamed) {
        // It may be renamed at this very moment.
        const bytes = statSync(join(folder, entry.name), { throwIfNoEntry: false })?.size
        if (bytes !== undefined) found.push({ copy, bytes })
      }
    }
  }
  visit("")
  return { files: found.sort((a, b) => (a.copy < b.copy ? -1 : 1)), others }
}

const list = (folder: string) => readdirSync(folder, { withFileTypes: true })
