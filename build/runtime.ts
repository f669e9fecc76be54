/**
 * Before the build: what of ONNX Runtime and transformers the bundler cannot take as it is, made ready in
 * dist/runtime/ (src/embed/ imports it from there). Nothing is done when the files are there for these versions.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const ROOT = join(import.meta.dir, "..")
const TARGET = join(ROOT, "dist/runtime")
const PACKAGES = join(ROOT, "node_modules")
/** 46 MB of library become 15 MB; level 19 would save 1.5 MB more and take 19 s. */
const LEVEL = 12

const version = (name: string): string =>
  JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8")).version

const natives = join(PACKAGES, "onnxruntime-node/bin/napi-v6", process.platform, process.arch)
const LIBRARIES: Readonly<Record<string, string>> = {
  linux: "libonnxruntime.so.1",
  darwin: "libonnxruntime.1.dylib",
}

/** Compressed; from the packages of the machine we build on. */
const FILES: Readonly<Record<string, string>> = {
  "binding.node.zst": join(natives, "onnxruntime_binding.node"),
  "library.zst": join(natives, LIBRARIES[process.platform] ?? "none"),
  "wasm.zst": join(PACKAGES, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm"),
}

interface Patch {
  readonly source: string
  readonly from: string
  readonly to: string
}

/**
 * Modules with one expression replaced: an import() whose argument is computed is looked up in the folder that the
 * binary is started in, which may be anybody's, and the build refuses it (--reject-unresolved).
 */
const MODULES: Readonly<Record<string, Patch>> = {
  "transformers.js": {
    source: join(PACKAGES, "@huggingface/transformers/dist/transformers.web.js"),
    // A runtime for graphics cards, which holds such an import; we always give our own runtime.
    from: 'import * as ONNX_WEB from "onnxruntime-web/webgpu";',
    to: "const ONNX_WEB = undefined;",
  },
  "ort-wasm.js": {
    source: join(PACKAGES, "onnxruntime-web/dist/ort.wasm.bundle.min.mjs"),
    // The way to load the module from elsewhere; ours is given as bytes.
    from: "import(/*webpackIgnore:true*/ /*@vite-ignore*/n)",
    to: 'Promise.reject(new Error("not from elsewhere"))',
  },
}

const stamp = JSON.stringify({
  transformers: version("@huggingface/transformers"),
  node: version("onnxruntime-node"),
  web: version("onnxruntime-web"),
  platform: `${process.platform}-${process.arch}`,
  script: statSync(import.meta.path).mtimeMs,
})
const stampFile = join(TARGET, "stamp.json")

const isDone = (): boolean =>
  existsSync(stampFile) &&
  readFileSync(stampFile, "utf8") === stamp &&
  [...Object.keys(FILES), ...Object.keys(MODULES)].every((name) => existsSync(join(TARGET, name)))

if (!isDone()) {
  mkdirSync(TARGET, { recursive: true })
  for (const [name, { source, from, to }] of Object.entries(MODULES)) {
    const parts = readFileSync(source, "utf8").split(from)
    if (parts.length !== 2) throw new Error(`${source} has \`${from}\` ${parts.length - 1} times, not once`)
    writeFileSync(join(TARGET, name), parts.join(to))
  }
  for (const [name, source] of Object.entries(FILES)) {
    // An empty file: then the binary has the WebAssembly runtime only.
    const compressed = existsSync(source) ? Bun.zstdCompressSync(readFileSync(source), { level: LEVEL }) : ""
    writeFileSync(join(TARGET, name), compressed)
  }
  writeFileSync(stampFile, stamp)
}
