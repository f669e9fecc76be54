/**
 * The files of ONNX Runtime that the binary carries, compressed. The system's loader wants files, so the native ones
 * are written out once; the WebAssembly one is only read.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import binding from "../../dist/runtime/binding.node.zst" with { type: "file" }
import library0 from "../../dist/runtime/library.0.zst" with { type: "file" }
import library1 from "../../dist/runtime/library.1.zst" with { type: "file" }
import library2 from "../../dist/runtime/library.2.zst" with { type: "file" }
import library3 from "../../dist/runtime/library.3.zst" with { type: "file" }
import native from "../../dist/runtime/native.json"
import wasm from "../../dist/runtime/wasm.zst" with { type: "file" }
import { isAlive } from "../util/alive.ts"
import { CtxError } from "../util/errors.ts"

const LIBRARIES: Readonly<Record<string, string>> = {
  linux: "libonnxruntime.so.1",
  darwin: "libonnxruntime.1.dylib",
}
const LIBRARY_PARTS = [library0, library1, library2, library3]
const BINDING = "onnxruntime_binding.node"
const FOLDER = /^runtime-[0-9a-f]{16}(\.\d+)?$/

/** The WebAssembly module. */
export const wasmRuntime = (): Uint8Array => Bun.zstdDecompressSync(readFileSync(wasm))

/**
 * Writes the native library and its binding out, unless they are there.
 *
 * @param stateHome where the folder is made, named after what is in it
 * @returns path of the binding, which finds the library beside itself
 * @throws CtxError `no-native-runtime` when the binary carries none; a system error when nothing can be written
 */
export async function nativeRuntime(stateHome: string): Promise<string> {
  const library = LIBRARIES[process.platform]
  if (library === undefined || native.digest === "") {
    throw new CtxError(
      "no-native-runtime",
      `there is no native ONNX Runtime for ${process.platform}-${process.arch}`,
    )
  }
  const folder = join(stateHome, `runtime-${native.digest}`)
  // It appears whole, by the rename below.
  if (existsSync(folder)) return join(folder, BINDING)
  removeOthers(stateHome)
  const temporary = `${folder}.${process.pid}`
  mkdirSync(temporary, { recursive: true, mode: 0o700 })
  try {
    await unpack(join(temporary, library), LIBRARY_PARTS)
    await unpack(join(temporary, BINDING), [binding])
    renameSync(temporary, folder)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    // Another process was faster: its files are the same.
    if (!existsSync(folder)) throw error
  }
  return join(folder, BINDING)
}

/** Most of the time that a first start takes: the parts side by side, each written while the next is unpacked. */
async function unpack(file: string, parts: readonly string[]): Promise<void> {
  const contents = parts.map((part) => Bun.zstdDecompress(readFileSync(part)))
  // One that fails is met below; those behind it must not fail unheard.
  void Promise.allSettled(contents)
  const fd = openSync(file, "w", 0o700)
  try {
    for (const content of contents) {
      const bytes = await content
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
    }
  } finally {
    closeSync(fd)
  }
  // The umask may have taken a bit away.
  chmodSync(file, 0o700)
}

/** What another version, or a process that was killed, has left. */
function removeOthers(stateHome: string): void {
  if (!existsSync(stateHome)) return
  for (const name of readdirSync(stateHome)) {
    const [, pid] = FOLDER.exec(name) ?? [undefined, undefined]
    const isLeft = FOLDER.test(name) && (pid === undefined || !isAlive(Number(pid.slice(1))))
    if (isLeft) rmSync(join(stateHome, name), { recursive: true, force: true })
  }
}
