/** The settings file on disk: its real path, its bytes, and its atomic replacement. */
import { createHash, randomUUID } from "node:crypto"
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { CtxError, codeOf, isMissing } from "./errors.ts"
import { tryTo } from "./files.ts"
import { realpathSync, renameSync } from "./fs.ts"
import { isAlive } from "./own-program.ts"
import { basename, dirname, join, resolve } from "./path.ts"

/** The real path of `path`, with symlinks resolved, whether or not the file exists yet. */
export function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isMissing(error) || path === dirname(path)) throw error
  }
  const dangling = linkTarget(path)
  if (dangling !== undefined) return targetOf(resolve(dirname(path), dangling))
  return join(targetOf(dirname(path)), basename(path))
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/**
 * The bytes of a file, `undefined` when there is none.
 *
 * @throws CtxError for a pipe or device, to which a link in a project may point
 */
export function readBytes(path: string): Uint8Array | undefined {
  try {
    const stats = statSync(path)
    if (!stats.isFile()) throw new CtxError("settings-file", `${path} is not a file`)
    return stats.size === 0 ? new Uint8Array() : readFileSync(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The settings as text, including any byte order mark. Refuses bytes that decoding and encoding would change. */
export function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CtxError("settings-encoding", "not UTF-8", {
      hint: "save the file as UTF-8 and try again",
      cause,
    })
  }
}

/** The text of a file, `undefined` when there is none. */
export function readText(path: string): string | undefined {
  const bytes = readBytes(path)
  return bytes && decode(bytes)
}

export function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex")
}

/**
 * Replaces `path` with `bytes` atomically: a reader sees either the old or the new content, even after a power cut. An
 * existing file keeps its mode; a new one gets 0600. With `expected` (the bytes last seen; `null` for no file), refuses
 * to overwrite what someone else has written since.
 */
export function replaceFile(path: string, bytes: Uint8Array, expected?: Uint8Array | null): void {
  const mode = modeOf(path)
  removeLeftovers(path)
  const temporary = unfinishedFile(path, process.pid)
  try {
    const file = openSync(temporary, "wx", 0o600)
    try {
      writeFileSync(file, bytes)
      if (mode !== undefined) fchmodSync(file, mode)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    if (expected !== undefined) expectUnchanged(path, expected)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** Name of a file until it is complete, in the same folder because a rename cannot cross file systems. */
export const unfinishedFile = (path: string, pid: number, ending = "tmp"): string =>
  join(dirname(path), `.${basename(path)}.ctxbridge-${pid}-${randomUUID().slice(0, 8)}.${ending}`)

/** Removes temporary files of `path` left by killed processes of ours, and nothing else. */
export function removeLeftovers(path: string): void {
  const start = `.${basename(path)}.`
  for (const name of tryTo(() => readdirSync(dirname(path))) ?? []) {
    if (!name.startsWith(start)) continue
    const [, pid] = /^ctxbridge-(\d+)-[0-9a-f]{8}\.(?:tmp|mjs)$/.exec(name.slice(start.length)) ?? []
    if (pid === undefined || isAlive(Number(pid))) continue
    // If this is not allowed, the file stays; nothing depends on it.
    tryTo(() => rmSync(join(dirname(path), name), { force: true }))
  }
}

/**
 * Throws if `path` cannot be created or replaced, because a rename would silently override write protection. Its
 * folders need not exist.
 */
export function expectWritable(path: string): void {
  if (modeOf(path) !== undefined) accessSync(path, constants.W_OK)
  let folder = dirname(path)
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  accessSync(folder, constants.W_OK)
}

/** Throws unless `path` still has the bytes last seen (`null`: no file). */
export function expectUnchanged(path: string, expected: Uint8Array | null): void {
  const now = readBytes(path)
  const same =
    expected === null ? now === undefined : now !== undefined && Buffer.compare(now, expected) === 0
  if (same) return
  throw new CtxError("settings-changed", "another program wrote the file at the same moment", {
    hint: "nothing was overwritten; run the command again",
  })
}

/** Creates a folder and its parents; returns the new ones, outermost first. */
export function makeFolders(path: string, mode: number): string[] {
  const first = mkdirSync(path, { recursive: true, mode })
  if (first === undefined) return []
  const made = [path]
  while (made[0] !== first && made[0] !== dirname(made[0] as string)) made.unshift(dirname(made[0] as string))
  return made
}

function modeOf(path: string): number | undefined {
  try {
    return statSync(path).mode & 0o7777
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function syncFolder(path: string): void {
  try {
    const folder = openSync(path, "r")
    fsyncSync(folder)
    closeSync(folder)
  } catch (error) {
    // Some file systems cannot; the content itself is safe.
    if (codeOf(error) === "") throw error
  }
}
