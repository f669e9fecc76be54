/**
 * Sentence models for tests: a BERT in 8-bit numbers with random weights from a seed, of a few kilobytes or the size of
 * all-MiniLM-L6-v2, with the same kind of tokenizer. Every program can load them, but they know no meaning.
 */
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { sha256Of } from "../../src/base/sha256.ts"
import { type Manifest, MODEL_FILE, TOKENIZER_FILE } from "../../src/find/embed/model-manifest.ts"
import { Graph, type Message } from "./onnx-file.ts"

interface Shape {
  readonly words: number
  readonly layers: number
  readonly inner: number
  readonly positions: number
}

const HIDDEN = 384
const HEADS = 12

export const TINY: Shape = { words: 1000, layers: 1, inner: 64, positions: 512 }
/** 6 layers, 22.7 MB: takes as much time and memory as the real one. */
export const MINILM_SIZED: Shape = { words: 30_522, layers: 6, inner: 1536, positions: 512 }

/**
 * Writes a model into a folder, laid out like a model repository.
 *
 * @returns its manifest, also written as `manifest.json`
 */
export function writeModel(folder: string, shape: Shape, id: string, seed = 1): Manifest {
  const files = [MODEL_FILE, TOKENIZER_FILE].map((path) => join(folder, path))
  for (const file of files) mkdirSync(dirname(file), { recursive: true })
  const fd = openSync(files[0]!, "w")
  for (const part of bert(shape, seed).parts) writeSync(fd, part)
  closeSync(fd)
  writeFileSync(files[1]!, JSON.stringify(tokenizer(shape.words)))
  const manifest: Manifest = {
    id,
    dimension: HIDDEN,
    files: [MODEL_FILE, TOKENIZER_FILE].map((path, n) => ({
      path,
      bytes: Bun.file(files[n]!).size,
      sha256: sha256Of(files[n]!),
    })),
  }
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest))
  return manifest
}

/** Small numbers around 0, always the same for a seed. */
function noise(seed: number): (length: number) => Int8Array {
  let state = seed
  return (length) => {
    const values = new Int8Array(length)
    for (let n = 0; n < length; n++) {
      // The sum of three bytes of a linear congruential step is close enough to a bell curve.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
      values[n] = ((state >> 24) + ((state << 8) >> 24) + ((state << 16) >> 24)) / 3
    }
    return values
  }
}

/** Value of one step of an 8-bit weight. */
const STEP = 0.0015

function bert({ words, layers, inner, positions }: Shape, seed: number): Message {
  const graph = new Graph()
  const weights = noise(seed)
  let matrices = 0
  const zeros = (name: string, size: number) => graph.floats(name, [size], new Float32Array(size))
  graph.bytes("zero8", [], new Int8Array(1))
  graph.number("step", STEP)
  const table = (name: string, rows: number, ids: string): string => {
    const chosen = graph.op("Gather", [graph.bytes(name, [rows, HIDDEN], weights(rows * HIDDEN)), ids])
    return graph.op("DequantizeLinear", [chosen, "step", "zero8"])
  }
  const normal = (x: string, name: string): string => {
    const gain = graph.floats(`${name}.gain`, [HIDDEN], new Float32Array(HIDDEN).fill(1))
    return graph.op("LayerNormalization", [x, gain, zeros(`${name}.bias`, HIDDEN)], {
      axis: { int: -1 },
      epsilon: { float: 1e-12 },
    })
  }
  /** Activations are quantized to 8 bits on the fly, as in the real model. */
  const quantized = (x: string): readonly string[] => graph.ops("DynamicQuantizeLinear", [x], 3)
  const linear = ([q, scale, zero]: readonly string[], name: string, from: number, to: number): string => {
    graph.bytes(name, [from, to], weights(from * to))
    const product = graph.op("Cast", [graph.op("MatMulInteger", [q!, name, zero!, "zero8"])], {
      to: { int: 1 },
    })
    // Unique, as in a real model: the runtime merges equal values, and then does not fuse the operations around them.
    const step = graph.number(`${name}.step`, STEP * (1 + ++matrices / 1000))
    const scaled = graph.op("Mul", [product, graph.op("Mul", [scale!, step])])
    return graph.op("Add", [scaled, zeros(`${name}.bias`, to)])
  }

  graph.integers("positions", [...Array(positions).keys()], [1, positions])
  graph.integers("first", [0])
  graph.integers("second", [1])
  graph.integers("middle", [1, 2])
  const length = graph.op("Gather", [graph.op("Shape", ["input_ids"]), "second"])
  const places = graph.op("Slice", ["positions", "first", length, "second"])
  const sum = graph.op("Add", [table("words", words, "input_ids"), table("types", 2, "token_type_ids")])
  let x = normal(graph.op("Add", [sum, table("places", positions, places)]), "embedding")

  for (const [name, value] of Object.entries({
    one: 1,
    half: 0.5,
    root: Math.SQRT2,
    least: -3e38,
    scale: Math.sqrt(HIDDEN / HEADS),
  })) {
    graph.number(name, value)
  }
  const mask = graph.op("Cast", [graph.op("Unsqueeze", ["attention_mask", "middle"])], { to: { int: 1 } })
  const hidden = graph.op("Mul", [graph.op("Sub", ["one", mask]), "least"])
  graph.integers("heads", [0, 0, HEADS, HIDDEN / HEADS])
  graph.integers("joined", [0, 0, HIDDEN])
  for (let n = 0; n < layers; n++) {
    const input = quantized(x)
    const head = (name: string, order: readonly number[]): string =>
      graph.op("Transpose", [graph.op("Reshape", [linear(input, `${name}${n}`, HIDDEN, HIDDEN), "heads"])], {
        perm: { ints: order },
      })
    const query = head("query", [0, 2, 1, 3])
    const key = head("key", [0, 2, 3, 1])
    const content = head("value", [0, 2, 1, 3])
    const score = graph.op("Div", [graph.op("MatMul", [query, key]), "scale"])
    const share = graph.op("Softmax", [graph.op("Add", [score, hidden])], { axis: { int: -1 } })
    const mixed = graph.op("Transpose", [graph.op("MatMul", [share, content])], {
      perm: { ints: [0, 2, 1, 3] },
    })
    const attended = linear(quantized(graph.op("Reshape", [mixed, "joined"])), `out${n}`, HIDDEN, HIDDEN)
    x = normal(graph.op("Add", [attended, x]), `attention${n}`)
    const wide = linear(quantized(x), `wide${n}`, HIDDEN, inner)
    const bend = graph.op("Add", [graph.op("Erf", [graph.op("Div", [wide, "root"])]), "one"])
    const bent = graph.op("Mul", [graph.op("Mul", [wide, bend]), "half"])
    x = normal(graph.op("Add", [linear(quantized(bent), `narrow${n}`, inner, HIDDEN), x]), `layer${n}`)
  }
  return graph.model(["input_ids", "attention_mask", "token_type_ids"], x, ["batch", "sequence", HIDDEN])
}

const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
const SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

/** Letters, then pairs of letters until the vocabulary is full, so that every word of Latin letters has tokens. */
function vocabulary(words: number): Record<string, number> {
  const tokens = [...SPECIAL, ...SIGNS, ...LETTERS, ...[...LETTERS].map((letter) => `##${letter}`)]
  const pairs = [...LETTERS].flatMap((a) => [...LETTERS].flatMap((b) => [a + b, `##${a}${b}`]))
  const all = [...tokens, ...pairs].slice(0, words)
  // Matches no text, but makes the vocabulary as large as a real one.
  while (all.length < words) all.push(`[unused${all.length}]`)
  return Object.fromEntries(all.map((token, n) => [token, n]))
}

function tokenizer(words: number): object {
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  const named = (id: string) => ({ id, ids: [SPECIAL.indexOf(id)], tokens: [id] })
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [special("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, special("[SEP]")],
      pair: [],
      special_tokens: { "[CLS]": named("[CLS]"), "[SEP]": named("[SEP]") },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: vocabulary(words),
    },
  }
}
