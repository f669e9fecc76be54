/**
 * What a model is made of, file by file, and the one that ctxbridge was made for. Imports nothing that a build has to
 * make: the build asks it whether the files are the right ones.
 *
 * The hashes are those of the int8 export of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). A file that differs
 * by one byte is not used.
 */

import { existsSync, readFileSync, statSync } from "node:fs"
import { CtxError } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { basename, join } from "../../base/path.ts"

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

export type FileState = "ok" | "missing" | "differs"

/** @param path where the file is; what a binary carries can only be read as a whole */
export function checkFile(path: string, { bytes, sha256 }: PinnedFile): FileState {
  if (!existsSync(path)) return "missing"
  if (statSync(path).size !== bytes) return "differs"
  const hash = new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex")
  return hash === sha256 ? "ok" : "differs"
}

/** Where a folder that somebody names has the file: in the layout of the model's repository, or directly. */
export function sourceOf(from: string, { path }: PinnedFile): string {
  const nested = join(from, path)
  return existsSync(nested) ? nested : join(from, basename(path))
}

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
