/** What is made from the tables of formats is made anew when they change, whatever Bun is asked to run. */
import { expect, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { tempFolder } from "../../support/temp.ts"

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
