/**
 * Opens a folder of entries: what it says of itself in `ctxbridge.json`, and whether that can be true. Whoever can write
 * to the folder can write that, too.
 */
import { linkSync, rmSync } from "node:fs"
import { CtxError, codeOf, isMissing } from "../../base/errors.ts"
import { readOrdinary, statsOf, tryTo, writePrivate } from "../../base/files.ts"
import { mkdirSync, renameSync } from "../../base/fs.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { isPlainId } from "../../base/session-id.ts"
import {
  entriesFolder,
  forgottenFile,
  forgottenFolder,
  framesFolder,
  type LineFolder,
  type LineSeal,
  lineFilesIn,
  lineStarts,
  markerFile,
  ownFiles,
  unwritable,
  wholeLines,
} from "./folder-files.ts"
import {
  isSealAbout,
  keyName,
  lockedOut,
  newSeal,
  openSeal,
  type SealAbout,
  type SealedFolders,
  WAY_OUT,
} from "./seal.ts"

/** Formats: without encryption, and with it. */
const PLAIN = 1
const FORMAT = 2

/** What is known of a folder besides its passphrase, and what is wanted of it. */
export interface FolderWishes {
  /** What this machine has seen encrypted; undefined: it remembers nothing. */
  readonly seen?: SealedFolders | undefined
  /**
   * Takes the folder as it is now if the passphrase opens it, and makes a new key if not, whatever was there. The files of
   * this writer that the key does not open are removed: all is sent again.
   */
  readonly newKeyFor?: string | undefined
}

/** With what a folder is opened. */
interface FolderAccess extends FolderWishes {
  /** Encrypts a new folder; must be that of an encrypted one, and absent for one that is not. */
  readonly passphrase?: string | undefined
}

/**
 * Opens the folder, and makes it unless it is there. Its parent must be there: a folder on a stick that is not plugged in
 * must not be made where the stick would be.
 */
export function openFolder(root: string, access: FolderAccess = {}): LineFolder {
  const { newKeyFor } = access
  const stats = statsOf(root)
  if (stats !== undefined && !stats.isDirectory())
    throw new CtxError("target-missing", `not a folder: ${root}`)
  if (newKeyFor !== undefined) return withNewKey(root, access, newKeyFor)
  let made = false
  for (let attempt = 0; attempt < 2; attempt++) {
    const found = expected(root, access)
    if (found !== undefined) return { ...opened(root, found, access), ...(made && { made: "folder" }) }
    if (statsOf(root) === undefined) make(root)
    made = writeMarker(root, access.passphrase, false)
  }
  throw new CtxError("target-failed", `cannot make ${markerFile(root)}`)
}

/** For whoever only reads: nothing is made. */
export function openFolderThere(root: string, access: FolderAccess = {}): LineFolder {
  const found = expected(root, access)
  if (found !== undefined) return opened(root, found, access)
  throw new CtxError("target-missing", `${root}: nothing has been sent there yet`, {
    hint: "is the drive or share mounted? ctxbridge sync sends something there",
  })
}

/**
 * Whether a folder is what it was. It is not opened, and no passphrase is tried.
 *
 * @throws CtxError what is wrong
 */
export function examineFolder(root: string, access: FolderAccess): void {
  expected(root, access)
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

/** @returns whether it is ours that is there now */
function writeMarker(root: string, passphrase: string | undefined, isReplaced: boolean): boolean {
  const marker = markerFile(root)
  const own = `${marker}.${process.pid}`
  const made = newMarker(passphrase)
  try {
    writePrivate(own, `${JSON.stringify(made)}\n`)
    // Unlike a rename, this leaves the one that somebody else has made in the meantime.
    if (isReplaced) tryTo(() => renameSync(marker, `${marker}.former`))
    tryTo(() => linkSync(own, marker))
    // Where there are no links, as on a stick.
    if (statsOf(marker) === undefined) renameSync(own, marker)
  } catch (cause) {
    throw unwritable(root, cause)
  } finally {
    tryTo(() => rmSync(own, { force: true }))
  }
  return readMarker(root)?.id === made.id
}

/**
 * What a folder says of itself, if that can be true; undefined for a folder in which there is nothing yet. Whoever can
 * write there, or carries it from machine to machine, may have left the description out, or put another one there.
 *
 * @throws CtxError before anything is written or read there
 */
function expected(root: string, { passphrase, seen }: FolderAccess): Marker | undefined {
  const found = readMarker(root)
  for (const known of seen?.about(root, found?.id) ?? []) {
    if (found === undefined) {
      throw new CtxError(
        "target-incomplete",
        `${root} was encrypted, and its ctxbridge.json is missing now`,
        {
          hint: `is the drive mounted, and has all of it arrived? ${WAY_OUT}`,
        },
      )
    }
    if (found.encryption === undefined) {
      throw new CtxError(
        "target-changed",
        `${root} was encrypted, and its ctxbridge.json says now that it is not`,
        {
          hint: `somebody may have replaced it; nothing was sent or read. ${passphrase === undefined ? `Name another folder, or remove it from ${seen?.file} if that is what you want` : WAY_OUT}`,
        },
      )
    }
    const isSame = found.id === known.id && keyName(found.encryption) === known.key
    if (!isSame && (known.proven || passphrase === undefined)) {
      throw new CtxError("target-changed", `${root} has another key than when it was last seen here`, {
        hint: `somebody may have replaced its ctxbridge.json; nothing was sent or read. ${WAY_OUT}`,
      })
    }
  }
  if (found?.encryption !== undefined) return found
  if (passphrase !== undefined) {
    if (found !== undefined) {
      throw new CtxError("target-plain", `${root} is not encrypted, and a passphrase is set`, {
        hint: "name a new folder, which will be encrypted, or unset the passphrase; ctxbridge sync --new-key encrypts this one",
      })
    }
    if (hasLines(root)) throw incomplete(`${root} holds entries, but no ctxbridge.json`)
  } else if (hasLines(root, isSealed)) {
    if (found === undefined) throw incomplete(`${root} holds encrypted entries, but no ctxbridge.json`)
    throw new CtxError(
      "target-changed",
      `${root} holds encrypted entries, and its ctxbridge.json says that it is not`,
      {
        hint: `somebody may have replaced it; nothing was sent or read. With the passphrase set, ${WAY_OUT}`,
      },
    )
  }
  return found
}

const incomplete = (message: string): CtxError =>
  new CtxError("target-incomplete", message, {
    hint: `wait until all of the folder has arrived; with the passphrase set, ${WAY_OUT}`,
  })

function opened(root: string, { id, encryption }: Marker, { passphrase, seen }: FolderAccess): LineFolder {
  if (encryption === undefined) return { root, id, seal: undefined }
  const note = (proven: boolean): void => {
    tryTo(() => seen?.note(root, id, keyName(encryption), proven))
  }
  const seal = passphrase === undefined ? undefined : openSeal(passphrase, encryption)
  if (seal !== undefined) {
    note(true)
    return { root, id, seal: boundTo(id, seal) }
  }
  note(false)
  throw lockedOut(root, passphrase !== undefined)
}

/** Binds lines to their folder, too. */
const boundTo = (id: string, seal: LineSeal): LineSeal => ({
  close: (line, place) => seal.close(line, `${id}/${place}`),
  open: (sealed, place) => seal.open(sealed, `${id}/${place}`),
})

function withNewKey(root: string, access: FolderAccess, writer: string): LineFolder {
  const { passphrase, seen } = access
  if (passphrase === undefined) throw new CtxError("target-locked", `no passphrase for a new key of ${root}`)
  if (statsOf(root) === undefined) make(root)
  const there = orUndefinedIfDamaged(() => readMarker(root))
  const isEmpty = there === undefined && statsOf(markerFile(root)) === undefined && !hasLines(root)
  const isOpened = there?.encryption !== undefined && openSeal(passphrase, there.encryption) !== undefined
  if (!isOpened) writeMarker(root, passphrase, true)
  const found = readMarker(root)
  if (found?.encryption === undefined) throw new CtxError("target-failed", `cannot make ${markerFile(root)}`)
  const known = seen?.about(root, found.id) ?? []
  const isNews = known.some(({ id, key }) => id !== found.id || key !== keyName(found.encryption!))
  const folder = opened(root, found, access)
  const own = [entriesFolder(root), framesFolder(root)].flatMap((sub) =>
    ownFiles(sub, writer).map((name) => join(sub, name)),
  )
  for (const file of [...own, forgottenFile(root, writer)])
    if (!isReadable(file, folder.seal)) rmSync(file, { force: true })
  if (isEmpty) return { ...folder, made: "folder" }
  return isOpened && !isNews ? folder : { ...folder, made: "key" }
}

/** Whether the key opens any line of a file. */
const isReadable = (file: string, seal: LineSeal | undefined): boolean =>
  wholeLines(file, seal).some((line) => line !== "")

function orUndefinedIfDamaged<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) === "target-damaged") return undefined
    throw error
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

/** Bytes. Ours has 300. */
const LARGEST_MARKER = 1 << 16

function readMarker(root: string): Marker | undefined {
  const marker = markerFile(root)
  let text: string | undefined
  try {
    text = readOrdinary(marker, LARGEST_MARKER)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unwritable(marker, error)
  }
  const { format, id, encryption } = (parseJson(text ?? "") ?? {}) as Partial<Record<keyof Marker, unknown>>
  const isNewer = typeof format === "number" && format > FORMAT
  const isSound = encryption === undefined ? format === PLAIN : isSealAbout(encryption)
  if (typeof format !== "number" || typeof id !== "string" || !isPlainId(id) || !(isNewer || isSound)) {
    throw new CtxError("target-damaged", `${marker} is not one of ours, or damaged`, {
      hint: "name another folder, or put back an earlier version of the file; of a folder that is not encrypted, remove it, and everything is sent again",
    })
  }
  if (isNewer) {
    throw new CtxError("target-newer", `${marker} is from a newer version of ctxbridge (format ${format})`, {
      hint: "update ctxbridge on this machine",
    })
  }
  return { format, id, ...(isSealAbout(encryption) ? { encryption } : {}) }
}

/** Whether any line of the folder is such a one. Of frames, which are many and large, each file's first. */
function hasLines(root: string, isSuch: (start: string) => boolean = () => true): boolean {
  const has = (sub: string, most: number): boolean =>
    lineFilesIn(sub).some((name) => lineStarts(join(sub, name), most).some(isSuch))
  return (
    has(entriesFolder(root), Infinity) || has(forgottenFolder(root), Infinity) || has(framesFolder(root), 1)
  )
}

/** As a seal makes it, which is no JSON. */
const isSealed = (start: string): boolean => /^[A-Za-z0-9+/]{40}/.test(start)
