/** What runs the model: ONNX Runtime, native or as WebAssembly. */

export interface Runtime {
  readonly name: "native" | "wasm"
  /** `Tensor`, `InferenceSession` and `env` of onnxruntime-common, for the library that computes with them. */
  readonly module: { readonly Tensor: unknown; readonly InferenceSession: unknown; readonly env: unknown }
  /** Its name of the processor. */
  readonly provider: string
  /** Whether it reads the model's file itself. */
  readonly readsFiles: boolean
}
