/** The folder of the installed model: which files are there, and whether they are what the manifest says. */
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { isMissing } from "../util/errors.ts"
import { sha256Of } from "../util/sha256.ts"
import { type Manifest, MINILM, type PinnedFile, parseManifest } from "./manifest.ts"

export const modelFolder = (dataHome: string): string => join(dataHome, "models")

/** What was installed; it is written last, so where it stands the files are whole. */
export const manifestFile = (dataHome: string): string => join(modelFolder(dataHome), "manifest.json")

export interface InstalledModel {
  readonly manifest: Manifest
  /** Absolute. */
  readonly folder: string
  /** Names what its vectors are made by: another file under the same name makes others. */
  readonly embedder: string
  /** Whether it is the one that ctxbridge is made for. */
  readonly isPinned: boolean
}

/**
 * The installed model, by its manifest and the sizes of its files alone; undefined when there is none.
 *
 * @throws CtxError `bad-manifest`
 */
export function installedModel(dataHome: string): InstalledModel | undefined {
  let text: string
  try {
    text = readFileSync(manifestFile(dataHome), "utf8")
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  const manifest = parseManifest(text)
  const folder = folderOf(dataHome, manifest)
  const isWhole = manifest.files.every(
    ({ path, bytes }) => statSync(join(folder, path), { throwIfNoEntry: false })?.size === bytes,
  )
  if (!isWhole) return undefined
  return { manifest, folder, embedder: nameOf(manifest), isPinned: nameOf(manifest) === nameOf(MINILM) }
}

/** Whether one was installed of which not every file is there: it is not used. */
export const isModelBroken = (dataHome: string): boolean =>
  existsSync(manifestFile(dataHome)) && installedModel(dataHome) === undefined

/** Each model has its own folder: replacing one leaves a running job its files. */
export const folderOf = (dataHome: string, manifest: Manifest): string =>
  join(modelFolder(dataHome), nameOf(manifest))

/** The model's name, and a hash of what is in its files. */
function nameOf({ id, files }: Manifest): string {
  const hasher = new Bun.CryptoHasher("sha256").update(files.map(({ sha256 }) => sha256).join())
  return `${id}-${hasher.digest("hex").slice(0, 8)}`
}

export interface FileCheck {
  readonly path: string
  readonly state: "ok" | "missing" | "differs"
}

/** Reads every byte. */
export function checkFiles(folder: string, manifest: Manifest): FileCheck[] {
  return manifest.files.map((file) => ({ path: file.path, state: checkFile(join(folder, file.path), file) }))
}

/** What is wrong with the files of an installed model; undefined when every byte is as it was installed. */
export function damageOfModel({ folder, manifest }: InstalledModel): string | undefined {
  const damaged = checkFiles(folder, manifest).filter(({ state }) => state !== "ok")
  if (damaged.length === 0) return undefined
  return `${damaged.map(({ path }) => path).join(", ")} in ${folder}: not as installed`
}

/** @param path where the file is */
export function checkFile(path: string, { bytes, sha256 }: PinnedFile): FileCheck["state"] {
  if (!existsSync(path)) return "missing"
  if (statSync(path).size !== bytes) return "differs"
  return sha256Of(path) === sha256 ? "ok" : "differs"
}
