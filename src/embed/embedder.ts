/**
 * Text → vectors, by the best that this machine can do: the installed model on the native runtime, the same on
 * WebAssembly, or hashed words where there is no model. Slow to load: only the background job and commands that ask
 * for meaning come here.
 */
import { CtxError } from "../util/errors.ts"
import { logError } from "../util/log.ts"
import { HASHED_DIMENSION, HASHED_ID, hashedVector } from "./hashed.ts"
import { damageOfModel, type InstalledModel, installedModel } from "./model-files.ts"
import { deaths, forgiveDeaths, guarded, isNativeTrusted } from "./native-guard.ts"
import { piecesOf } from "./pieces.ts"
import type { Runtime } from "./runtime.ts"
import type { NativeFiles } from "./runtime-files.ts"
import type { SentenceModel } from "./transformers.ts"

export type RuntimeName = Runtime["name"] | "hashed"

export interface Embedder {
  /** Names what made a vector. Vectors of different ids are never compared. */
  readonly id: string
  readonly dimension: number
  readonly runtime: RuntimeName
  /** The text in pieces of at most 256 tokens. */
  pieces(text: string): string[]
  /** Of length 1; one piece at a time, since more at once need more memory and are no faster. */
  embed(piece: string): Promise<Float32Array>
}

export interface EmbedderPlace {
  readonly dataHome: string
  readonly stateHome: string
}

/** The id of what `openEmbedder` would give, without loading it. */
export function embedderId(dataHome: string): string {
  return readInstalled(dataHome)?.embedder ?? HASHED_ID
}

/**
 * @param only the runtime to use, and no other
 * @throws when `only` does not work here; without it there is always an embedder
 */
export async function openEmbedder(place: EmbedderPlace, only?: RuntimeName): Promise<Embedder> {
  const installed = only === "hashed" ? undefined : readInstalled(place.dataHome)
  if (installed === undefined) return hashed
  for (const name of ["native", "wasm"] as const) {
    if (only !== undefined && only !== name) continue
    try {
      if (name === "native" && deaths(place.stateHome) > 0) await mendRuntime(place)
      if (only === undefined && name === "native" && !isNativeTrusted(place.stateHome)) continue
      return await modelEmbedder(installed, name, place)
    } catch (error) {
      if (only !== undefined) throw error
      logError(place.stateHome, { event: `embed-${name}`, error })
    }
  }
  return hashed
}

/**
 * For whoever keeps the vectors: a model whose files have changed since it was installed would make others under the same
 * name. Reads every byte of it, which takes 30 ms.
 */
export async function openSoundEmbedder(place: EmbedderPlace): Promise<Embedder> {
  const installed = readInstalled(place.dataHome)
  const damage = installed && damageOfModel(installed)
  if (damage === undefined) return openEmbedder(place)
  logError(place.stateHome, { event: "embed", error: new CtxError("model-damaged", damage) })
  return hashed
}

/**
 * Looks at every byte of the native runtime's files, and writes damaged ones out anew.
 *
 * @returns whether they were damaged
 */
export async function mendRuntime({ stateHome }: Pick<EmbedderPlace, "stateHome">): Promise<boolean> {
  try {
    const mended = await (await import("./runtime-files.ts")).mendNative(stateHome)
    if (mended) forgiveDeaths(stateHome)
    return mended
  } catch (error) {
    logError(stateHome, { event: "embed-native", error })
    return false
  }
}

/** Tells whether the native runtime would be used, for `model status`. */
export async function nativeState({
  stateHome,
}: Pick<EmbedderPlace, "stateHome">): Promise<NativeFiles | "distrusted"> {
  const found = (await import("./runtime-files.ts")).nativeFiles(stateHome, true)
  return found === "ok" && !isNativeTrusted(stateHome) ? "distrusted" : found
}

/** Writes the native runtime out, so that the first vector need not wait for it. Where that fails, nothing is lost. */
export async function prepareRuntime({ stateHome }: Pick<EmbedderPlace, "stateHome">): Promise<void> {
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
  // As many letters as a model's tokens have in English, about.
  pieces: (text) => piecesOf(text, (piece) => Math.ceil(piece.length / 4)),
  embed: async (piece) => hashedVector(piece),
}

/** A manifest that cannot be read is as good as none. */
function readInstalled(dataHome: string): InstalledModel | undefined {
  try {
    return installedModel(dataHome)
  } catch {
    return undefined
  }
}

async function modelEmbedder(
  { manifest, folder, embedder }: InstalledModel,
  name: Runtime["name"],
  { stateHome }: EmbedderPlace,
): Promise<Embedder> {
  const load = async (runtime: Runtime): Promise<SentenceModel> => {
    // Read once, when the package is evaluated by the import below.
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
