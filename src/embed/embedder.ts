/**
 * Turns text into vectors, in the best way this machine can: the installed model on the native runtime, the same model
 * on WebAssembly, or hashed words when there is no model. Slow to load, so only the background job and commands that
 * search by meaning import it.
 */
import type { Paths } from "../config/load.ts"
import { CtxError } from "../util/errors.ts"
import { logError } from "../util/log.ts"
import { HASHED_DIMENSION, HASHED_ID, hashedVector } from "./hashed-words.ts"
import { damageOfModel, type InstalledModel, modelState } from "./model-files.ts"
import { deaths, forgiveDeaths, guarded, isNativeTrusted } from "./native-guard.ts"
import { toLengthOne } from "./quantise.ts"
import type { Runtime } from "./runtime.ts"
import type { NativeFiles } from "./runtime-files.ts"
import type { QueryVector } from "./semantic-search.ts"
import { piecesOf } from "./text-pieces.ts"
import type { SentenceModel } from "./transformers.ts"

export type RuntimeName = Runtime["name"] | "hashed"

export interface Embedder {
  /** Identifies what made a vector. Vectors with different ids are never compared. */
  readonly id: string
  readonly dimension: number
  readonly runtime: RuntimeName
  /** Splits the text into pieces of at most 256 tokens. */
  pieces(text: string): string[]
  /** Returns a vector of length 1. Takes one piece at a time: batches need more memory and are no faster. */
  embed(piece: string): Promise<Float32Array>
}

/** The id of the embedder that `openEmbedder` would return, without loading it. */
export function embedderId(dataHome: string): string {
  return modelState(dataHome).installed?.embedder ?? HASHED_ID
}

/**
 * @param only the one runtime to use
 * @throws when `only` does not work here; without it there is always an embedder
 */
export async function openEmbedder(
  paths: Pick<Paths, "dataHome" | "stateHome">,
  only?: RuntimeName,
): Promise<Embedder> {
  const installed = only === "hashed" ? undefined : modelState(paths.dataHome).installed
  if (installed === undefined) return hashed
  for (const name of ["native", "wasm"] as const) {
    if (only !== undefined && only !== name) continue
    try {
      if (name === "native" && deaths(paths.stateHome) > 0) await mendRuntime(paths)
      if (only === undefined && name === "native" && !isNativeTrusted(paths.stateHome)) continue
      return await modelEmbedder(installed, name, paths)
    } catch (error) {
      if (only !== undefined) throw error
      logError(paths.stateHome, { event: `embed-${name}`, error })
    }
  }
  return hashed
}

/**
 * For callers that store vectors: a model whose files changed after installation would make different vectors under the
 * same id. Reads every byte of the model, which takes 30 ms.
 */
export async function openSoundEmbedder(paths: Pick<Paths, "dataHome" | "stateHome">): Promise<Embedder> {
  const { installed } = modelState(paths.dataHome)
  const damage = installed && damageOfModel(installed)
  if (damage === undefined) return openEmbedder(paths)
  logError(paths.stateHome, { event: "embed", error: new CtxError("model-damaged", damage) })
  return hashed
}

/**
 * Checks every byte of the native runtime's files and replaces damaged ones.
 *
 * @returns whether any were damaged
 */
export async function mendRuntime({ stateHome }: Pick<Paths, "stateHome">): Promise<boolean> {
  try {
    const mended = await (await import("./runtime-files.ts")).mendNative(stateHome)
    if (mended) forgiveDeaths(stateHome)
    return mended
  } catch (error) {
    logError(stateHome, { event: "embed-native", error })
    return false
  }
}

/** Whether the native runtime would be used, for `model status`. */
export async function nativeState({
  stateHome,
}: Pick<Paths, "stateHome">): Promise<NativeFiles | "distrusted"> {
  const found = (await import("./runtime-files.ts")).nativeFiles(stateHome, true)
  return found === "ok" && !isNativeTrusted(stateHome) ? "distrusted" : found
}

/** Writes the native runtime to disk so that the first vector need not wait for it. A failure does no harm. */
export async function prepareRuntime({ stateHome }: Pick<Paths, "stateHome">): Promise<void> {
  try {
    await (await import("./runtime-files.ts")).nativeRuntime(stateHome)
  } catch (error) {
    logError(stateHome, { event: "embed-native", error })
  }
}

const hashed: Embedder = {
  id: HASHED_ID,
  dimension: HASHED_DIMENSION,
  runtime: "hashed",
  // About as many letters as a model's tokens have in English.
  pieces: (text) => piecesOf(text, (piece) => Math.ceil(piece.length / 4)),
  embed: async (piece) => hashedVector(piece),
}

async function modelEmbedder(
  { manifest, folder, embedder }: InstalledModel,
  name: Runtime["name"],
  { stateHome }: Pick<Paths, "stateHome">,
): Promise<Embedder> {
  const load = async (runtime: Runtime): Promise<SentenceModel> => {
    // The package reads this once, when the import below evaluates it.
    Object.assign(globalThis, { [Symbol.for("onnxruntime")]: runtime.module })
    const model = await (await import("./transformers.ts")).loadModel(folder, runtime)
    await model.embed("warm")
    return model
  }
  const model =
    name === "wasm"
      ? await load((await import("./ort-wasm.ts")).loadWasm())
      : await guarded(stateHome, async () =>
          load(await (await import("./ort-native.ts")).loadNative(stateHome)),
        )
  return {
    id: embedder,
    dimension: manifest.dimension,
    runtime: name,
    pieces: (text) => piecesOf(text, (piece) => model.tokens(piece)),
    embed: (piece) => model.embed(piece),
  }
}

/** Uses the embedder that made the archive's vectors. Loads the model, which takes 0.1 to 0.4 s. */
export async function queryVector(
  paths: Pick<Paths, "dataHome" | "stateHome">,
  text: string,
): Promise<QueryVector> {
  return vectorOf(await openEmbedder(paths), text)
}

/** For a text longer than one piece, the mean of its pieces. */
export async function vectorOf(embedder: Embedder, text: string): Promise<QueryVector> {
  const values = new Float32Array(embedder.dimension)
  for (const piece of embedder.pieces(text)) {
    for (const [n, value] of (await embedder.embed(piece)).entries()) values[n]! += value
  }
  return { embedder: embedder.id, values: toLengthOne(values) }
}
