/** The models there are, in a folder or in the binary: their files, and whether they match the manifest. */

import { existsSync, readFileSync, statSync } from "node:fs"
// Empty in a binary that carries none (build/model.ts).
import carriedTokenizer from "../../../dist/model/tokenizer.bin" with { type: "file" }
import carriedWeights from "../../../dist/model/weights.bin" with { type: "file" }
import { isMissing, messageOf } from "../../base/errors.ts"
import { join } from "../../base/path.ts"
import type { Config } from "../../config/options.ts"
import type { Database } from "../../views/database.ts"
import { type VectorTotals, vectorTotals } from "../../views/vectors.ts"
import { HASHED_ID } from "./hashed-words.ts"
import {
  checkFile,
  type FileState,
  type Manifest,
  MINILM,
  MODEL_FILE,
  parseManifest,
} from "./model-manifest.ts"

export const modelFolder = (dataHome: string): string => join(dataHome, "models")

/** Describes what was installed. Written last: if it exists, the files were complete. */
export const manifestFile = (dataHome: string): string => join(modelFolder(dataHome), "manifest.json")

/** A model that can make vectors. */
export interface UsableModel {
  readonly manifest: Manifest
  /** Where it is installed; undefined: the binary carries it. */
  readonly folder: string | undefined
  /** Identifies what its vectors are made by. Another file under the same name gives another id. */
  readonly embedder: string
  /** Whether it is the model that ctxbridge was made for. */
  readonly isPinned: boolean
}

interface InstalledModel extends UsableModel {
  readonly folder: string
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
  return ifWhole({
    manifest,
    folder: folderOfModel(dataHome, manifest),
    embedder: nameOf(manifest),
    isPinned: nameOf(manifest) === nameOf(MINILM),
  })
}

/** The model in this binary; undefined when it was built without. */
export const carriedModel = (): UsableModel | undefined =>
  ifWhole({ manifest: MINILM, folder: undefined, embedder: nameOf(MINILM), isPinned: true })

function ifWhole<Model extends UsableModel>(model: Model): Model | undefined {
  const isWhole = model.manifest.files.every(
    ({ path, bytes }) => statSync(pathIn(model, path), { throwIfNoEntry: false })?.size === bytes,
  )
  return isWhole ? model : undefined
}

/** Where a file of the model can be read. Only this program can read what the binary carries. */
export function pathIn({ folder }: Pick<UsableModel, "folder">, path: string): string {
  if (folder !== undefined) return join(folder, path)
  return path === MODEL_FILE ? carriedWeights : carriedTokenizer
}

/** Whether a path is that of a file inside this binary, which is no file for other programs or libraries. */
export const isCarried = (path: string): boolean => Bun.isStandaloneExecutable && path === carriedWeights

interface ModelState {
  /** What vectors are made by: an installed model, else the carried one. */
  readonly model?: UsableModel
  /** Why an installed model is not used. */
  readonly problem?: string
}

/** Checks only the sizes of its files. */
export function modelState(dataHome: string): ModelState {
  try {
    const installed = installedModel(dataHome)
    if (installed !== undefined) return { model: installed }
    return withCarried(
      existsSync(manifestFile(dataHome)) ? "its files are missing or of another size" : undefined,
    )
  } catch (error) {
    return withCarried(messageOf(error))
  }
}

function withCarried(problem: string | undefined): ModelState {
  const model = carriedModel()
  return { ...(model && { model }), ...(problem !== undefined && { problem }) }
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
  readonly state: FileState
}

export const checkFiles = (model: Pick<UsableModel, "folder" | "manifest">): FileCheck[] =>
  model.manifest.files.map((file) => ({ path: file.path, state: checkFile(pathIn(model, file.path), file) }))

/** What is wrong with a model's files; undefined when every byte is as it should be. */
export function damageOfModel(model: UsableModel): string | undefined {
  const damaged = checkFiles(model).filter(({ state }) => state !== "ok")
  if (damaged.length === 0) return undefined
  return `${damaged.map(({ path }) => path).join(", ")} in ${model.folder ?? "this binary"}: not as installed`
}

/* Which embedder is in use, and how many turns have its vectors. Loads no model. */

interface Standing extends VectorTotals {
  readonly embedder: string
  /** The model that is used; null: vectors are made of hashed words. */
  readonly model: string | null
  /** Why an installed model is not used. */
  readonly problem: string | null
}

/** What `status` tells of it. */
export interface EmbeddingStatus extends Standing {
  /** The option `search.meaning`. */
  readonly meaning: Config["search.meaning"]
}

export function standingOf(db: Database, dataHome: string): Standing {
  const { model, problem } = modelState(dataHome)
  const embedder = model?.embedder ?? HASHED_ID
  return {
    embedder,
    model: model?.manifest.id ?? null,
    problem: problem ?? null,
    ...vectorTotals(db, embedder),
  }
}
