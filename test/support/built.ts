/** The compiled binary and the build's metafile. Built here only if missing or older than the code. */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { binary } from "./binary.ts"

const ROOT = join(import.meta.dir, "../..")
const BINARY = join(ROOT, "dist/ctxbridge")
const META = join(ROOT, "dist/meta.json")
/** Everything a hook loads at its start, joined into one module by build/bundles.ts, and the list of its inputs. */
const HOOK = "dist/hook/run.js"
const HOOK_META = join(ROOT, "dist/hook/meta.json")

const changed = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

function newest(folder: string): number {
  return Math.max(
    changed(folder),
    ...readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? newest(path) : changed(path)
    }),
  )
}

function build(): void {
  const sources = Math.max(newest(join(ROOT, "src")), changed(join(ROOT, "package.json")))
  if (Math.min(changed(BINARY), changed(META)) >= sources) return
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, "run", "build"], { cwd: ROOT })
  if (exitCode !== 0) throw new Error(`the build failed\n${stdout}${stderr}`)
}

/** The file under test, built first if it should be the build of this code. */
export function builtBinary(): string {
  if (process.env["CTXBRIDGE_TEST_BIN"] === undefined) build()
  return binary()
}

interface Chunk {
  readonly bytes: number
  readonly entryPoint?: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly imports: readonly { readonly path: string; readonly kind: string }[]
}

export interface Meta {
  readonly outputs: Readonly<Record<string, Chunk>>
}

export async function readMeta(): Promise<Meta> {
  build()
  return Bun.file(META).json()
}

/** What the hook program loads at its start: its chunk, and all chunks imported statically from there. */
export async function hookChunk({ outputs }: Meta): Promise<{ inputs: string[]; bytes: number }> {
  const start = Object.keys(outputs).find((name) => outputs[name]!.entryPoint === HOOK)
  if (start === undefined) throw new Error(`the build has no chunk for ${HOOK}: is --splitting gone?`)
  const reached = new Set([start])
  for (const name of reached) {
    for (const { path, kind } of outputs[name]?.imports ?? [])
      if (kind === "import-statement") reached.add(path)
  }
  const chunks = [...reached].map((name) => outputs[name]!)
  const { inputs } = (await Bun.file(HOOK_META).json()) as Pick<Chunk, "inputs">
  return {
    inputs: chunks
      .flatMap((chunk) => Object.keys(chunk.inputs))
      .flatMap((input) => (input === HOOK ? Object.keys(inputs) : input)),
    bytes: chunks.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
