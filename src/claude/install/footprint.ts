/**
 * Everything that ctxbridge keeps on disk besides Claude Code's settings, so that an uninstall leaves no trace: the
 * names in our folders, and which of those folders existed before us.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { isMissing, throwBusy } from "../../base/errors.ts"
import { writeWhole } from "../../base/files.ts"
import { withFolderLock } from "../../base/folder-lock.ts"
import { dirname, fromSystem, join } from "../../base/path.ts"
import type { Paths } from "../../config/load.ts"
import { listedStrings } from "../../record/json.ts"
import { existingSpools } from "../../vault/spool-folders.ts"
import { removeIfEmpty } from "./register.ts"

type Homes = Pick<Paths, "dataHome" | "stateHome">

const RECORD = "folders.json"

/** Code that creates a new name in one of our homes must add it here, or an uninstall leaves it behind. */
const DATA =
  /^(vault|followed|notes|pages|plugin|sessions|pending|pointers|reminders|requests|known|forgotten|redacting(\.\d+)?|probe\.\d+|install|prune|models|sync|undone|archive\.db.*|(archive|gate|rebuild|compact|forget|labels|models|notes|pages|sessions|summaries|sync)\.lock|(repair|folders|autopilot-state|compaction-points|counted|imported|labels|projects|spent|summaries)\.json(\.(\d+|old))?|[\w.-]+\.aside-\d+)$/
const STATE =
  /^(ctxbridge\.log.*|job\.(lock|stop)|swept|foreign-\d+|runtime-[0-9a-f]{16}(\.\d+)?|loading-native-\d+|[\w.-]+\.aside-\d+)$/

const isNamedAsOurs = (name: string): boolean => DATA.test(name) || STATE.test(name)

/** Names of ours that others use as well. On their own they do not make a folder ours. */
const ORDINARY = /^(vault|notes|sessions|requests|pending|install|prune|plugin|models|sync)$/

/** How often to remove, because a running hook may write in the meantime. */
const ROUNDS = 3

/** One of our files or folders on disk. */
interface Piece {
  readonly path: string
  readonly files: number
  readonly bytes: number
}

/** Everything of ours in our homes and in the temporary folder. */
export function pieces(homes: Homes, { theirs } = readFolders(homes.dataHome)): Piece[] {
  const { dataHome, stateHome } = homes
  const found = [
    ...entries(dataHome)
      .filter(({ name }) => DATA.test(name))
      .map(({ name }) => join(dataHome, name)),
    ...entries(stateHome)
      .filter(({ name }) => STATE.test(name))
      .map(({ name }) => join(stateHome, name)),
    ...spools(homes),
  ]
  const own = new Set(found.filter((path) => !theirs.includes(path)))
  return [...own].map((path) => ({ path, ...sizeOf(path) }))
}

/** Where hooks write when they cannot write to the archive. Another archive's spool may be next to ours. */
const spools = ({ dataHome, stateHome }: Homes): string[] =>
  existingSpools({ dataHome, stateHome, temporary: fromSystem(tmpdir()) })

function entries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function sizeOf(path: string): { files: number; bytes: number } {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return { files: 0, bytes: 0 }
  if (!stats.isDirectory()) return { files: 1, bytes: stats.size }
  return entries(path)
    .map(({ name }) => sizeOf(join(path, name)))
    .reduce((sum, one) => ({ files: sum.files + one.files, bytes: sum.bytes + one.bytes }), {
      files: 0,
      bytes: 0,
    })
}

/** What an install records about the folders that existed before it. */
interface Folders {
  /** Our homes and their parents that did not exist, outermost first. */
  readonly made: readonly string[]
  /** Homes that existed and were not ours. */
  readonly found: readonly string[]
  /** What they held under names that we use, too. */
  readonly theirs: readonly string[]
}

/** Call this before an install writes anything. */
export function foldersBefore({ dataHome, stateHome }: Homes): Folders {
  const made: string[] = []
  const found: string[] = []
  const theirs: string[] = []
  for (const home of [dataHome, stateHome]) {
    for (const folder of withParents(home)) if (!isThere(folder)) made.push(folder)
    if (!isThere(home) || isOurs(home) || (home === dirname(stateHome) && isOurs(stateHome))) continue
    found.push(home)
    for (const { name } of entries(home)) if (isNamedAsOurs(name)) theirs.push(join(home, name))
  }
  return { made: [...new Set(made)], found, theirs }
}

const isOurs = (home: string): boolean =>
  entries(home).some(({ name }) => isNamedAsOurs(name) && !ORDINARY.test(name))

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Outermost first. */
function withParents(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...withParents(parent), path]
}

/** Call this after the install. Keeps an existing record, because only the first install saw the original folders. */
export function rememberFolders(dataHome: string, folders: Folders): void {
  const file = join(dataHome, RECORD)
  if (!isThere(file)) writeWhole(file, JSON.stringify(folders))
}

function readFolders(dataHome: string): Folders {
  try {
    const { made, found, theirs } = JSON.parse(readFileSync(join(dataHome, RECORD), "utf8")) as Folders
    return { made: listedStrings(made), found: listedStrings(found), theirs: listedStrings(theirs) }
  } catch {
    return { made: [], found: [], theirs: [] }
  }
}

/**
 * Removes everything of ours, our homes if they are then empty, and the parent folders created for them.
 *
 * @returns paths in our homes that are not ours and were left
 */
export function removeFootprint(homes: Homes): string[] {
  // Read once, because the record goes as well.
  const folders = readFolders(homes.dataHome)
  let round = 0
  do removeOnce(homes, folders)
  while (++round < ROUNDS && pieces(homes, folders).length > 0)
  return [homes.dataHome, homes.stateHome].flatMap((home) =>
    entries(home)
      .map(({ name }) => join(home, name))
      .filter((path) => path !== homes.stateHome),
  )
}

function removeOnce(homes: Homes, folders: Folders): void {
  const spooled = spools(homes)
  for (const { path } of pieces(homes, folders)) {
    rmSync(path, { recursive: true, force: true })
  }
  for (const path of spooled) {
    const spool = dirname(path)
    if (removeIfEmpty(spool) && dirname(spool) !== homes.stateHome) removeIfEmpty(dirname(spool))
  }
  const own = [homes.stateHome, homes.dataHome].filter((home) => !folders.found.includes(home))
  for (const folder of [...own, ...folders.made.toReversed()]) removeIfEmpty(folder)
}

/** ms to wait for others. */
const PATIENCE = 30_000

/**
 * Runs `work` while no other install or uninstall of this user is at work: each reads Claude Code's files and our record
 * of them, and then writes both. The lock is on the home folder itself, so that it leaves no file behind. Must not be
 * nested.
 *
 * @throws CtxError `busy`
 */
export const oneAtATime = <T>(home: string, work: () => T): T =>
  withFolderLock(home, PATIENCE, work, () =>
    throwBusy("another install or uninstall is running", "nothing was changed; try again when it is done"),
  )
