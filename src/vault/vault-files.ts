/** Lists the vault's folder. */
import { isMissing } from "../base/errors.ts"
import { readdirSync, statSync } from "../base/fs.ts"
import { join } from "../base/path.ts"

export interface VaultFile {
  readonly copy: string
  readonly bytes: number
  /** Time of the last change, in ms since the epoch. */
  readonly changed: number
}

/** All copies in order of their names, including superseded ones. */
export const vaultFiles = (dataHome: string): VaultFile[] => vaultContents(dataHome).files

/** Names of all copies, in no particular order. Asks for no file's size, which would take twice as long. */
export const copyNames = (dataHome: string): string[] =>
  vaultContents(dataHome, false).files.map(({ copy }) => copy)

/** Paths below `vault/` that are named like copies, but are folders, pipes or the like. */
export const noFiles = (dataHome: string): string[] => vaultContents(dataHome, false).others

/** Both. Without sizes it takes half as long. */
export function vaultContents(dataHome: string, sized = true): { files: VaultFile[]; others: string[] } {
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
        const seen = sized ? looked(join(folder, entry.name)) : NOT_ASKED
        if (seen !== undefined) found.push({ copy, ...seen })
      }
    }
  }
  visit("")
  if (sized) found.sort((a, b) => (a.copy < b.copy ? -1 : 1))
  return { files: found, others }
}

type Seen = Omit<VaultFile, "copy">

const NOT_ASKED: Seen = { bytes: 0, changed: 0 }

/** undefined if it is gone: it may be renamed at this very moment. */
function looked(file: string): Seen | undefined {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats === undefined ? undefined : { bytes: stats.size, changed: stats.mtimeMs }
}

/** Those that are still there, with their sizes, in order of their names. */
export const sizedCopies = (dataHome: string, names: readonly string[]): VaultFile[] =>
  names.toSorted().flatMap((copy) => {
    const seen = looked(join(dataHome, "vault", copy))
    return seen === undefined ? [] : [{ copy, ...seen }]
  })

const list = (folder: string) => readdirSync(folder, { withFileTypes: true })
