/** What runs the model: ONNX Runtime, native or as WebAssembly. */

/** A tensor, as far as we look at it. */
export interface TensorLike {
  readonly data: unknown
}

/** A model that has been loaded, as far as we use it. */
export interface Session {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  run(feeds: Readonly<Record<string, TensorLike>>): Promise<Readonly<Record<string, TensorLike>>>
}

export interface Runtime {
  readonly name: "native" | "wasm"
  /** `Tensor`, `InferenceSession` and `env` of onnxruntime-common, for the library that computes with them. */
  readonly module: {
    readonly Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => TensorLike
    readonly InferenceSession: unknown
    readonly env: unknown
  }
  /** Its name of the processor. */
  readonly provider: string
  /** Whether it reads the model's file itself. */
  readonly readsFiles: boolean
}
