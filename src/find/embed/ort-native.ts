/**
 * ONNX Runtime's native library behind the interface of onnxruntime-common; the only file that imports that package.
 * The package for Node cannot be used: it looks for its files next to itself, where a compiled binary has none.
 */

import { readFileSync } from "node:fs"
import { type Backend, env, InferenceSession, registerBackend, Tensor } from "onnxruntime-common"
import { setVariable } from "../../base/libc.ts"
import { isCarried } from "./model-files.ts"
import type { Runtime } from "./runtime.ts"
import { mendNative, nativeRuntime } from "./runtime-files.ts"

type Handler = Awaited<ReturnType<Backend["createInferenceSessionHandler"]>>
type Metadata = Handler["inputMetadata"]

/** What the binding reports about an input or output. */
interface NativeValue {
  readonly name: string
  readonly isTensor: boolean
  readonly type: number
  readonly shape: readonly number[]
  readonly symbolicDimensions: readonly string[]
}

interface NativeSession {
  loadModel(path: string, options: object): void
  loadModel(buffer: ArrayBufferLike, offset: number, length: number, options: object): void
  readonly inputMetadata: readonly NativeValue[]
  readonly outputMetadata: readonly NativeValue[]
  run: Handler["run"] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
  dispose(): void
}

interface Binding {
  readonly InferenceSession: new () => NativeSession
  initOrtOnce(logLevel: number, tensor: typeof Tensor, logToStderr: boolean): void
}

const ELEMENTS: Readonly<Record<number, Tensor.Type>> = {
  1: "float32",
  2: "uint8",
  3: "int8",
  6: "int32",
  7: "int64",
}
/** Only errors and worse: nobody reads stderr here. */
const LOG_ERRORS = 3

/** Loaded once per process: the backend registers itself, and a second model finds it there. */
let loaded: Runtime | undefined

/** Rejects when the library cannot be written to disk or loaded. */
export async function loadNative(stateHome: string): Promise<Runtime> {
  loaded ??= await load(stateHome)
  return loaded
}

async function load(stateHome: string): Promise<Runtime> {
  // Must be set before the library is loaded: 1.30 otherwise sends usage data, and it reads this once.
  setVariable("ORT_DISABLE_TELEMETRY", "1")
  const file = { exports: {} as Binding }
  const path = await nativeRuntime(stateHome)
  try {
    process.dlopen(file, path)
  } catch (error) {
    if (!(await mendNative(stateHome))) throw error
    process.dlopen(file, path)
  }
  const binding = file.exports
  binding.initOrtOnce(LOG_ERRORS, Tensor, true)
  registerBackend(
    "cpu",
    {
      init: async () => {},
      createInferenceSessionHandler: async (model, options) => {
        const session = new binding.InferenceSession()
        if (typeof model === "string" && !isCarried(model)) session.loadModel(model, options ?? {})
        else {
          // The library cannot open what is inside the binary.
          const bytes = typeof model === "string" ? readFileSync(model) : model
          session.loadModel(bytes.buffer, bytes.byteOffset, bytes.byteLength, options ?? {})
        }
        return handlerOf(session)
      },
    },
    100,
  )
  return { name: "native", module: { Tensor, InferenceSession, env }, provider: "cpu", readsFiles: true }
}

function handlerOf(session: NativeSession): Handler {
  const inputMetadata = metadataOf(session.inputMetadata)
  const outputMetadata = metadataOf(session.outputMetadata)
  return {
    inputMetadata,
    outputMetadata,
    inputNames: inputMetadata.map(({ name }) => name),
    outputNames: outputMetadata.map(({ name }) => name),
    run: async (feeds, fetches, options) => session.run(feeds, fetches, options),
    dispose: async () => session.dispose(),
    startProfiling() {},
    endProfiling() {},
  }
}

const metadataOf = (values: readonly NativeValue[]): Metadata =>
  values.map(({ name, isTensor, type, shape, symbolicDimensions }) =>
    isTensor
      ? {
          name,
          isTensor,
          type: ELEMENTS[type] ?? "float32",
          shape: shape.map((size, n) => (size === -1 ? (symbolicDimensions[n] ?? "") : size)),
        }
      : { name, isTensor: false },
  )
