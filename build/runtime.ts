/**
 * Runs before the build: prepares the parts of ONNX Runtime and transformers that the bundler cannot take as they are,
 * in dist/runtime/, from where src/find/embed/ imports them. Does nothing when the files for these versions exist.
 *
 * Argument: for which system, as `linux-arm64`, instead of this one; `none`: WebAssembly only.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"

const ROOT = join(import.meta.dir, "..")
const TARGET = join(ROOT, "dist/runtime")
const PACKAGES = join(ROOT, "node_modules")
/** The library shrinks from 46 to 15 MB. Level 19 would save another 1.5 MB and take 19 s. */
const LEVEL = 12
/** How many parts the library is split into; they are unpacked in parallel (src/find/embed/runtime-files.ts). */
const PARTS = 4

const version = (name: string): string =>
  JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8")).version

const system = process.argv[2] ?? `${process.platform}-${process.arch}`
const [platform = "", arch = ""] = system.split("-")
const natives = join(PACKAGES, "onnxruntime-node/bin/napi-v6", platform, arch)
const LIBRARIES: Readonly<Record<string, string>> = {
  linux: "libonnxruntime.so.1",
  darwin: "libonnxruntime.1.dylib",
  win32: "onnxruntime.dll",
}

interface Piece {
  readonly source: string
  /** Which of the equally long parts; undefined: the whole file. */
  readonly part?: number
}

/** Files to compress, from the packages installed on the build machine. */
const FILES: Readonly<Record<string, Piece>> = {
  "binding.node.zst": { source: join(natives, "onnxruntime_binding.node") },
  "wasm.zst": { source: join(PACKAGES, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm") },
  ...Object.fromEntries(
    Array.from({ length: PARTS }, (_, part): [string, Piece] => [
      `library.${part}.zst`,
      { source: join(natives, LIBRARIES[platform] ?? "none"), part },
    ]),
  ),
}

/**
 * Identifies the native files by their content, so a start need not read 15 MB to know where they are, and records what
 * each must be once it is written to disk.
 */
const DIGEST = "native.json"

interface Patch {
  readonly source: string
  /** What is replaced, and by what. Each occurs once. */
  readonly replaced: readonly (readonly [from: string, to: string])[]
}

/**
 * Modules in which something is replaced. An import() with a computed argument is resolved in the folder in which
 * the binary is started, which may be anyone's, so the build refuses it (--reject-unresolved).
 */
const MODULES: Readonly<Record<string, Patch>> = {
  "transformers.js": {
    source: join(PACKAGES, "@huggingface/transformers/dist/transformers.web.js"),
    replaced: [
      // A runtime for graphics cards, which contains such an import. We always supply our own runtime.
      ['import * as ONNX_WEB from "onnxruntime-web/webgpu";', "const ONNX_WEB = undefined;"],
      // The bundler would write the build machine's folder here, and each folder would make another binary.
      ['typeof __dirname !== "undefined"', "false"],
      ["node_path_default.dirname(__dirname)", '""'],
    ],
  },
  "ort-wasm.js": {
    source: join(PACKAGES, "onnxruntime-web/dist/ort.wasm.bundle.min.mjs"),
    replaced: [
      // Loads the module from elsewhere; we supply ours as bytes.
      ["import(/*webpackIgnore:true*/ /*@vite-ignore*/n)", 'Promise.reject(new Error("not from elsewhere"))'],
    ],
  },
}

const stamp = JSON.stringify({
  transformers: version("@huggingface/transformers"),
  node: version("onnxruntime-node"),
  web: version("onnxruntime-web"),
  platform: system,
  script: statSync(import.meta.path).mtimeMs,
})
const stampFile = join(TARGET, "stamp.json")

/** Empty when there is no source; the binary then only has the WebAssembly runtime. */
function packed({ source, part }: Piece): Uint8Array | "" {
  if (!existsSync(source)) return ""
  const bytes = readFileSync(source)
  const length = Math.ceil(bytes.length / PARTS)
  const content = part === undefined ? bytes : bytes.subarray(part * length, (part + 1) * length)
  return Bun.zstdCompressSync(content, { level: LEVEL })
}

/** Empty when a part is missing. */
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

function patched({ source, replaced }: Patch): string {
  let text = readFileSync(source, "utf8")
  for (const [from, to] of replaced) {
    const parts = text.split(from)
    if (parts.length !== 2) throw new Error(`${source} has \`${from}\` ${parts.length - 1} times, not once`)
    text = parts.join(to)
  }
  return text
}

const isDone = (): boolean =>
  existsSync(stampFile) &&
  readFileSync(stampFile, "utf8") === stamp &&
  [...Object.keys(FILES), ...Object.keys(MODULES), DIGEST].every((name) => existsSync(join(TARGET, name)))

if (!isDone()) {
  mkdirSync(TARGET, { recursive: true })
  for (const [name, patch] of Object.entries(MODULES)) writeFileSync(join(TARGET, name), patched(patch))
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
