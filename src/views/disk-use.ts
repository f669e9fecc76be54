/**
 * What the archive takes on disk. Counted file by file, which takes a second per 100,000 sessions: of a large archive,
 * the count is kept, and made anew by the background job, by `import`, and by whoever finds it a day old.
 */

import { readdirSync, statSync } from "node:fs"
import { messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { rmSync } from "../base/fs.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { DAY, HOUR } from "../base/local-time.ts"
import { join } from "../base/path.ts"
import { vaultFiles } from "../vault/vault-files.ts"

/** Bytes on disk, without the database. */
export interface DiskUse {
  readonly vault: {
    readonly files: number
    readonly bytes: number
    /** Why it cannot be examined; the numbers then mean nothing. */
    readonly problem: string | null
  }
  /** Of markers, sessions' state, logs, and kept copies of damaged databases. */
  readonly other: number
  /** When it was counted, in ms since the epoch. */
  readonly counted: number
}

/** Copies that are counted in less time than a command takes to start twice. */
const SMALL = 10_000

const kept = (dataHome: string): string => join(dataHome, "counted.json")

/** The kept count of a large archive that is not older than `age` ms, else a new one. */
export function diskUse(dataHome: string, now: number, age = DAY): DiskUse {
  const known = readKept(dataHome)
  if (known !== undefined && now - known.counted < age && known.counted <= now) return known
  return countDiskUse(dataHome, now)
}

/** Whether a kept count is due to be made anew while nobody waits. */
export function isCountDue(dataHome: string, now: number): boolean {
  const known = readKept(dataHome)
  return known !== undefined && !(now - known.counted < HOUR && known.counted <= now)
}

export function countDiskUse(dataHome: string, now: number): DiskUse {
  const vault = countVault(dataHome)
  const use = { vault, other: Math.max(0, bytesBelow(dataHome, "")), counted: now }
  // What is counted at once is not kept, or it would be told a day later.
  tryTo(() => {
    if (vault.files > SMALL) writeJson(kept(dataHome), use)
    else rmSync(kept(dataHome), { force: true })
  })
  return use
}

function countVault(dataHome: string): DiskUse["vault"] {
  try {
    const files = vaultFiles(dataHome)
    return { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0), problem: null }
  } catch (error) {
    return { files: 0, bytes: 0, problem: messageOf(error) }
  }
}

/** What the others count: `vault/` and the database with its log. */
const COUNTED = /^(vault|archive\.db(-wal|-shm)?)$/

function bytesBelow(folder: string, below: string): number {
  try {
    return readdirSync(join(folder, below), { withFileTypes: true }).reduce((sum, entry) => {
      const name = join(below, entry.name)
      if (COUNTED.test(name)) return sum
      if (entry.isDirectory()) return sum + bytesBelow(folder, name)
      return sum + (entry.isFile() ? fileBytes(join(folder, name)) : 0)
    }, 0)
  } catch {
    return 0
  }
}

/** 0 if it is missing, or something above it is not a folder. */
export function fileBytes(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0
  } catch {
    return 0
  }
}

function readKept(dataHome: string): DiskUse | undefined {
  const found = readJson(kept(dataHome)) as Partial<DiskUse> | undefined
  const { vault, other, counted } = found ?? {}
  const numbers = [vault?.files, vault?.bytes, other, counted]
  return numbers.every((one) => Number.isFinite(one)) ? (found as DiskUse) : undefined
}
