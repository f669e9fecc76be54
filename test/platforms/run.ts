/**
 * `npm run test:platform -- linux-arm64 [test files…]`: the e2e tests with the binary for another system, where this one can
 * run it: with qemu, with musl's loader, or with Wine (docs/releasing.md says what that needs). The binary is made first,
 * unless CTXBRIDGE_TEST_BIN names one. Under Wine, only the tests that are made for it.
 */
import { copyFileSync, mkdirSync, readdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileOf, isWindows, targetsNamed } from "../../build/release/targets.ts"
import { version } from "../../package.json"
import { patternOf, trialOf } from "./left-out.ts"
import { prepareWine, wine, wineEnvironment } from "./wine.ts"

const ROOT = join(import.meta.dir, "../..")

/** ms for a test whose file gives it no limit of its own. */
const PATIENCE = 120_000

const [name, ...files] = process.argv.slice(2)
if (name === undefined) throw new Error("which system? such as: npm run test:platform -- linux-arm64")
const [target] = targetsNamed(name)
const folder = join(ROOT, "dist", "platforms", target!.name)
const named = process.env["CTXBRIDGE_TEST_BIN"]
const onWine = isWindows(target!)
const binary = named ?? join(folder, onWine ? "ctxbridge.exe" : "ctxbridge")
// Outside of the checkout: Wine links its drive Z to `/`, and `bun test` would look for tests there.
const prefix = join(tmpdir(), "ctxbridge-wine")
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
const trial = trialOf(target!.name)
const timeout = String(PATIENCE * trial.slowness)
if (onWine) {
  run([process.execPath, "test", "--timeout", timeout, "test/e2e/windows.test.ts"], {
    CTXBRIDGE_TEST_WINDOWS: binary,
    WINEPREFIX: prefix,
  })
  process.exit(0)
}
const leftOut = new Set<string>()
for (const { why, files: whole = [], tests = [] } of trial.leftOut) {
  for (const file of whole) leftOut.add(`${file}.test.ts`)
  console.log(`left out, ${whole.length} files and ${tests.length} tests: ${why}`)
  for (const what of [...whole, ...tests]) console.log(`  ${what}`)
}
const wanted = readdirSync(join(ROOT, "test", "e2e"))
  .filter((file) => file.endsWith(".test.ts") && !leftOut.has(file))
  .map((file) => join("test", "e2e", file))
const pattern = patternOf(trial)
const only = pattern === undefined ? [] : ["--test-name-pattern", pattern]
run([process.execPath, "test", "--timeout", timeout, ...only, ...(files.length > 0 ? files : wanted)], {
  CTXBRIDGE_TEST_BIN: binary,
  CTXBRIDGE_TEST_SLOWNESS: String(trial.slowness),
})

function whatItSays(): string {
  try {
    const program = onWine ? wine() : undefined
    if (onWine && program === undefined) return "there is no Wine"
    if (program !== undefined) prepareWine(program, prefix)
    const { stdout, stderr } = Bun.spawnSync(
      [...(program === undefined ? [] : [program]), binary, "--version"],
      {
        env: program === undefined ? process.env : wineEnvironment(prefix),
      },
    )
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
