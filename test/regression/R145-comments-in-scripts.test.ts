/**
 * In the comment of a script, an apostrophe was taken for the beginning of a quotation: of the commands and files behind
 * it, none was found.
 */
import { expect, test } from "bun:test"
import { commandPaths } from "../../src/transcript/path-words.ts"
import { simpleCommands } from "../../src/transcript/shell-script.ts"

const SCRIPTS: [script: string, commands: string[], paths: string[]][] = [
  [
    "# Let's see\nnpm test --silent\ncat src/loom.ts",
    ["npm test --silent", "cat src/loom.ts"],
    ["src/loom.ts"],
  ],
  [
    "npm run build # don't wait\nwc -l src/shuttle.ts",
    ["npm run build", "wc -l src/shuttle.ts"],
    ["src/shuttle.ts"],
  ],
  ["npm test --silent;# see docs/loom.md, <<OLD\ngit status -s", ["npm test --silent", "git status -s"], []],
  ["(# it's one\ncd app && sort a.txt)", ["sort a.txt"], ["a.txt"]],
]

test.each(SCRIPTS)("%j", (script, commands, paths) => {
  expect(simpleCommands(script)).toEqual(commands)
  expect(commandPaths(script)).toEqual(paths)
})

test("what is no comment stays", () => {
  const script = `git commit -m "it's #3" && run a#b $# 'c # d' && cat src/loom.ts#L3 \\# src/felt.ts`
  expect(simpleCommands(script)).toEqual([
    `git commit -m "it's #3"`,
    "run a#b $# 'c # d'",
    "cat src/loom.ts#L3 \\# src/felt.ts",
  ])
  expect(commandPaths(script)).toEqual(["src/felt.ts"])
})
