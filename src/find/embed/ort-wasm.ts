/**
 * ONNX Runtime as WebAssembly, for when the native library does not load: a different C library, or a folder in which
 * programs may not run. Single-threaded, three to nine times slower. The only file that imports onnxruntime-web.
 */
import * as ort from "../../../dist/runtime/ort-wasm.js"
import type { Runtime } from "./runtime.ts"
import { wasmRuntime } from "./runtime-files.ts"

export function loadWasm(): Runtime {
  const { env, Tensor, InferenceSession } = ort
  env.wasm.numThreads = 1
  // Set to something, so that no server's address is filled in.
  env.wasm.wasmPaths = {}
  env.wasm.wasmBinary = wasmRuntime() as Uint8Array<ArrayBuffer>
  env.logLevel = "error"
  return { name: "wasm", module: { Tensor, InferenceSession, env }, provider: "wasm", readsFiles: false }
}
