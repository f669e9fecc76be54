/**
 * `npm run release`: binaries for all systems, made on this one, and what belongs to them, in dist/release/.
 *
 *   --targets a,b   only these (build/release/targets.ts); default: all
 *   --out DIR       another folder
 *   --releases URL  where the release will be found; written into its install.sh and install.ps1
 *   --model DIR     carry the sentence model, of which this folder has the files
 *
 * The compiler is called as by `npm run build`. Not to be run beside a build or tests in the same checkout: the parts of
 * ONNX Runtime in dist/runtime/ and the modules of hooks and searches are made anew for each system.
 */
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import manifest from "../package.json"
import { componentsOf } from "./release/components.ts"
import { withReleases } from "./release/installers.ts"
import { licencesOf } from "./release/licences.ts"
import { type Made, notesOf, type Origin, provenanceOf } from "./release/notes.ts"
import { sbomOf } from "./release/sbom.ts"
import { fileOf, isWindows, platformIn, type Target, targetsNamed } from "./release/targets.ts"

const ROOT = join(import.meta.dir, "..")
const DIST = join(ROOT, "dist")
const STARTS = 10

const { values } = parseArgs({
  options: {
    targets: { type: "string" },
    out: { type: "string" },
    releases: { type: "string" },
    model: { type: "string" },
  },
})
const targets = targetsNamed(values.targets)
const out = resolve(values.out ?? join(DIST, "release"))
const work = join(out, ".work")

/** As build/model.ts asks for it. */
const withModel = { CTXBRIDGE_MODEL: values.model === undefined ? "" : resolve(values.model) }

/** The steps of `npm run build`; the last one is the compiler's. */
const steps = manifest.scripts.build.split(" && ")
const compile = steps.at(-1)!
/** Those between the parts of ONNX Runtime and the compiler. */
const modules = steps.slice(1, -1)

function ran(command: readonly string[], more: Readonly<Record<string, string>> = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd: ROOT,
    env: { ...process.env, ...more },
  })
  if (exitCode === 0) return String(stdout).trim()
  throw new Error(`${command.join(" ")} failed\n${stdout}${stderr}`)
}

/** `bun …` with the Bun that runs us. */
const bun = (line: string, more?: Readonly<Record<string, string>>): string =>
  ran([process.execPath, ...line.split(" ").slice(1)], more)

const sha256 = (content: Uint8Array | string): string =>
  new Bun.CryptoHasher("sha256").update(content).digest("hex")

/** Shortest of some starts in ms; undefined where it does not run. */
function startOf(file: string): number | undefined {
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < STARTS; n++) {
    const begun = performance.now()
    try {
      const { exitCode, stdout } = Bun.spawnSync([file, "--version"], { env: { HOME: work } })
      if (exitCode !== 0 || String(stdout) !== `ctxbridge ${manifest.version}\n`) return undefined
    } catch {
      return undefined
    }
    least = Math.min(least, performance.now() - begun)
  }
  return least
}

/** undefined: the same bytes as another target's. */
function make(target: Target): Made | undefined {
  bun(`bun build/runtime.ts ${target.runtime}`)
  for (const step of modules) bun(`${step} ${platformIn(target)}`, withModel)
  // The name of the file becomes part of the binary.
  const binary = join(work, `ctxbridge${isWindows(target) ? ".exe" : ""}`)
  const line = compile
    .replace("--outfile=dist/ctxbridge", `--outfile=${binary}`)
    .replace("--metafile=dist/meta.json", `--metafile=${join(work, "meta.json")}`)
  bun(`${line} --target=${target.bun}`)
  const content = readFileSync(binary)
  const sum = sha256(content)
  const same = made.find((one) => one.sha256 === sum)
  if (same !== undefined) {
    console.log(`${target.name}: the same bytes as ${same.target.name}`)
    twins.push([target, same.target])
    return undefined
  }
  const packed = Bun.gzipSync(content, { level: 9, library: "libdeflate" })
  const file = fileOf(manifest.version, target)
  writeFileSync(join(out, `${file}.gz`), packed)
  const startMs = startOf(binary)
  renameSync(binary, join(out, file))
  console.log(`${file}: ${content.length} bytes, ${packed.length} compressed`)
  const isEmulated = !target.name.includes(process.arch)
  return { target, file, bytes: content.length, packedBytes: packed.length, sha256: sum, startMs, isEmulated }
}

/** An installer that knows where the release will be found. */
const installer = (name: string): string =>
  withReleases(readFileSync(join(ROOT, name), "utf8"), values.releases ?? manifest.releases)

const made: Made[] = []
/** Targets that have no file, and those whose file is theirs. */
const twins: [Target, Target][] = []
rmSync(out, { recursive: true, force: true })
mkdirSync(work, { recursive: true })
const origin: Origin = {
  version: manifest.version,
  commit: ran(["git", "rev-parse", "HEAD"]),
  dirty: ran(["git", "status", "--porcelain"]) !== "",
  bun: Bun.version,
  hasModel: values.model !== undefined,
}
try {
  for (const target of targets) {
    const one = make(target)
    if (one !== undefined) made.push(one)
  }
  copyFileSync(join(work, "meta.json"), join(DIST, "meta.json"))
} finally {
  rmSync(work, { recursive: true, force: true })
  for (const step of steps.slice(0, -1)) bun(step, { CTXBRIDGE_MODEL: "" })
}

const components = componentsOf(ROOT, DIST, origin.hasModel)
const base = `ctxbridge-${manifest.version}`
const texts: Readonly<Record<string, string>> = {
  [`${base}.cdx.json`]: sbomOf(manifest.version, components),
  [`${base}-licences.txt`]: licencesOf(
    readFileSync(join(ROOT, "LICENSE"), "utf8"),
    manifest.version,
    components,
  ),
  [`${base}-provenance.json`]: provenanceOf(origin, made, targets),
  "install.sh": installer("install.sh"),
  "install.ps1": installer("install.ps1"),
}
for (const [name, text] of Object.entries(texts)) writeFileSync(join(out, name), text)
const named = [...made.flatMap(({ file }) => [file, `${file}.gz`]), ...Object.keys(texts)].sort()
const sums = named.map((name) => `${sha256(readFileSync(join(out, name)))}  ${name}\n`)
writeFileSync(join(out, "SHA256SUMS"), sums.join(""))
writeFileSync(join(out, "RELEASE-NOTES.md"), notesOf(origin, made, twins))
for (const { file, target } of made) if (!isWindows(target)) Bun.spawnSync(["chmod", "755", join(out, file)])
const total = named.reduce((sum, name) => sum + statSync(join(out, name)).size, 0)
console.log(`${out}: ${named.length + 2} files, ${(total / 1e6).toFixed(0)} MB`)
