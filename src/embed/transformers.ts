/**
 * The door of @huggingface/transformers: text → tokens → vectors, with the runtime that was put under its symbol before
 * this file was imported (embedder.ts). The package asks for files by address; it gets ours, and never a server's.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
// The build for browsers (build/runtime.ts): the one for Node wants sharp and files that are not in a binary.
import { env, pipeline } from "../../dist/runtime/transformers.js"
import { DIMENSION, MODEL_FILE, TOKENIZER_FILE } from "./manifest.ts"
import { toLengthOne } from "./quantise.ts"
import type { Runtime } from "./runtime.ts"

/** What the package wants to know besides the pinned files. The rest of a BERT's settings is in the model itself. */
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

/** A folder that does not exist: the files are answered for by name. */
const NOWHERE = "/model/"

export interface SentenceModel {
  /** Tokens of a text, with the two that the model adds. */
  tokens(text: string): number
  /** Mean of the tokens' vectors, of length 1. */
  embed(text: string): Promise<Float32Array>
}

/** @param folder of the installed model */
export async function loadModel(folder: string, runtime: Runtime): Promise<SentenceModel> {
  env.allowRemoteModels = false
  env.allowLocalModels = true
  env.localModelPath = NOWHERE
  env.useBrowserCache = false
  env.useWasmCache = false
  env.useCustomCache = true
  env.customCache = {
    match: async (address: string) => answer(address, folder, runtime),
    put: async () => {},
  } as unknown as NonNullable<typeof env.customCache>
  const pipe = await pipeline("feature-extraction", "m", {
    dtype: "q8",
    // Any other would be looked up in a list that is empty with a runtime of ours.
    device: "auto",
    session_options: {
      executionProviders: [runtime.provider],
      // More threads fight for the same processor with whatever the user does, and are slower then.
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    },
  })
  return {
    tokens: (text) => pipe.tokenizer.encode(text).length,
    async embed(text) {
      const inputs = await pipe.tokenizer(text, { truncation: true })
      const { last_hidden_state: states } = await pipe.model(inputs)
      return meanOf(states.data as Float32Array)
    },
  }
}

/**
 * The package's own pooling takes 2 ms, a tenth of all. One text has no padding: every token counts.
 *
 * @param states a vector for each token
 */
function meanOf(states: Float32Array): Float32Array {
  const sum = new Float32Array(DIMENSION)
  for (let at = 0; at < states.length; at += DIMENSION) {
    for (let n = 0; n < DIMENSION; n++) sum[n]! += states[at + n]!
  }
  // The mean has the same direction.
  return toLengthOne(sum)
}

/** The package asks for `/model/m/<file>`, and for the same below its own server. */
function answer(address: string, folder: string, runtime: Runtime): Response | string | undefined {
  const name = [MODEL_FILE, TOKENIZER_FILE, ...Object.keys(SMALL_FILES)].find((one) =>
    address.endsWith(`/${one}`),
  )
  if (name === undefined) return undefined
  const small = SMALL_FILES[name]
  if (small !== undefined) return Response.json(small)
  const path = join(folder, name)
  return name === MODEL_FILE && runtime.readsFiles ? path : new Response(readFileSync(path))
}
