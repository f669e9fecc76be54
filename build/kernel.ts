/** Runs before the build: compiles src/embed/dot-kernel.wat to dist/kernel/dot.wasm, which src/embed/ imports. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import wabt from "wabt"

const ROOT = join(import.meta.dir, "..")
const SOURCE = "src/embed/dot-kernel.wat"

const { parseWat } = await wabt()
const module = parseWat(SOURCE, readFileSync(join(ROOT, SOURCE)), { simd: true })
module.validate()
mkdirSync(join(ROOT, "dist/kernel"), { recursive: true })
writeFileSync(join(ROOT, "dist/kernel/dot.wasm"), module.toBinary({}).buffer)
