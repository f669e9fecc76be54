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

/** Names of all copies, in no particular order. Asks for no file's size, which would take twice as long. */
export const copyNames = (dataHome: string): string[] => walk(dataHome, false).files.map(({ copy }) => copy)

/** Paths below `vault/` that are named like copies, but are folders, pipes or the like. */
export const noFiles = (dataHome: string): string[] => walk(dataHome).others

function walk(dataHome: string, sized = true): { files: VaultFile[]; others: string[] } {
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
        const bytes = sized ? sizeOf(join(folder, entry.name)) : 0
        if (bytes !== undefined) found.push({ copy, bytes })
      }
    }
  }
  visit("")
  if (sized) found.sort((a, b) => (a.copy < b.copy ? -1 : 1))
  return { files: found, others }
}

/** undefined if it is gone: it may be renamed at this very moment. */
const sizeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size

/** Those that are still there, with their sizes, in order of their names. */
export const sizedCopies = (dataHome: string, names: readonly string[]): VaultFile[] =>
  names.toSorted().flatMap((copy) => {
    const bytes = sizeOf(join(dataHome, "vault", copy))
    return bytes === undefined ? [] : [{ copy, bytes }]
  })

const list = (folder: string) => readdirSync(folder, { withFileTypes: true })
