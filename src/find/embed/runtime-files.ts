/**
 * The compressed files of ONNX Runtime in the binary. The system's loader needs real files, so the native ones are
 * written to disk once; the WebAssembly module is read from the binary.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs"
import binding from "../../../dist/runtime/binding.node.zst" with { type: "file" }
import library0 from "../../../dist/runtime/library.0.zst" with { type: "file" }
import library1 from "../../../dist/runtime/library.1.zst" with { type: "file" }
import library2 from "../../../dist/runtime/library.2.zst" with { type: "file" }
import library3 from "../../../dist/runtime/library.3.zst" with { type: "file" }
import native from "../../../dist/runtime/native.json"
import wasm from "../../../dist/runtime/wasm.zst" with { type: "file" }
import { CtxError } from "../../base/errors.ts"
import { renameSync } from "../../base/fs.ts"
import { isAlive } from "../../base/own-program.ts"
import { basename, join } from "../../base/path.ts"
import { sha256Of } from "../../base/sha256.ts"
import { writeAll } from "../../base/write-output.ts"

const LIBRARIES: Readonly<Record<string, string>> = {
  linux: "libonnxruntime.so.1",
  darwin: "libonnxruntime.1.dylib",
  win32: "onnxruntime.dll",
}
const LIBRARY_PARTS = [library0, library1, library2, library3]
const BINDING = "onnxruntime_binding.node"
const FOLDER = /^runtime-[0-9a-f]{16}(\.\d+)?$/

/** The WebAssembly module. */
export const wasmRuntime = (): Uint8Array => Bun.zstdDecompressSync(readFileSync(wasm))

/** Missing files are written when they are first needed; damaged ones are replaced then. */
export type NativeFiles = "ok" | "missing" | "damaged" | "unavailable"

/**
 * @param every whether to check every byte, which takes 60 ms; otherwise only sizes are checked, since loading a
 *   truncated library crashes the process
 */
export function nativeFiles(stateHome: string, every: boolean): NativeFiles {
  if (LIBRARIES[process.platform] === undefined || native.digest === "") return "unavailable"
  const folder = nativeFolder(stateHome)
  if (!existsSync(folder)) return "missing"
  const isSound = native.files.every(({ name, bytes, sha256 }) => {
    const file = join(folder, name)
    if (statSync(file, { throwIfNoEntry: false })?.size !== bytes) return false
    return !every || sha256Of(file) === sha256
  })
  return isSound ? "ok" : "damaged"
}

/** @returns whether files were damaged and have been rewritten */
export async function mendNative(stateHome: string): Promise<boolean> {
  if (nativeFiles(stateHome, true) !== "damaged") return false
  await writeOut(stateHome)
  return true
}

const nativeFolder = (stateHome: string): string => join(stateHome, `runtime-${native.digest}`)

/**
 * Writes the native library and its binding to disk, unless they are there.
 *
 * @param stateHome where their folder is created, named after its content
 * @returns path of the binding, which finds the library next to itself
 * @throws CtxError `no-native-runtime` when the binary carries none; a system error when nothing can be written
 */
export async function nativeRuntime(stateHome: string): Promise<string> {
  const found = nativeFiles(stateHome, false)
  if (found === "unavailable") {
    throw new CtxError(
      "no-native-runtime",
      `there is no native ONNX Runtime for ${process.platform}-${process.arch}`,
    )
  }
  if (found !== "ok") await writeOut(stateHome)
  return join(nativeFolder(stateHome), BINDING)
}

async function writeOut(stateHome: string): Promise<void> {
  const folder = nativeFolder(stateHome)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new CtxError("no-native-runtime", `${folder} is not a folder`)
  }
  removeLeftovers(stateHome)
  const temporary = `${folder}.${process.pid}`
  mkdirSync(temporary, { recursive: true, mode: 0o700 })
  try {
    await unpack(join(temporary, LIBRARIES[process.platform]!), LIBRARY_PARTS)
    await unpack(join(temporary, BINDING), [binding])
    // What is removed here is damaged; a process that has it loaded keeps its files. The rename makes the new folder
    // appear complete.
    rmSync(folder, { recursive: true, force: true })
    renameSync(temporary, folder)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    // Another process was faster, and its files are the same.
    if (nativeFiles(stateHome, false) !== "ok") throw error
  }
}

/**
 * Unpacking takes most of a first start's time, so the parts are unpacked in parallel and each is written meanwhile.
 */
async function unpack(file: string, parts: readonly string[]): Promise<void> {
  const contents = parts.map((part) => Bun.zstdDecompress(readFileSync(part)))
  // The first failure is thrown below; this keeps later ones from being unhandled rejections.
  void Promise.allSettled(contents)
  const fd = openSync(file, "w", 0o700)
  try {
    for (const content of contents) {
      writeAll(fd, await content)
    }
  } finally {
    closeSync(fd)
  }
  // The umask may have removed a bit.
  chmodSync(file, 0o700)
}

/** Removes what another version or a killed process left. */
function removeLeftovers(stateHome: string): void {
  if (!existsSync(stateHome)) return
  for (const name of readdirSync(stateHome)) {
    if (name === basename(nativeFolder(stateHome))) continue
    const [, pid] = FOLDER.exec(name) ?? [undefined, undefined]
    const isLeft = FOLDER.test(name) && (pid === undefined || !isAlive(Number(pid.slice(1))))
    if (isLeft) rmSync(join(stateHome, name), { recursive: true, force: true })
  }
}
