/**
 * The files of a folder in which several machines keep entries:
 *
 *     ctxbridge.json                   names the folder and its format
 *     entries/<writer>.<n>.jsonl       entries, one per line
 *     frames/<writer>.<n>.jsonl        pieces of the vault, one per line
 *     forgotten/<writer>.jsonl         ids and sessions that are forgotten
 *
 * Each writer appends only to its own files, so that whatever carries the folder from one machine to another never has
 * to merge two versions of a file. A half line at the end is one that is still on its way, or never arrived.
 */
import { linkSync, rmSync } from "node:fs"
import { CtxError, isMissing } from "../util/errors.ts"
import { statsOf, tryTo, writePrivate } from "../util/files.ts"
import { mkdirSync, readFileSync, renameSync } from "../util/fs.ts"
import { fileNamesIn } from "../util/json-files.ts"
import { parseJson } from "../util/parse-json.ts"
import { join } from "../util/path.ts"
import { type LineSeal, unwritable, wholeLines } from "./line-files.ts"
import { isSealAbout, newSeal, openSeal, type SealAbout } from "./seal.ts"

/** Formats: without encryption, and with it. */
const PLAIN = 1
const FORMAT = 2
/** Bytes after which a writer begins another file: a cloud drive sends a changed file whole. */
const LARGEST = 8 << 20

export const entriesFolder = (root: string): string => join(root, "entries")
export const framesFolder = (root: string): string => join(root, "frames")
const forgottenFolder = (root: string): string => join(root, "forgotten")
export const forgottenFile = (root: string, writer: string): string =>
  join(forgottenFolder(root), `${writer}.jsonl`)

/**
 * Opens the folder, and makes it unless it is there. Its parent must be there: a folder on a stick that is not plugged in
 * must not be made where the stick would be.
 *
 * @param passphrase encrypts a new folder; must be that of an encrypted one, and absent for one that is not
 */
export function openFolder(root: string, passphrase?: string): LineFolder {
  const marker = join(root, "ctxbridge.json")
  const stats = statsOf(root)
  if (stats !== undefined && !stats.isDirectory())
    throw new CtxError("target-missing", `not a folder: ${root}`)
  if (stats === undefined) make(root)
  for (let attempt = 0; attempt < 2; attempt++) {
    const found = readMarker(marker)
    if (found !== undefined) return { root, id: found.id, seal: sealFor(root, found, passphrase) }
    const own = `${marker}.${process.pid}`
    try {
      writePrivate(own, `${JSON.stringify(newMarker(passphrase))}\n`)
      // Unlike a rename, this leaves the one that somebody else has made in the meantime.
      tryTo(() => linkSync(own, marker))
      // Where there are no links, as on a stick.
      if (statsOf(marker) === undefined) renameSync(own, marker)
    } catch (cause) {
      throw unwritable(root, cause)
    } finally {
      tryTo(() => rmSync(own, { force: true }))
    }
  }
  throw new CtxError("target-failed", `cannot make ${marker}`)
}

/**
 * For whoever only reads: nothing is made.
 *
 * @param passphrase must be that of an encrypted folder
 */
export function openFolderThere(root: string, passphrase?: string): LineFolder {
  const found = readMarker(join(root, "ctxbridge.json"))
  if (found !== undefined)
    return { root, id: found.id, seal: sealFor(root, found, found.encryption && passphrase) }
  throw new CtxError("target-missing", `${root}: nothing has been sent there yet`, {
    hint: "is the drive or share mounted? ctxbridge sync sends something there",
  })
}

/** A folder that is open. */
export interface LineFolder {
  readonly root: string
  readonly id: string
  /** undefined: it is not encrypted. */
  readonly seal: LineSeal | undefined
}

interface Marker {
  readonly format: number
  readonly id: string
  readonly encryption?: SealAbout
}

const newMarker = (passphrase: string | undefined): Marker => ({
  // An older version must not write text that anybody can read beside what is encrypted.
  format: passphrase === undefined ? PLAIN : FORMAT,
  id: crypto.randomUUID(),
  ...(passphrase === undefined ? {} : { encryption: newSeal(passphrase).about }),
})

/** Binds lines to this folder, too. */
function sealFor(
  root: string,
  { id, encryption }: Marker,
  passphrase: string | undefined,
): LineSeal | undefined {
  if (encryption === undefined) {
    if (passphrase === undefined) return undefined
    throw new CtxError("target-plain", `${root} is not encrypted`, {
      hint: "name a new folder, which will be encrypted, or unset the passphrase",
    })
  }
  if (passphrase === undefined) {
    throw new CtxError("target-locked", `${root} is encrypted`, {
      hint: "set CTXBRIDGE_SYNC_PASSPHRASE, or the option sync.passphrase-file to a file that holds it",
    })
  }
  const seal = openSeal(passphrase, encryption)
  if (seal === undefined) {
    throw new CtxError("target-locked", `wrong passphrase for ${root}`, { hint: "nothing was written" })
  }
  return {
    close: (line, place) => seal.close(line, `${id}/${place}`),
    open: (sealed, place) => seal.open(sealed, `${id}/${place}`),
  }
}

function make(root: string): void {
  try {
    mkdirSync(root, { mode: 0o700 })
  } catch (cause) {
    if (!isMissing(cause)) throw unwritable(root, cause)
    throw new CtxError("target-missing", `no such folder: ${join(root, "..")}`, {
      hint: "make it first; is the drive or share mounted?",
    })
  }
}

function readMarker(marker: string): Marker | undefined {
  let text: string
  try {
    text = readFileSync(marker, "utf8")
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unwritable(marker, error)
  }
  const { format, id, encryption } = (parseJson(text) ?? {}) as Partial<Record<keyof Marker, unknown>>
  const isNewer = typeof format === "number" && format > FORMAT
  const isSound = encryption === undefined ? format === PLAIN : isSealAbout(encryption)
  if (typeof format !== "number" || typeof id !== "string" || !(isNewer || isSound)) {
    throw new CtxError("target-damaged", `${marker} is not one of ours, or damaged`, {
      hint: "name another folder, or remove the file: everything is sent again then",
    })
  }
  if (isNewer) {
    throw new CtxError("target-newer", `${marker} is from a newer version of ctxbridge (format ${format})`, {
      hint: "upgrade ctxbridge on this machine",
    })
  }
  return { format, id, ...(isSealAbout(encryption) ? { encryption } : {}) }
}

/** Names of all writers' files in a folder, in a fixed order. */
export const lineFilesIn = (folder: string): string[] => fileNamesIn(folder, isMissing).filter(isOurs).sort()

const isOurs = (name: string): boolean => name.endsWith(".jsonl") && !name.startsWith(".")

const numberOf = (name: string): number => Number(/\.(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)

/** A writer's own files, the one to append to last. */
export const ownFiles = (folder: string, writer: string): string[] =>
  lineFilesIn(folder)
    .filter((name) => name.startsWith(`${writer}.`) && numberOf(name) > 0)
    .sort((a, b) => numberOf(a) - numberOf(b))

/** Removes what a killed process had begun to write in place of one of the writer's files. */
export function removeHalfRewritten(folder: string, writer: string): void {
  for (const name of fileNamesIn(folder, isMissing)) {
    if (name.startsWith(`.${writer}.`)) rmSync(join(folder, name), { force: true })
  }
}

/** Name of the file that the writer appends to. */
export function currentFile(folder: string, writer: string): string {
  const last = ownFiles(folder, writer).at(-1)
  const size = last === undefined ? undefined : statsOf(join(folder, last))?.size
  if (last === undefined || size === undefined) return `${writer}.1.jsonl`
  return size < LARGEST ? last : `${writer}.${numberOf(last) + 1}.jsonl`
}

/** What all writers have forgotten. */
export interface ForgottenEntries {
  readonly ids: ReadonlySet<string>
  readonly sessions: ReadonlySet<string>
}

export function readForgotten(folder: LineFolder): ForgottenEntries {
  const ids = new Set<string>()
  const sessions = new Set<string>()
  for (const line of forgottenLines(folder)) {
    const { id, session } = line as { id?: unknown; session?: unknown }
    if (typeof id === "string") ids.add(id)
    if (typeof session === "string") sessions.add(session)
  }
  return { ids, sessions }
}

/** Lines that whoever forgets something has written, of all writers. */
export function* forgottenLines({ root, seal }: LineFolder): Generator<object> {
  for (const name of lineFilesIn(forgottenFolder(root))) {
    for (const line of wholeLines(join(forgottenFolder(root), name), seal)) {
      const value = parseJson(line)
      if (typeof value === "object" && value !== null) yield value
    }
  }
}
