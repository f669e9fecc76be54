/**
 * Makes dist/formats/, which src/secrets/ imports, from the tables of formats. Does nothing when it was made of these
 * very files. Runs before the build, and before all that Bun runs in this folder (bunfig.toml), so that neither a test
 * nor a measurement can use what was made of other tables.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const ROOT = join(import.meta.dir, "..")
const TARGET = join(ROOT, "dist/formats")
const TABLES = "src/secrets/formats"

/** All that decides what is made. */
const SOURCES = [
  "build/formats.ts",
  "build/anchors.ts",
  "src/secrets/seek.ts",
  ...readdirSync(join(ROOT, TABLES))
    .sort()
    .map((name) => `${TABLES}/${name}`),
]

const hash = new Bun.CryptoHasher("sha256")
for (const path of SOURCES) hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)))
/** The first line of each file. */
const stamp = `// Made by build/formats.ts of ${hash.digest("hex")}`

function isMade(name: string): boolean {
  try {
    return readFileSync(join(TARGET, name), "utf8").startsWith(`${stamp}\n`)
  } catch {
    return false
  }
}

/** Whole or not at all: several processes may do the same at once, and others read. */
function write(name: string, text: string): void {
  const path = join(TARGET, name)
  const unfinished = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(unfinished, `${stamp}\n${text}`)
    renameSync(unfinished, path)
  } finally {
    rmSync(unfinished, { force: true })
  }
}

if (!isMade("anchors.js") || !isMade("rows.js")) {
  // Reading the tables takes longer than all else here.
  const { anchorsModule, rowsModule } = await import("./anchors.ts")
  mkdirSync(TARGET, { recursive: true })
  write("anchors.js", anchorsModule())
  write("rows.js", rowsModule())
}
