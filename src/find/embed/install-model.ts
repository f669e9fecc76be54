/** Installs a model. Every file is checked against its hash before it is put where it is loaded from. */

import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { CtxError, EXIT, messageOf, throwBusy } from "../../base/errors.ts"
import { writeWhole } from "../../base/files.ts"
import { renameSync } from "../../base/fs.ts"
import { holdLockFile } from "../../base/lock.ts"
import { basename, dirname, join } from "../../base/path.ts"
import { sha256Of } from "../../base/sha256.ts"
import { addressShown } from "../../base/text.ts"
import { folderOfModel, manifestFile, modelFolder, modelState } from "./model-files.ts"
import { checkFile, type Manifest, type PinnedFile, sizeOfModel, sourceOf } from "./model-manifest.ts"

interface InstallOptions {
  readonly dataHome: string
  readonly manifest: Manifest
  /** A folder or an address. */
  readonly from: string
  readonly dryRun: boolean
  /** ms to wait for another process that is installing or removing a model. */
  readonly wait?: number
  readonly onProgress?: (done: number, total: number) => void
}

export interface InstallReport {
  readonly model: string
  readonly folder: string
  readonly bytes: number
  /** Whether anything was written, or would be. */
  readonly changed: boolean
  readonly dryRun: boolean
}

/** @throws CtxError `busy` when another process is still installing or removing a model */
export async function installModel(options: InstallOptions): Promise<InstallReport> {
  if (options.dryRun) return install(options)
  const { dataHome } = options
  mkdirSync(dataHome, { recursive: true, mode: 0o700 })
  const held = lockModels(dataHome, options.wait)
  try {
    return await install(options)
  } finally {
    closeSync(held)
  }
}

/** ms to wait for another process: enough for a model to be downloaded over an ordinary connection. */
const PATIENCE = 20_000

/** @returns a descriptor that holds the lock until it is closed */
function lockModels(dataHome: string, wait = PATIENCE): number {
  const held = holdLockFile(join(dataHome, "models.lock"), wait)
  if (held !== undefined) return held
  return throwBusy("another process is installing or removing a model")
}

async function install(options: InstallOptions): Promise<InstallReport> {
  const { dataHome, manifest, from, dryRun, onProgress = () => {} } = options
  const folder = folderOfModel(dataHome, manifest)
  const report = { model: manifest.id, folder, bytes: sizeOfModel(manifest), dryRun }
  if (isInstalled(dataHome, manifest)) {
    if (!dryRun) removeOthers(dataHome, folder)
    return { ...report, changed: false }
  }
  const url = addressOf(from)
  if (url === undefined) checkSource(from, manifest)
  if (dryRun) return { ...report, changed: true }
  const temporary = `${folder}.${process.pid}`
  try {
    let before = 0
    for (const file of manifest.files) {
      const target = join(temporary, file.path)
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
      const tell = (done: number): void => onProgress(before + done, report.bytes)
      tell(0)
      if (url === undefined) copyFileSync(sourceOf(from, file), target)
      else await download(fileAddress(url, file), target, file.bytes, tell)
      chmodSync(target, 0o600)
      compare(target, file, from)
      before += file.bytes
      tell(0)
    }
    // If it exists, it is damaged: otherwise it would have been found above.
    rmSync(folder, { recursive: true, force: true })
    renameSync(temporary, folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  writeWhole(manifestFile(dataHome), `${JSON.stringify(manifest, null, 2)}\n`)
  removeOthers(dataHome, folder)
  return { ...report, changed: true }
}

/** @returns the folder that was removed; undefined when there was none */
export function removeModel(dataHome: string, dryRun: boolean): string | undefined {
  const folder = modelFolder(dataHome)
  if (!existsSync(folder)) return undefined
  if (dryRun) return folder
  const held = lockModels(dataHome)
  try {
    rmSync(folder, { recursive: true, force: true })
  } finally {
    closeSync(held)
  }
  return folder
}

/** Whether every byte of this model is in its place. */
export function isInstalled(dataHome: string, manifest: Manifest): boolean {
  const folder = folderOfModel(dataHome, manifest)
  if (modelState(dataHome).model?.folder !== folder) return false
  return manifest.files.every((file) => checkFile(join(folder, file.path), file) === "ok")
}

function checkSource(from: string, manifest: Manifest): void {
  if (!(statSync(from, { throwIfNoEntry: false })?.isDirectory() ?? false)) {
    throw new CtxError("no-source", `there is no folder ${from}`, { exit: EXIT.notFound })
  }
  const sources = manifest.files.map((file) => [file, sourceOf(from, file)] as const)
  for (const [file, source] of sources) {
    if (statSync(source, { throwIfNoEntry: false })?.isFile() === true) continue
    throw new CtxError("no-source", `${from} has no ${file.path}`, {
      hint: `it must hold ${manifest.files.map(({ path }) => path).join(" and ")}`,
      exit: EXIT.notFound,
    })
  }
  for (const [file, source] of sources) compare(source, file, from)
}

function compare(path: string, file: PinnedFile, from: string): void {
  if (checkFile(path, file) === "ok") return
  throw new CtxError("not-the-model", `${file.path} from ${addressShown(from)} is not the expected file`, {
    hint: `its SHA-256 is ${sha256Of(path)}, not ${file.sha256}; nothing was installed`,
  })
}

const fileAddress = (base: URL, { path }: PinnedFile): URL =>
  new URL(path, base.href.endsWith("/") ? base : `${base.href}/`)

/** Removes earlier models and the leftovers of a killed install. */
function removeOthers(dataHome: string, folder: string): void {
  for (const name of readdirSync(modelFolder(dataHome), { withFileTypes: true })) {
    if (name.isDirectory() && name.name !== basename(folder)) {
      rmSync(join(modelFolder(dataHome), name.name), { recursive: true, force: true })
    }
  }
}

/*
 * Uses the network, only for `ctxbridge model install`. Fetches a file of known length; the caller
 * checks the hash.
 */

/** ms without a byte after which the server is considered dead. */
const SILENCE = 30_000

/**
 * @returns undefined for a folder
 * @throws CtxError for an address that must not be used
 */
export function addressOf(text: string): URL | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return undefined
  const url = URL.parse(text)
  const isLocal = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname)
  if (url !== null && (url.protocol === "https:" || isLocal)) return url
  throw new CtxError("bad-address", `not an address to install from: ${addressShown(text)}`, {
    hint: "https://… or a folder",
  })
}

/**
 * @param bytes expected length; a longer file is an error, and the excess is not written
 * @param onProgress called with the bytes received so far
 */
async function download(
  url: URL,
  path: string,
  bytes: number,
  onProgress: (done: number) => void,
): Promise<void> {
  const silent = new AbortController()
  const fd = openSync(path, "w", 0o600)
  let timer = setTimeout(() => silent.abort(), SILENCE)
  try {
    const response = await fetch(url, { signal: silent.signal })
    if (!response.ok || response.body === null) throw new Error(`the server says ${response.status}`)
    let done = 0
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), SILENCE)
      done += chunk.length
      if (done > bytes) throw new Error(`the file is larger than ${bytes} bytes`)
      for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at)
      onProgress(done)
    }
  } catch (cause) {
    const why = silent.signal.aborted ? `no data for ${SILENCE / 1000} s` : messageOf(cause)
    throw new CtxError("download-failed", `cannot fetch ${url}: ${why}`, {
      hint: "fetch the files by other means, then: ctxbridge model install --from DIR",
      cause,
    })
  } finally {
    clearTimeout(timer)
    closeSync(fd)
  }
}
