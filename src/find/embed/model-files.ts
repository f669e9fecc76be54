/** The installed model's folder: which files it has, and whether they match the manifest. */
import { existsSync, readFileSync, statSync } from "node:fs"
import { isMissing, messageOf } from "../../base/errors.ts"
import { join } from "../../base/path.ts"
import { sha256Of } from "../../base/sha256.ts"
import { type Manifest, MINILM, type PinnedFile, parseManifest } from "./model-manifest.ts"

export const modelFolder = (dataHome: string): string => join(dataHome, "models")

/** Describes what was installed. Written last: if it exists, the files were complete. */
export const manifestFile = (dataHome: string): string => join(modelFolder(dataHome), "manifest.json")

export interface InstalledModel {
  readonly manifest: Manifest
  readonly folder: string
  /** Identifies what its vectors are made by. Another file under the same name gives another id. */
  readonly embedder: string
  /** Whether it is the model that ctxbridge was made for. */
  readonly isPinned: boolean
}

/**
 * The installed model; undefined when there is none. Checks only the manifest and the files' sizes.
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
  const folder = folderOfModel(dataHome, manifest)
  const isWhole = manifest.files.every(
    ({ path, bytes }) => statSync(join(folder, path), { throwIfNoEntry: false })?.size === bytes,
  )
  if (!isWhole) return undefined
  return { manifest, folder, embedder: nameOf(manifest), isPinned: nameOf(manifest) === nameOf(MINILM) }
}

interface ModelState {
  readonly installed?: InstalledModel
  /** Why an installed model is not used. */
  readonly problem?: string
}

/** Checks only the sizes of its files. */
export function modelState(dataHome: string): ModelState {
  try {
    const installed = installedModel(dataHome)
    if (installed !== undefined) return { installed }
    return existsSync(manifestFile(dataHome)) ? { problem: "its files are missing or of another size" } : {}
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/** Each model has a folder of its own, so a running job keeps its files when the model is replaced. */
export const folderOfModel = (dataHome: string, manifest: Manifest): string =>
  join(modelFolder(dataHome), nameOf(manifest))

/** The model's id and a hash of its files' contents. */
function nameOf({ id, files }: Manifest): string {
  const hasher = new Bun.CryptoHasher("sha256").update(files.map(({ sha256 }) => sha256).join())
  return `${id}-${hasher.digest("hex").slice(0, 8)}`
}

interface FileCheck {
  readonly path: string
  readonly state: "ok" | "missing" | "differs"
}

export function checkFiles(folder: string, manifest: Manifest): FileCheck[] {
  return manifest.files.map((file) => ({ path: file.path, state: checkFile(join(folder, file.path), file) }))
}

/** What is wrong with an installed model's files; undefined when every byte is as installed. */
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
