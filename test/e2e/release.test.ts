/** `npm run release` itself: some minutes, so only with CTXBRIDGE_TEST_RELEASE=1 (docs/releasing.md). */
import { expect, test } from "bun:test"
import { cpSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { tempFolder } from "../support/temp.ts"

const ROOT = resolve(import.meta.dir, "../..")
const isWanted = (process.env["CTXBRIDGE_TEST_RELEASE"] ?? "") !== ""

function command(cwd: string, ...words: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words], { cwd })
  if (exitCode !== 0) throw new Error(`${words.join(" ")}\n${stdout}${stderr}`)
  return String(stdout)
}

test.skipIf(!isWanted)(
  "two clones in different folders make the same bytes, for all systems",
  () => {
    using folder = tempFolder()
    const sums = ["a", "deeper/and/longer/b"].map((name) => {
      const clone = join(folder.path, name)
      command(ROOT, "git", "clone", "-q", ROOT, clone)
      cpSync(join(ROOT, "node_modules"), join(clone, "node_modules"), { recursive: true })
      command(clone, process.execPath, "build/release.ts")
      const release = join(clone, "dist/release")
      const checked = command(release, "sha256sum", "-c", "SHA256SUMS")
      expect(checked).not.toContain("FAILED")
      return readFileSync(join(release, "SHA256SUMS"), "utf8")
    })
    expect(sums[0]!.match(/\.gz$/gm)!.length).toBeGreaterThanOrEqual(8)
    expect(sums[1]).toBe(sums[0])
  },
  1_800_000,
)
