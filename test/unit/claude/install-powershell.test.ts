/** install.ps1 needs Windows to run (.github/workflows/ci.yml). Here: that it says and knows the same as install.sh. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Language, Parser } from "@vscode/tree-sitter-wasm"
import { TARGETS } from "../../../build/release/targets.ts"
import { releases } from "../../../package.json"
import { NO_BUN_VARIABLES } from "../../../src/config/unused-variables.ts"

const ROOT = join(import.meta.dir, "../../..")
const shell = readFileSync(join(ROOT, "install.sh"), "utf8")
const script = readFileSync(join(ROOT, "install.ps1"), "utf8")

/** `--no-hooks` and `-NoHooks` alike. */
const plain = (option: string): string => option.replaceAll("-", "").toLowerCase()
const optionsIn = (usage: string): string[] =>
  [...usage.matchAll(/^ {2}(--?[\w-]+)/gm)].map(([, name]) => plain(name!))
const usage = /\$usage = @'\n([\s\S]*?)\n'@/.exec(script)![1]!

/** What a parser of PowerShell does not understand: its lines, counted from 1. */
async function wrongLines(text: string): Promise<number[]> {
  const folder = dirname(fileURLToPath(import.meta.resolve("@vscode/tree-sitter-wasm")))
  await Parser.init()
  const parser = new Parser().setLanguage(await Language.load(join(folder, "tree-sitter-powershell.wasm")))
  const cursor = parser.parse(text)!.walk()
  const lines: number[] = []
  for (let isNew = true; ; ) {
    if (isNew && (cursor.currentNode.isError || cursor.currentNode.isMissing))
      lines.push(cursor.startPosition.row + 1)
    isNew = isNew && cursor.gotoFirstChild()
    if (isNew || cursor.gotoNextSibling()) isNew = true
    else if (!cursor.gotoParent()) return lines
  }
}

test("it is PowerShell, and half of it is not", async () => {
  expect(await wrongLines(script)).toEqual([])
  expect(await wrongLines(script.slice(0, script.length / 2))).not.toEqual([])
})

test("it has the options of install.sh, but for the one of checkouts", () => {
  const theirs = optionsIn(/<<'USAGE'\n([\s\S]*?)\nUSAGE/.exec(shell)![1]!)
  expect(optionsIn(usage)).toEqual(theirs.filter((name) => name !== "depsonly"))
  const taken = /^param\(\n([\s\S]*?)\n\)/m.exec(script)![1]!
  expect([...taken.matchAll(/\$(\w+)/g)].map(([, name]) => plain(name!))).toEqual(optionsIn(usage))
})

test("its releases are those of the program", () => {
  expect(/^\$RELEASES = '(.*)'$/m.exec(script)?.[1]).toBe(releases)
})

test("the systems that it chooses are in a release", () => {
  const chosen = [...script.matchAll(/return '(windows-[\w-]+)'/g)].map(([, name]) => name!)
  expect(chosen).toEqual(["windows-x64-baseline", "windows-arm64"])
  for (const name of chosen) expect(TARGETS.map((target) => target.name)).toContain(name)
})

test("it clears what would turn the program into another one", () => {
  expect([...script.matchAll(/'(BUN_\w+)'/g)].map(([, name]) => name!)).toEqual(Object.keys(NO_BUN_VARIABLES))
})

// PowerShell 5.1 takes a file without a byte order mark for the system's own code page.
test("it is ASCII, and so is read alike everywhere", () => {
  expect(script.match(/[^\x00-\x7f]/g)).toBeNull()
})

test("a script that arrives in part does nothing: all of it is one block, which ends with it", () => {
  const [head, ...rest] = script.split("\n& {\n")
  expect(rest).toHaveLength(1)
  expect(head).not.toMatch(/^\s*(function|try|if|foreach)\b/m)
  expect(rest[0]!.split("\n").filter((line) => line.startsWith("}"))).toEqual(["}"])
  expect(rest[0]).toEndWith("\n}\n")
})
