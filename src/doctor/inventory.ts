/** What several checks look at, listed once for each examination. */

import { openDatabase } from "../archive/database.ts"
import { archivedByPath } from "../archive/queries/transcripts.ts"
import { type TranscriptFile, transcriptFilesBelow } from "../job/find-transcripts.ts"
import { tryTo } from "../util/files.ts"
import { once } from "../util/once.ts"
import { type VaultFile, vaultContents } from "../vault/vault-files.ts"
import type { Patient } from "./finding.ts"
import { projectsOf } from "./our-hooks.ts"

/**
 * Copies and transcripts that are opened: those that changed last. Of older ones, only what their names and sizes tell is
 * checked, unless with `--deep`: hundreds of thousands cannot be opened while somebody waits.
 */
export const NEWEST = 5000

interface Inventory {
  readonly copies: () => readonly VaultFile[]
  /** What is named like a copy, and is a folder, a pipe or the like. */
  readonly noFiles: () => readonly string[]
  /** Oldest first. */
  readonly transcripts: () => readonly TranscriptFile[]
  /** Folders of transcripts that cannot be read. */
  readonly unreadable: () => readonly string[]
  /** Bytes of each transcript in the vault, by its path, as the views tell; empty if they cannot be asked. */
  readonly archived: () => ReadonlyMap<string, number>
}

const made = new WeakMap<Patient, Inventory>()

/** The same for the same patient. */
export function inventoryOf(patient: Patient): Inventory {
  const known = made.get(patient)
  if (known !== undefined) return known
  const { dataHome } = patient
  const unreadable: string[] = []
  const transcripts = once(() =>
    transcriptFilesBelow(projectsOf(patient), { onUnreadable: (path) => void unreadable.push(path) }),
  )
  const vault = once(() => vaultContents(dataHome))
  const inventory = {
    copies: () => vault().files,
    noFiles: () => vault().others,
    transcripts,
    unreadable: () => {
      transcripts()
      return unreadable
    },
    archived: once(() => {
      const found = tryTo(() => {
        using db = openDatabase(dataHome, { wait: 1000, readonly: true })
        return archivedByPath(db)
      })
      return found ?? new Map<string, number>()
    }),
  }
  made.set(patient, inventory)
  return inventory
}

/** Those that changed last. */
export const newestOf = <T extends { readonly changed: number }>(all: readonly T[]): readonly T[] =>
  all.length <= NEWEST ? all : all.toSorted((a, b) => b.changed - a.changed).slice(0, NEWEST)
