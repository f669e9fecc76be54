/**
 * ONNX Runtime as WebAssembly, for where the native library does not load: another C library, a folder that may not
 * hold programs. One thread, three to nine times slower. The door of onnxruntime-web.
 */
import * as ort from "../../dist/runtime/ort-wasm.js"
import type { Runtime } from "./runtime.ts"
import { wasmRuntime } from "./runtime-files.ts"

export function loadWasm(): Runtime {
  const { env, Tensor, InferenceSession } = ort
  env.wasm.numThreads = 1
  // Something, so that nobody puts the address of a server there.
  env.wasm.wasmPaths = {}
  env.wasm.wasmBinary = wasmRuntime() as Uint8Array<ArrayBuffer>
  env.logLevel = "error"
  return { name: "wasm", module: { Tensor, InferenceSession, env }, provider: "wasm", readsFiles: false }
}
