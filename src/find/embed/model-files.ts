/** The installed model's folder: which files it has, and whether they match the manifest. */

import { existsSync, readFileSync, statSync } from "node:fs"
import { CtxError, isMissing, messageOf } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { sha256Of } from "../../base/sha256.ts"

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

/*
 * The model that ctxbridge uses, file by file. Pure.
 *
 * The hashes are those of the int8 export of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). A file that differs
 * by one byte is not installed.
 */

export interface PinnedFile {
  /** Relative to the model's folder and to the address it is downloaded from. */
  readonly path: string
  readonly bytes: number
  /** Lower-case hexadecimal. */
  readonly sha256: string
}

export interface Manifest {
  readonly id: string
  readonly dimension: number
  readonly files: readonly PinnedFile[]
}

export const DIMENSION = 384

export const MODEL_FILE = "onnx/model_quantized.onnx"
export const TOKENIZER_FILE = "tokenizer.json"

export const MINILM: Manifest = {
  id: "all-MiniLM-L6-v2-int8",
  dimension: DIMENSION,
  files: [
    {
      path: MODEL_FILE,
      bytes: 22_972_370,
      sha256: "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    },
    {
      path: TOKENIZER_FILE,
      bytes: 711_661,
      sha256: "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
    },
  ],
}

/** Where the files are, at a revision that never changes. Used by `model install`, after asking. */
export const MINILM_URL =
  "https://huggingface.co/Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9"

export const sizeOfModel = ({ files }: Manifest): number => files.reduce((sum, { bytes }) => sum + bytes, 0)

/**
 * Reads a manifest that a user wrote for a model of their own.
 *
 * @throws CtxError `bad-manifest`
 */
export function parseManifest(text: string): Manifest {
  const value = parseJson(text)
  if (value === undefined) throw bad("it is not JSON")
  const { id, dimension, files } = (value ?? {}) as Partial<Manifest>
  if (typeof id !== "string" || !/^[\w.-]{1,80}$/.test(id)) throw bad("`id` is not a name")
  if (id.startsWith("hashed-")) throw bad("`id` must not begin with `hashed-`")
  if (dimension !== DIMENSION) throw bad(`\`dimension\` is not ${DIMENSION}`)
  if (!Array.isArray(files)) throw bad("`files` is not a list")
  for (const file of files as Partial<PinnedFile>[]) {
    if (file?.path !== MODEL_FILE && file?.path !== TOKENIZER_FILE) throw bad(`unknown file ${file?.path}`)
    if (!/^[0-9a-f]{64}$/.test(file.sha256 ?? "")) throw bad(`no SHA-256 for ${file.path}`)
    if (!Number.isSafeInteger(file.bytes)) throw bad(`no size for ${file.path}`)
  }
  const named = (files as PinnedFile[]).map(({ path, bytes, sha256 }) => ({ path, bytes, sha256 }))
  if (new Set(named.map(({ path }) => path)).size !== 2 || named.length !== 2) {
    throw bad(`it must name ${MODEL_FILE} and ${TOKENIZER_FILE}, each once`)
  }
  return { id, dimension, files: named }
}

const bad = (why: string): CtxError =>
  new CtxError("bad-manifest", `the manifest cannot be used: ${why}`, { hint: "docs/models.md shows one" })
