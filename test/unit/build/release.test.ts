/** What belongs to a release besides its binaries. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { componentsOf, integrityOf, packagesOf } from "../../../build/release/components.ts"
import { licencesOf } from "../../../build/release/licences.ts"
import { notesOf, provenanceOf } from "../../../build/release/notes.ts"
import { sbomOf } from "../../../build/release/sbom.ts"
import { fileOf, TARGETS, targetsNamed } from "../../../build/release/targets.ts"
import manifest from "../../../package.json"
import { readMeta } from "../../support/built.ts"

const ROOT = join(import.meta.dir, "../../..")

test("packages of files that were bundled", () => {
  expect(
    packagesOf([
      "src/main.ts",
      "node_modules/zod/v4/core.js",
      "node_modules/@a/b/x.js",
      "node_modules/a/node_modules/c/index.js",
    ]),
  ).toEqual(["zod", "@a/b", "c"])
})

test("the packages of bun.lock have their sums", () => {
  const lock = readFileSync(join(ROOT, "bun.lock"), "utf8")
  for (const name of Object.keys(manifest.dependencies))
    expect(integrityOf(lock, name)).toMatch(/^sha512-.{86}==$/)
  expect(integrityOf(lock, "none")).toBeUndefined()
})

test("what is inside: every dependency, its version, licence and text", async () => {
  await readMeta()
  const found = componentsOf(ROOT, join(ROOT, "dist"))
  const names = found.map(({ name }) => name)
  expect(names).toEqual(names.toSorted())
  for (const name of [...Object.keys(manifest.dependencies), "bun", "zod"]) expect(names).toContain(name)
  for (const name of ["typescript", "fast-check", "@biomejs/biome"]) expect(names).not.toContain(name)
  const text = licencesOf("OUR LICENCE", "1.2.3", found)
  for (const { name, version, licence } of found)
    expect(text).toContain(`\n${name} ${version} (${licence})\n`)
  expect(text).toContain("OUR LICENCE")
  expect(text).toContain("JavaScriptCore")
  const sbom = JSON.parse(sbomOf("1.2.3", found))
  expect(sbom).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 })
  expect(sbom.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  const citty = sbom.components.find((one: { name: string }) => one.name === "citty")
  expect(citty).toMatchObject({
    purl: `pkg:npm/citty@${manifest.dependencies.citty}`,
    licenses: [{ license: { id: "MIT" } }],
  })
  expect(citty.hashes[0].content).toMatch(/^[0-9a-f]{128}$/)
  expect(new Set(sbom.components.map((one: { purl: string }) => one.purl)).size).toBe(found.length)
  expect(sbomOf("1.2.3", found)).toBe(sbomOf("1.2.3", found))
})

test("targets by name; notes and provenance name each file", () => {
  expect(targetsNamed(undefined)).toBe(TARGETS)
  expect(() => targetsNamed("linux-x64,plan9")).toThrow("no target plan9; there are: linux-x64,")
  const targets = targetsNamed("linux-x64,windows-arm64")
  const made = targets.map((target, n) => ({
    target,
    file: fileOf("1.2.3", target),
    bytes: 1e6 * (n + 1),
    packedBytes: 5e5,
    sha256: "0".repeat(64),
    startMs: n === 0 ? 7.2 : undefined,
    isEmulated: false,
  }))
  const origin = { version: "1.2.3", commit: "abc", dirty: false, bun: "1.4.5" }
  const notes = notesOf(origin, made, [[TARGETS[1]!, TARGETS[0]!]])
  expect(notes).toContain(
    "| Linux, x64 (glibc) | `ctxbridge-1.2.3-linux-x64` | 1.0 MB | 0.5 MB | native | 7 ms |",
  )
  expect(notes).toContain("`ctxbridge-1.2.3-windows-arm64.exe` | 2.0 MB | 0.5 MB | native | not run here |")
  expect(notes).toContain("Linux, x64 without AVX2 (glibc): with this Bun the same bytes as `linux-x64`")
  expect(JSON.parse(provenanceOf(origin, made, targets))).toMatchObject({
    commit: "abc",
    uncommittedChanges: false,
    repeat: ["git checkout abc", "npm run setup", "npm run release -- --targets linux-x64,windows-arm64"],
    files: [{ target: "bun-linux-x64" }, { target: "bun-windows-arm64" }],
  })
})
