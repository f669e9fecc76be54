/** What the scripts of build/ make, and TypeScript may not see: types hold also before the first build. */

declare module "*/dist/hook/run.js" {
  export const runHook: typeof import("./hook/run.ts").runHook
}

declare module "*/dist/action/before-action.js" {
  export const runBeforeAction: typeof import("./hook/before-action.ts").runBeforeAction
}

declare module "*/dist/search/run-search.js" {
  export const runSearch: typeof import("./cli/run-search.ts").runSearch
}

declare module "*/dist/mcp/run-server.js" {
  export const runServer: typeof import("./cli/run-server.ts").runServer
}

declare module "*/dist/formats/anchors.js" {
  export const WORDS: string
  export const ORDINARY: string
  export const HEADS: string
  export const plainGate: () => RegExp
  export const LITERALS: string
  export const MIDDLES: string
}

declare module "*/dist/formats/rows.js" {
  export const ROWS: string
}

/** A file embedded in the binary; the value is its path at run time. */
declare module "*.zst" {
  const path: string
  export default path
}

declare module "*.bin" {
  const path: string
  export default path
}

/** A file embedded as text. */
declare module "*/inserted.js" {
  const text: string
  export default text
}

declare module "*.css" {
  const text: string
  export default text
}

/** The script of the page of sessions. */
declare module "*/dist/page/search.js" {
  const text: string
  export default text
}

declare module "*.wasm" {
  const path: string
  export default path
}

declare module "*/dist/runtime/native.json" {
  const native: {
    /** Sixteen hexadecimal digits that identify the content of the native files; empty when there are none. */
    readonly digest: string
    /** The files as written to disk. */
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

declare module "*/opencode-plugin.js" {
  const text: string
  export default text
}

declare module "*/compact-module.js" {
  const text: string
  export default text
}

declare module "*/SKILL.md" {
  const text: string
  export default text
}

declare module "*/page.css" {
  const text: string
  export default text
}

declare module "*/page.js" {
  const text: string
  export default text
}

declare module "*/file.css" {
  const text: string
  export default text
}

declare module "*/looks.js" {
  const text: string
  export default text
}

declare module "*/file.js" {
  const text: string
  export default text
}
