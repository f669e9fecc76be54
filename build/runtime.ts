/**
 * Before the build: what of ONNX Runtime and transformers the bundler cannot take as it is, made ready in
 * dist/runtime/ (src/embed/ imports it from there). Nothing is done when the files are there for these versions.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"

const ROOT = join(import.meta.dir, "..")
const TARGET = join(ROOT, "dist/runtime")
const PACKAGES = join(ROOT, "node_modules")
/** 46 MB of library become 15 MB; level 19 would save 1.5 MB more and take 19 s. */
const LEVEL = 12
/** The library's parts: they are unpacked side by side (src/embed/runtime-files.ts). */
const PARTS = 4

const version = (name: string): string =>
  JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8")).version

const natives = join(PACKAGES, "onnxruntime-node/bin/napi-v6", process.platform, process.arch)
const LIBRARIES: Readonly<Record<string, string>> = {
  linux: "libonnxruntime.so.1",
  darwin: "libonnxruntime.1.dylib",
}

interface Piece {
  readonly source: string
  /** Which of the parts of equal length; all of it when it says nothing. */
  readonly part?: number
}

/** Compressed; from the packages of the machine we build on. */
const FILES: Readonly<Record<string, Piece>> = {
  "binding.node.zst": { source: join(natives, "onnxruntime_binding.node") },
  "wasm.zst": { source: join(PACKAGES, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm") },
  ...Object.fromEntries(
    Array.from({ length: PARTS }, (_, part): [string, Piece] => [
      `library.${part}.zst`,
      { source: join(natives, LIBRARIES[process.platform] ?? "none"), part },
    ]),
  ),
}

/**
 * Names the native files by what is in them, so that a start need not read 15 MB to know where they are, and says what each
 * has to be once it is written out.
 */
const DIGEST = "native.json"

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

/** An empty file where there is no source: then the binary has the WebAssembly runtime only. */
function packed({ source, part }: Piece): Uint8Array | "" {
  if (!existsSync(source)) return ""
  const bytes = readFileSync(source)
  const length = Math.ceil(bytes.length / PARTS)
  const content = part === undefined ? bytes : bytes.subarray(part * length, (part + 1) * length)
  return Bun.zstdCompressSync(content, { level: LEVEL })
}

/** Empty where one is missing. */
function digestOf(parts: readonly (Uint8Array | "")[]): string {
  if (parts.includes("")) return ""
  const digest = parts.reduce((seed, part) => Bun.hash.xxHash64(part, seed), 0n)
  return digest.toString(16).padStart(16, "0")
}

interface Unpacked {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

function unpacked(source: string): Unpacked[] {
  if (!existsSync(source)) return []
  const content = readFileSync(source)
  const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex")
  return [{ name: basename(source), bytes: content.length, sha256 }]
}

const isDone = (): boolean =>
  existsSync(stampFile) &&
  readFileSync(stampFile, "utf8") === stamp &&
  [...Object.keys(FILES), ...Object.keys(MODULES), DIGEST].every((name) => existsSync(join(TARGET, name)))

if (!isDone()) {
  mkdirSync(TARGET, { recursive: true })
  for (const [name, { source, from, to }] of Object.entries(MODULES)) {
    const parts = readFileSync(source, "utf8").split(from)
    if (parts.length !== 2) throw new Error(`${source} has \`${from}\` ${parts.length - 1} times, not once`)
    writeFileSync(join(TARGET, name), parts.join(to))
  }
  const made = Object.entries(FILES).map(([name, piece]) => ({ name, piece, content: packed(piece) }))
  for (const { name, content } of made) writeFileSync(join(TARGET, name), content)
  const parts = made.filter(({ piece }) => piece.source.startsWith(natives)).map(({ content }) => content)
  const files = [...new Set(made.map(({ piece }) => piece.source))].filter((one) => one.startsWith(natives))
  writeFileSync(
    join(TARGET, DIGEST),
    JSON.stringify({ digest: digestOf(parts), files: files.flatMap((one) => unpacked(one)) }),
  )
  writeFileSync(stampFile, stamp)
}
