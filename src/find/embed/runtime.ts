/** What runs the model: ONNX Runtime, native or as WebAssembly. */

/** The part of a tensor that we use. */
export interface TensorLike {
  readonly data: unknown
}

/** The part of a loaded model that we use. */
export interface ModelSession {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  run(feeds: Readonly<Record<string, TensorLike>>): Promise<Readonly<Record<string, TensorLike>>>
}

export interface Runtime {
  readonly name: "native" | "wasm"
  /** `Tensor`, `InferenceSession` and `env` of onnxruntime-common, for the package that computes with them. */
  readonly module: {
    readonly Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => TensorLike
    readonly InferenceSession: unknown
    readonly env: unknown
  }
  /** The runtime's name for the CPU. */
  readonly provider: string
  /** Whether it reads the model file itself. */
  readonly readsFiles: boolean
}
