/**
 * What lies beside our binary: the version before it, and what updates and installers are at work on. Their names are
 * those of the installers, so that each removes what the other left when it was killed.
 */
import { copyFileSync, existsSync, linkSync, readdirSync, rmSync } from "node:fs"
import { tryTo } from "../../base/files.ts"
import { realpathSync, renameSync } from "../../base/fs.ts"
import { dirname, join } from "../../base/path.ts"
import { isAlive } from "../../base/process-alive.ts"

/** For `update --rollback`. */
export const previousOf = (binary: string): string => join(dirname(binary), ".ctxbridge.previous")

/** Where a new binary is made. */
export const stagedOf = (binary: string): string => join(dirname(binary), `.ctxbridge.${process.pid}.tmp`)

const LEFT = /^\.ctxbridge\.(?:([0-9a-f]{64})\.)?(\d+)\.(tmp|tmp\.exe|sums|log|part|kept)$/

/**
 * Takes over what an interrupted download of the same file has left, and removes what else killed processes left.
 *
 * @param sum of the packed file
 * @returns where to download it
 */
export function partOf(binary: string, sum: string): string {
  const folder = dirname(binary)
  const own = join(folder, `.ctxbridge.${sum}.${process.pid}.part`)
  for (const { name, sum: found } of leftovers(folder)) {
    if (found === sum && !existsSync(own)) tryTo(() => renameSync(join(folder, name), own))
    else tryTo(() => rmSync(join(folder, name)))
  }
  return own
}

function leftovers(folder: string): { name: string; sum: string | undefined }[] {
  return readdirSync(folder).flatMap((name) => {
    const [, sum, pid] = LEFT.exec(name) ?? []
    return pid === undefined || isAlive(Number(pid)) ? [] : [{ name, sum }]
  })
}

/** All of this that is not in use. */
export function filesBeside(exePath: string): string[] {
  const binary = realpathSync(exePath)
  const previous = previousOf(binary)
  const left = leftovers(dirname(binary)).map(({ name }) => join(dirname(binary), name))
  return existsSync(previous) ? [previous, ...left] : left
}

/**
 * Puts a new binary in the old one's place. At no moment is there half of one, and, but for the time between two renames
 * on Windows, none.
 */
export function replaceBinary(binary: string, staged: string): void {
  if (process.platform === "win32") {
    makeRoom(previousOf(binary))
    exchange(binary, staged, previousOf(binary))
    return
  }
  keepAs(binary, previousOf(binary))
  renameSync(staged, binary)
}

/** Windows replaces or removes no program that runs, but gives it another name. What stays is removed next time. */
function makeRoom(previous: string): void {
  tryTo(() => rmSync(previous, { force: true }))
  if (existsSync(previous)) renameSync(previous, join(dirname(previous), `.ctxbridge.${process.pid}.kept`))
}

/** Puts `next` where `binary` is, and that where `former` says. */
function exchange(binary: string, next: string, former: string): void {
  renameSync(binary, former)
  try {
    renameSync(next, binary)
  } catch (error) {
    renameSync(former, binary)
    throw error
  }
}

/** Exchanges the binary and the previous one. */
export function rollBack(binary: string): void {
  const now = stagedOf(binary)
  const previous = previousOf(binary)
  if (process.platform === "win32") {
    exchange(binary, previous, now)
    renameSync(now, previous)
    return
  }
  addName(binary, now)
  renameSync(previous, binary)
  rename(now, previous)
}

function keepAs(binary: string, name: string): void {
  const temporary = join(dirname(binary), `.ctxbridge.${process.pid}.kept`)
  addName(binary, temporary)
  rename(temporary, name)
}

/** Two names of one file both stay if one is renamed to the other. */
function rename(from: string, to: string): void {
  renameSync(from, to)
  rmSync(from, { force: true })
}

/** A second name for the same file; a copy where the file system has no such thing. */
function addName(file: string, name: string): void {
  rmSync(name, { force: true })
  try {
    linkSync(file, name)
  } catch {
    copyFileSync(file, name)
  }
}
