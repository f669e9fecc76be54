/**
 * Runs before the build: prepares dist/model/, the files of the sentence model that the binary carries, from where
 * src/find/embed/model-files.ts embeds them. They are empty unless CTXBRIDGE_MODEL names a folder that has the model;
 * files that differ by a byte from what is pinned are refused.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { checkFile, MINILM, MODEL_FILE, sourceOf } from "../src/find/embed/model-manifest.ts"

const TARGET = join(import.meta.dir, "../dist/model")
const folder = process.env["CTXBRIDGE_MODEL"] ?? ""

mkdirSync(TARGET, { recursive: true })
for (const file of MINILM.files) {
  // Not by its own name: what ends in .json, the bundler and the compiler would read.
  const target = join(TARGET, file.path === MODEL_FILE ? "weights.bin" : "tokenizer.bin")
  writeFileSync(target, "")
  if (folder === "") continue
  const source = sourceOf(resolve(folder), file)
  const state = checkFile(source, file)
  if (state !== "ok") {
    console.error(
      `CTXBRIDGE_MODEL: ${source} ${state === "missing" ? "is missing" : "is not the pinned file"}`,
    )
    process.exit(1)
  }
  copyFileSync(source, target)
}
