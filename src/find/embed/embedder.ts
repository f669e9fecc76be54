/**
 * Turns text into vectors, in the best way this machine can: the model on the native runtime, the same model on
 * WebAssembly, or hashed words when there is no model. Slow to load, so only the background job and commands that
 * search by meaning import it.
 */

import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { CtxError, isMissing } from "../../base/errors.ts"
import { mkdirSync } from "../../base/fs.ts"
import { logError } from "../../base/log.ts"
import { isAlive } from "../../base/own-program.ts"
import { join } from "../../base/path.ts"
import type { Paths } from "../../config/load.ts"
import { HASHED_DIMENSION, HASHED_ID, hashedVector } from "./hashed-words.ts"
import { damageOfModel, modelState, type UsableModel } from "./model-files.ts"
import { toLengthOne } from "./quantise.ts"
import type { Runtime } from "./runtime.ts"
import type { NativeFiles } from "./runtime-files.ts"
import type { QueryVector } from "./semantic-search.ts"
import type { SentenceModel } from "./transformers.ts"

export type RuntimeName = Runtime["name"] | "hashed"

export interface Embedder {
  /** Identifies what made a vector. Vectors with different ids are never compared. */
  readonly id: string
  readonly dimension: number
  readonly runtime: RuntimeName
  /** Splits the text into pieces of at most 256 tokens. */
  pieces(text: string): string[]
  /** Whether it knows a word as a whole, and not only by pieces of which any letters can be made. */
  knows(word: string): boolean
  /** Returns a vector of length 1. Takes one piece at a time: batches need more memory and are no faster. */
  embed(piece: string): Promise<Float32Array>
}

/** The id of the embedder that `openEmbedder` would return, without loading it. */
export function embedderId(dataHome: string): string {
  return modelState(dataHome).model?.embedder ?? HASHED_ID
}

/**
 * @param only the one runtime to use
 * @throws when `only` does not work here; without it there is always an embedder
 */
export async function openEmbedder(
  paths: Pick<Paths, "dataHome" | "stateHome">,
  only?: RuntimeName,
): Promise<Embedder> {
  const model = only === "hashed" ? undefined : modelState(paths.dataHome).model
  if (model === undefined) return hashed
  for (const name of ["native", "wasm"] as const) {
    if (only !== undefined && only !== name) continue
    try {
      if (name === "native" && deaths(paths.stateHome) > 0) await mendRuntime(paths)
      if (only === undefined && name === "native" && !isNativeTrusted(paths.stateHome)) continue
      return await modelEmbedder(model, name, paths)
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
  const { model } = modelState(paths.dataHome)
  const damage = model && damageOfModel(model)
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
  knows: () => false,
  embed: async (piece) => hashedVector(piece),
}

async function modelEmbedder(
  usable: UsableModel,
  name: Runtime["name"],
  { stateHome }: Pick<Paths, "stateHome">,
): Promise<Embedder> {
  const load = async (runtime: Runtime): Promise<SentenceModel> => {
    // The package reads this once, when the import below evaluates it.
    Object.assign(globalThis, { [Symbol.for("onnxruntime")]: runtime.module })
    const model = await (await import("./transformers.ts")).loadModel(usable, runtime)
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
    id: usable.embedder,
    dimension: usable.manifest.dimension,
    runtime: name,
    pieces: (text) => piecesOf(text, (piece) => model.tokens(piece)),
    // Besides the two that mark beginning and end.
    knows: (word) => model.tokens(word) === 3,
    embed: (piece) => model.embed(piece),
  }
}

/** For a text longer than one piece, the mean of its pieces. */
export async function vectorOf(embedder: Embedder, text: string): Promise<QueryVector> {
  const values = new Float32Array(embedder.dimension)
  for (const piece of embedder.pieces(text)) {
    for (const [n, value] of (await embedder.embed(piece)).entries()) values[n]! += value
  }
  return { embedder: embedder.id, values: toLengthOne(values) }
}

/*
 * Native code can crash the whole process, for instance on a processor that lacks an instruction. Each process that
 * loads it leaves a marker until it has computed something; after three of dead processes, WebAssembly is used
 * instead.
 */

const MARK = "loading-native-"
/** One or two of them may have been killed by someone. */
const TOO_MANY = 3

const isNativeTrusted = (stateHome: string): boolean => deaths(stateHome) < TOO_MANY

/** How many processes have died while loading it since it last worked. */
const deaths = (stateHome: string): number =>
  marks(stateHome).filter((name) => !isAlive(Number(name.slice(MARK.length)))).length

/** Forgets those deaths, for instance because the files that caused them were replaced. */
function forgiveDeaths(stateHome: string): void {
  for (const name of marks(stateHome)) rmSync(join(stateHome, name), { force: true })
}

/** Runs `work`, which loads the native library and uses it for the first time. */
async function guarded<T>(stateHome: string, work: () => Promise<T>): Promise<T> {
  const own = join(stateHome, `${MARK}${process.pid}`)
  mkdirSync(stateHome, { recursive: true, mode: 0o700 })
  writeFileSync(own, "", { mode: 0o600 })
  try {
    const result = await work()
    // It works, so it did not kill the others.
    forgiveDeaths(stateHome)
    return result
  } finally {
    rmSync(own, { force: true })
  }
}

function marks(stateHome: string): string[] {
  try {
    return readdirSync(stateHome).filter((name) => name.startsWith(MARK))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/* Splits text into pieces that fit a model. Pure. */

/** Tokens that the model was made for, including the two it adds. */
export const MOST_TOKENS = 256
/** Only this much of a long text is embedded: nobody searches for a pasted file by its meaning. */
export const MOST_PIECES = 16
/** UTF-16 units that in most texts make fewer than MOST_TOKENS tokens. */
const LIKELY = 900
/** A shorter remainder stays with the piece before it, if it fits. */
const WORTH_IT = 40

/** @param tokens counts a text's tokens the way the model does */
export function piecesOf(text: string, tokens: (text: string) => number): string[] {
  const pieces: string[] = []
  // Longer than all pieces together can be, so the rest need not be tokenised.
  let rest = text.trim().slice(0, MOST_PIECES * MOST_TOKENS * 8)
  while (rest !== "" && pieces.length < MOST_PIECES) {
    let length = rest.length <= LIKELY + WORTH_IT ? rest.length : breakBefore(rest, LIKELY)
    while (length > 1 && tokens(rest.slice(0, length)) > MOST_TOKENS) {
      length = breakBefore(rest, Math.floor(length / 2))
    }
    const piece = rest.slice(0, length).trim()
    if (piece !== "") pieces.push(piece)
    rest = rest.slice(length).trimStart()
  }
  return pieces
}

/**
 * Where to cut, at `limit` or before: after a paragraph, a sentence or a word, otherwise anywhere but inside a
 * surrogate pair.
 */
function breakBefore(text: string, limit: number): number {
  const head = text.slice(0, limit)
  const least = Math.floor(limit / 2)
  for (const mark of [/\n\s*\n/g, /\n/g, /[.!?;:。！？]\s/g, /\s/g]) {
    let at = -1
    for (const match of head.matchAll(mark)) at = match.index + match[0].length
    if (at > least) return at
  }
  const unit = text.charCodeAt(limit - 1)
  return limit > 1 && unit >= 0xd800 && unit <= 0xdbff ? limit - 1 : Math.max(1, limit)
}
