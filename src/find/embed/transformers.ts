/**
 * The only file that imports @huggingface/transformers: text → tokens → vectors, on the runtime that embedder.ts puts
 * under the package's symbol before importing this file. The package requests files by address; it is given ours and
 * never reaches a server.
 */
import { readFileSync } from "node:fs"
// The build for browsers (build/runtime.ts): the one for Node needs sharp and files that a binary does not have.
import { env, pipeline } from "../../../dist/runtime/transformers.js"
import { CtxError } from "../../base/errors.ts"
import { pathIn, type UsableModel } from "./model-files.ts"
import { DIMENSION, MODEL_FILE, TOKENIZER_FILE } from "./model-manifest.ts"
import { toLengthOne } from "./quantise.ts"
import type { ModelSession, Runtime, TensorLike } from "./runtime.ts"

/** Files that the package requests besides the pinned ones. The rest of BERT's settings is in the model itself. */
const SMALL_FILES: Readonly<Record<string, object>> = {
  "config.json": { model_type: "bert", architectures: ["BertModel"], hidden_size: DIMENSION },
  "tokenizer_config.json": {
    tokenizer_class: "BertTokenizer",
    do_lower_case: true,
    model_max_length: 512,
    unk_token: "[UNK]",
    sep_token: "[SEP]",
    pad_token: "[PAD]",
    cls_token: "[CLS]",
    mask_token: "[MASK]",
  },
}

/** This folder does not exist: files are answered by name. */
const NOWHERE = "/model/"

export interface SentenceModel {
  /** Number of tokens in a text, including the two that the model adds. */
  tokens(text: string): number
  /** The mean of the tokens' vectors, scaled to length 1. */
  embed(text: string): Promise<Float32Array>
}

export async function loadModel(model: UsableModel, runtime: Runtime): Promise<SentenceModel> {
  env.allowRemoteModels = false
  env.allowLocalModels = true
  env.localModelPath = NOWHERE
  env.useBrowserCache = false
  env.useWasmCache = false
  env.useCustomCache = true
  env.customCache = {
    match: async (address: string) => answer(address, model, runtime),
    put: async () => {},
  } as unknown as NonNullable<typeof env.customCache>
  const pipe = await pipeline("feature-extraction", "m", {
    dtype: "q8",
    // Any other value would be looked up in a list that is empty with our runtime.
    device: "auto",
    session_options: {
      executionProviders: [runtime.provider],
      // More threads compete with the user's work for the processor and are slower then.
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    },
  })
  const session = sessionOf(pipe.model)
  const encode = remembering((text) => pipe.tokenizer.encode(text))
  return {
    tokens: (text) => encode(text).length,
    async embed(text) {
      const { [STATES]: states } = await session.run(inputsOf(session, cutToSize(encode(text)), runtime))
      return meanOf(states!.data as Float32Array)
    },
  }
}

/** How many texts' tokens are cached: they are counted to split a text into pieces, then used again. */
const REMEMBERED = 32

function remembering(encode: (text: string) => readonly number[]): typeof encode {
  const known = new Map<string, readonly number[]>()
  return (text) => {
    let ids = known.get(text)
    if (ids === undefined) {
      ids = encode(text)
      if (known.size >= REMEMBERED) known.clear()
      known.set(text, ids)
    }
    return ids
  }
}

/** The output whose mean is the text's vector. */
const STATES = "last_hidden_state"

/**
 * The session that the package opened. Its own path from text to vector copies all inputs and outputs, a tenth of the
 * time.
 */
function sessionOf(model: unknown): ModelSession {
  const { sessions } = model as { sessions?: { model?: ModelSession } }
  const session = sessions?.model
  if (session === undefined || !session.outputNames.includes(STATES)) {
    throw new CtxError("bad-model", `the model has no output ${STATES}`)
  }
  return session
}

/** BERT has no positions beyond this. */
const MOST = 512

/** Keeps the last token, which marks the end. */
const cutToSize = (ids: readonly number[]): readonly number[] =>
  ids.length <= MOST ? ids : [...ids.slice(0, MOST - 1), ids.at(-1)!]

/** A single text: all tokens count, and all belong to one sentence. */
function inputsOf(
  { inputNames }: ModelSession,
  ids: readonly number[],
  { module }: Runtime,
): Record<string, TensorLike> {
  const { length } = ids
  const values: Readonly<Record<string, () => BigInt64Array>> = {
    input_ids: () => BigInt64Array.from(ids, BigInt),
    attention_mask: () => new BigInt64Array(length).fill(1n),
    token_type_ids: () => new BigInt64Array(length),
  }
  const inputs: Record<string, TensorLike> = {}
  for (const name of inputNames) {
    const value = values[name]
    if (value === undefined) throw new CtxError("bad-model", `the model asks for ${JSON.stringify(name)}`)
    inputs[name] = new module.Tensor("int64", value(), [1, length])
  }
  return inputs
}

/**
 * The package's own pooling takes 2 ms, a tenth of the whole. A single text has no padding, so every token counts.
 *
 * @param states one vector per token
 */
function meanOf(states: Float32Array): Float32Array {
  const sum = new Float32Array(DIMENSION)
  for (let at = 0; at < states.length; at += DIMENSION) {
    for (let n = 0; n < DIMENSION; n++) sum[n]! += states[at + n]!
  }
  // The sum has the same direction as the mean.
  return toLengthOne(sum)
}

/** The package requests `/model/m/<file>`, and the same file from its own server. */
function answer(address: string, model: UsableModel, runtime: Runtime): Response | string | undefined {
  const name = [MODEL_FILE, TOKENIZER_FILE, ...Object.keys(SMALL_FILES)].find((one) =>
    address.endsWith(`/${one}`),
  )
  if (name === undefined) return undefined
  const small = SMALL_FILES[name]
  if (small !== undefined) return Response.json(small)
  const path = pathIn(model, name)
  return name === MODEL_FILE && runtime.readsFiles ? path : new Response(readFileSync(path))
}
