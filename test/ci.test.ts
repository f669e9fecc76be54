/** `.ci/run`: how it counts, what it runs once more, and what it notes. Its tests are artificial, Bun is real. */
import { expect, test } from "bun:test"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { tempFolder } from "./support/temp.ts"

const ROOT = join(import.meta.dir, "..")

const PASSES = `import { test } from "bun:test"\ntest("stands", () => {})\ntest.skip("left out", () => {})\n`

/** Fails so many times. */
const flaky = (times: number): string => `import { appendFileSync, readFileSync } from "node:fs"
import { describe, expect, test } from "bun:test"
describe("a clock", () => {
  test("strikes\\tonce", () => {
    appendFileSync("struck", ".")
    expect(readFileSync("struck", "utf8").length).toBeGreaterThan(${times})
  })
  test("goes on", () => {})
})
`

/** A checkout with these tests, in which npm does what package.json says, but sets nothing up and builds nothing. */
function checkout(root: string, tests: Readonly<Record<string, string>>): void {
  for (const folder of [".ci", "test", "tools", "node_modules/.bin"])
    mkdirSync(join(root, folder), { recursive: true })
  for (const name of [".ci/run", "package.json"]) copyFileSync(join(ROOT, name), join(root, name))
  writeFileSync(join(root, ".ci/flakes.tsv"), "date\tcommit\tfile\ttest\n")
  symlinkSync(process.execPath, join(root, "node_modules/.bin/bun"))
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
  writeFileSync(
    join(root, "tools/npm"),
    `#!/bin/sh\nPATH="node_modules/.bin:$PATH"\n[ "$2" != test:all ] || exec ${scripts["test:all"]}\n`,
  )
  chmodSync(join(root, "tools/npm"), 0o755)
  for (const [name, text] of Object.entries(tests)) writeFileSync(join(root, "test", `${name}.test.ts`), text)
}

function ciRun(root: string) {
  const { exitCode, stdout } = Bun.spawnSync(["bash", join(root, ".ci/run")], {
    env: { PATH: `${join(root, "tools")}:${process.env["PATH"]}`, TMPDIR: root, HOME: root },
  })
  const lines = stdout.toString().trimEnd().split("\n")
  return { exitCode, lines, last: lines.at(-1), flakes: readFileSync(join(root, ".ci/flakes.tsv"), "utf8") }
}

test.each([
  [1, ["== once more: test/flaky.test.ts"]],
  [2, ["== once more: test/flaky.test.ts", "== once again: test/flaky.test.ts"]],
])("failures before it passes: %i; it is named, counted as passed, and noted", (times, told) => {
  using folder = tempFolder()
  checkout(folder.path, { passes: PASSES, flaky: flaky(times) })
  const { exitCode, lines, last, flakes } = ciRun(folder.path)
  expect({ exitCode, last }).toEqual({ exitCode: 0, last: "3 passed, 0 failed, 1 skipped" })
  expect(lines.filter((line) => line.startsWith("== once "))).toEqual(told)
  expect(lines).toContain("test/flaky.test.ts\ta clock > strikes once")
  // There is nothing here that would get them.
  expect(lines).toContain(
    "== skipped: what is found by meaning, since the weights of the model are not to be had here",
  )
  expect(flakes).toMatch(
    /^date\tcommit\tfile\ttest\n\d{4}-\d\d-\d\d\tunknown\ttest\/flaky\.test\.ts\ta clock > strikes once\n$/,
  )
  // Now that it passes at once, nothing is added.
  expect(ciRun(folder.path)).toMatchObject({ exitCode: 0, last: "3 passed, 0 failed, 1 skipped", flakes })
})

test("what fails three times has failed, and is no flake", () => {
  using folder = tempFolder()
  const fails = PASSES.replace("stands", "falls").replace("() => {}", '() => { throw new Error("no") }')
  checkout(folder.path, { passes: PASSES, fails })
  const { exitCode, last, flakes } = ciRun(folder.path)
  expect({ exitCode, last }).toEqual({ exitCode: 1, last: "1 passed, 1 failed, 2 skipped" })
  expect(flakes.trimEnd().split("\n")).toHaveLength(1)
})

test("where the table cannot be written, the run is the same", () => {
  using folder = tempFolder()
  checkout(folder.path, { flaky: flaky(1) })
  // To root nothing is write-protected; a folder in its place is for nobody.
  const table = join(folder.path, ".ci/flakes.tsv")
  Bun.spawnSync(["rm", table])
  symlinkSync(join(folder.path, "gone", "flakes.tsv"), table)
  const { exitCode, stdout } = Bun.spawnSync(["bash", join(folder.path, ".ci/run")], {
    env: {
      PATH: `${join(folder.path, "tools")}:${process.env["PATH"]}`,
      TMPDIR: folder.path,
      HOME: folder.path,
    },
  })
  expect(exitCode).toBe(0)
  expect(stdout.toString().trimEnd()).toEndWith("\n2 passed, 0 failed, 0 skipped")
})

test("`npm test` is a part of `npm run test:all`: without what takes long, and with each program once", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
  expect(scripts.pretest).toBe(scripts["pretest:all"])
  const [all, part] = [scripts["test:all"], scripts.test] as string[]
  expect(part!.slice(0, all!.length)).toBe(all!)
  const words = part!.slice(all!.length).trim().split(" ")
  expect(words.slice(-2)).toEqual(["$(cat", "test/programs.txt)"])
  const programs = readFileSync(join(ROOT, "test/programs.txt"), "utf8").trimEnd().split("\n")
  for (const path of [...words.slice(0, -2), ...programs]) expect(existsSync(join(ROOT, path))).toBe(true)
  // What `src/main.ts` starts, and what starts it.
  for (const name of ["hook-start", "tour", "search-start", "mcp", "terminal", "statusline", "prune-plugin"])
    expect(programs.filter((path) => path.includes(`/${name}`))).not.toEqual([])
})
