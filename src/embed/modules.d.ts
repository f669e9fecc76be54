/** What build/runtime.ts makes, and TypeScript may not see: types hold also before the first build. */

/** A part of the binary; the value is its path at run time. */
declare module "*.zst" {
  const path: string
  export default path
}

declare module "*/dist/runtime/native.json" {
  const native: {
    /** Sixteen hexadecimal digits that stand for the content of the native files; empty where there are none. */
    readonly digest: string
    /** What they are once they are written out. */
    readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[]
  }
  export default native
}

declare module "*/dist/runtime/transformers.js" {
  export { env, pipeline } from "@huggingface/transformers"
}

declare module "*/dist/runtime/ort-wasm.js" {
  export * from "onnxruntime-web/wasm"
}
