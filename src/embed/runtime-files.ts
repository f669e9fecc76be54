/**
 * The files of ONNX Runtime that the binary carries, compressed. The system's loader wants files, so the native ones
 * are written out once; the WebAssembly one is only read.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import binding from "../../dist/runtime/binding.node.zst" with { type: "file" }
import library from "../../dist/runtime/library.zst" with { type: "file" }
import wasm from "../../dist/runtime/wasm.zst" with { type: "file" }
import { CtxError } from "../util/errors.ts"
import { isAlive } from "./native-guard.ts"

const LIBRARIES: Readonly<Record<string, string>> = {
  linux: "libonnxruntime.so.1",
  darwin: "libonnxruntime.1.dylib",
}
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
export function nativeRuntime(stateHome: string): string {
  const files = [
    [LIBRARIES[process.platform] ?? "", readFileSync(library)],
    [BINDING, readFileSync(binding)],
  ] as const
  if (files.some(([name, content]) => name === "" || content.length === 0)) {
    throw new CtxError(
      "no-native-runtime",
      `there is no native ONNX Runtime for ${process.platform}-${process.arch}`,
    )
  }
  const stamp = files.reduce((seed, [, content]) => Bun.hash.xxHash64(content, seed), 0n)
  const name = `runtime-${stamp.toString(16).padStart(16, "0")}`
  const folder = join(stateHome, name)
  // It appears whole, by the rename below.
  if (existsSync(folder)) return join(folder, BINDING)
  removeOthers(stateHome)
  const temporary = `${folder}.${process.pid}`
  mkdirSync(temporary, { recursive: true, mode: 0o700 })
  try {
    for (const [file, content] of files) {
      writeFileSync(join(temporary, file), Bun.zstdDecompressSync(content), { mode: 0o700 })
      // The umask may have taken a bit away.
      chmodSync(join(temporary, file), 0o700)
    }
    renameSync(temporary, folder)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    // Another process was faster: its files are the same.
    if (!existsSync(folder)) throw error
  }
  return join(folder, BINDING)
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
