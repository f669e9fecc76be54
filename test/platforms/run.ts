/**
 * `npm run test:platform -- linux-arm64 [test files…]`: the e2e tests with the binary for another system, where this one can
 * run it: with qemu, or with musl's loader (docs/releasing.md says what that needs). The binary is made first, unless
 * CTXBRIDGE_TEST_BIN names one.
 */
import { copyFileSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { fileOf, targetsNamed } from "../../build/release/targets.ts"
import { version } from "../../package.json"

const ROOT = join(import.meta.dir, "../..")

const NATIVE = "needs the native ONNX Runtime; this build has the one of WebAssembly"
/** Files of tests that cannot pass there, and why. */
const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "linux-x64-musl": {
    "model-changes": NATIVE,
    "native-library": NATIVE,
    model: NATIVE,
    "install-empty-root": "its roots have glibc's loader only",
  },
}

/** ms for one test. An emulated start takes half a second, and some tests start hundreds. */
const PATIENCE = 600_000

const [name, ...files] = process.argv.slice(2)
if (name === undefined) throw new Error("which system? such as: npm run test:platform -- linux-arm64")
const [target] = targetsNamed(name)
const folder = join(ROOT, "dist", "platforms", target!.name)
const named = process.env["CTXBRIDGE_TEST_BIN"]
const binary = named ?? join(folder, "ctxbridge")
if (named === undefined) {
  run([process.execPath, "build/release.ts", "--targets", target!.name, "--out", folder])
  // Hooks are registered only under this name.
  copyFileSync(join(folder, fileOf(version, target!)), binary)
}
const said = whatItSays()
if (said !== `ctxbridge ${version}`) {
  console.error(`skipped: ${target!.name} does not run here (docs/releasing.md says what it needs): ${said}`)
  process.exit(1)
}
const reasons = LEFT_OUT[target!.name] ?? {}
for (const [file, why] of Object.entries(reasons)) console.log(`left out: ${file}: ${why}`)
const all = readdirSync(join(ROOT, "test", "e2e")).filter((file) => file.endsWith(".test.ts"))
const wanted = all
  .filter((file) => reasons[file.replace(".test.ts", "")] === undefined)
  .map((file) => join("test", "e2e", file))
const args = ["test", "--timeout", String(PATIENCE), ...(files.length > 0 ? files : wanted)]
run([process.execPath, ...args], { CTXBRIDGE_TEST_BIN: binary })

function whatItSays(): string {
  try {
    const { stdout, stderr } = Bun.spawnSync([binary, "--version"])
    return `${stdout}${stderr}`.trim()
  } catch (error) {
    return String(error)
  }
}

function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  mkdirSync(folder, { recursive: true })
  const { exitCode } = Bun.spawnSync([...command], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  })
  if (exitCode !== 0) process.exit(exitCode)
}
