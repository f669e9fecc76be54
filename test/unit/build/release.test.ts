import { describe, expect, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { componentsOf, integrityOf, packagesOf } from "../../../build/release/components.ts"
import { licencesOf } from "../../../build/release/licences.ts"
import { notesOf, provenanceOf } from "../../../build/release/notes.ts"
import { sbomOf } from "../../../build/release/sbom.ts"
import { fileOf, TARGETS, targetsNamed } from "../../../build/release/targets.ts"
import manifest from "../../../package.json"
import { MINILM } from "../../../src/find/embed/model-manifest.ts"
import { readMeta } from "../../support/built.ts"
import { tempFolder } from "../../support/temp.ts"

/** What belongs to a release besides its binaries. */
describe("release", () => {
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
    const found = componentsOf(ROOT, join(ROOT, "dist"), true)
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
    const model = sbom.components.find((one: { name: string }) => one.name === "all-MiniLM-L6-v2")
    expect(model).toMatchObject({
      type: "machine-learning-model",
      licenses: [{ license: { id: "Apache-2.0" } }],
      hashes: [{ alg: "SHA-256", content: MINILM.files[0]!.sha256 }],
    })
    expect(model.purl).toMatch(/^pkg:huggingface\/Xenova\/all-MiniLM-L6-v2@[0-9a-f]{40}$/)
    const [own] = text.split("all-MiniLM-L6-v2 ").slice(1)
    expect(own).toContain("sentence-transformers")
    expect(own).toContain("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION")
    const without = componentsOf(ROOT, join(ROOT, "dist"), false).map(({ name }) => name)
    expect(names.filter((name) => !without.includes(name))).toEqual(["all-MiniLM-L6-v2"])
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
    const origin = { version: "1.2.3", commit: "abc", dirty: false, bun: "1.4.5", hasModel: false }
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
    expect(notes).toContain("carry no model")
    const carrying = { ...origin, hasModel: true }
    expect(notesOf(carrying, made, [])).toContain("carry the model for search by meaning")
    const { model, repeat } = JSON.parse(provenanceOf(carrying, made, targets))
    expect(model.files).toEqual(MINILM.files)
    expect(repeat.at(-1)).toEndWith(" --model DIR")
  })
})

/** What is made from the tables of formats is made anew when they change, whatever Bun is asked to run. */
describe("formats", () => {
  const ROOT = join(import.meta.dir, "../../..")
  const TABLE = "src/secrets/formats/tools.ts"
  const LAST = "\n]\n"
  const TOKEN = "harbour_7Kd93LqhG5fD3sA1qW9e"
  const ROW = `  ["Harbour", "harbour_{an 20}", "a test"],`

  /** A checkout in which nothing has been built. */
  function checkout(root: string): void {
    for (const path of ["bunfig.toml", "build/formats.ts", "build/anchors.ts", "src/secrets"]) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      cpSync(join(ROOT, path), join(root, path), { recursive: true })
    }
    writeFileSync(
      join(root, "filter.ts"),
      `import { FILTERED, filterText } from "./src/secrets/filter.ts"
     console.log(filterText("It is ${TOKEN}, here", FILTERED))`,
    )
    writeFileSync(
      join(root, "filter.test.ts"),
      `import { expect, test } from "bun:test"
     import { FILTERED, filterText } from "./src/secrets/filter.ts"
     test("fills", () => expect(filterText("It is ${TOKEN}, here", FILTERED)).not.toContain("harbour"))`,
    )
    mkdirSync(join(root, "test"))
    writeFileSync(join(root, "test/preload.ts"), "")
  }

  function bun(root: string, ...args: readonly string[]) {
    const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, ...args], { cwd: root })
    return { exitCode, stdout: String(stdout), stderr: String(stderr) }
  }

  const made = (root: string): string[] => readdirSync(join(root, "dist/formats")).sort()

  /** Changes the table of tools. */
  function changed(root: string, change: (text: string) => string): void {
    const before = readFileSync(join(root, TABLE), "utf8")
    const after = change(before)
    expect(after).not.toBe(before)
    writeFileSync(join(root, TABLE), after)
  }

  const withRow = (text: string): string => text.replace(LAST, `\n${ROW}${LAST}`)

  test("a script, in a checkout that has never been built and after a row more and a row less", () => {
    using folder = tempFolder()
    checkout(folder.path)
    const left = { exitCode: 0, stdout: `It is ${TOKEN}, here\n`, stderr: "" }
    const filled = { ...left, stdout: `It is ${"*".repeat(TOKEN.length)}, here\n` }
    expect(bun(folder.path, "filter.ts")).toEqual(left)
    expect(made(folder.path)).toEqual(["anchors.js", "rows.js"])
    changed(folder.path, withRow)
    expect(bun(folder.path, "filter.ts")).toEqual(filled)
    changed(folder.path, (text) => text.replace(`${ROW}\n`, ""))
    expect(bun(folder.path, "filter.ts")).toEqual(left)
    expect(made(folder.path)).toEqual(["anchors.js", "rows.js"])
  })

  test("tests, too", () => {
    using folder = tempFolder()
    checkout(folder.path)
    expect(bun(folder.path, "test", "filter.test.ts").exitCode).toBe(1)
    changed(folder.path, withRow)
    expect(bun(folder.path, "test", "filter.test.ts").exitCode).toBe(0)
  })

  test("one of the two files is older, as after a kill, or is gone: both are made", () => {
    using folder = tempFolder()
    checkout(folder.path)
    bun(folder.path, "build/formats.ts")
    const file = (name: string): string => join(folder.path, "dist/formats", name)
    const texts = ["anchors.js", "rows.js"].map((name) => readFileSync(file(name), "utf8"))
    for (const name of ["anchors.js", "rows.js"]) {
      writeFileSync(file(name), "// Made by build/formats.ts of other tables\nexport const ROWS = ''\n")
      expect(bun(folder.path, "build/formats.ts")).toEqual({ exitCode: 0, stdout: "", stderr: "" })
      expect(["anchors.js", "rows.js"].map((one) => readFileSync(file(one), "utf8"))).toEqual(texts)
    }
  })

  test("what is made of the tables as they are stays as it is", () => {
    using folder = tempFolder()
    checkout(folder.path)
    const written = (): number[] =>
      made(folder.path).map((name) => statSync(join(folder.path, "dist/formats", name)).ino)
    bun(folder.path, "build/formats.ts")
    const first = written()
    bun(folder.path, "build/formats.ts")
    expect(written()).toEqual(first)
  })

  test("a row that cannot be read stops whatever is run, by name", () => {
    using folder = tempFolder()
    checkout(folder.path)
    changed(folder.path, (text) => text.replace(LAST, `\n  ["Harbour", "harbour_{an}", "a test"],${LAST}`))
    const { exitCode, stdout, stderr } = bun(folder.path, "filter.ts")
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" })
    expect(stderr).toContain("harbour_{an}")
  })
})
