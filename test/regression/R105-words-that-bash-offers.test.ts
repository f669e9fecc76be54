/**
 * Behind `--scope=`, as the help has it, bash offered nothing; behind a command's first word it offered that word again;
 * behind an option's value it offered no word at all.
 */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

let script: string

beforeAll(async () => {
  using machine = new Machine()
  script = (await run(["completions", "bash"], { env: machine.env, cwd: machine.cwd })).stdout
})

test.each([
  // As bash takes `--scope=us` apart.
  [["install", "--scope", "=", "us"], ["user"]],
  [
    ["install", "--scope", "="],
    ["user", "project", "local"],
  ],
  [
    ["config", ""],
    ["list", "get"],
  ],
  [
    ["config", "--json", ""],
    ["list", "get"],
  ],
  [["config", "get", ""], []],
  [["model", "--from", "folder", "s"], ["status"]],
  [["model", "--from", "=", "folder", "s"], ["status"]],
  [["model", "--from", "folder", "status", ""], []],
  [["completions", "bash", ""], []],
  [["statusline", "--chain", ""], []],
])("%j", (words, expected) => {
  const typed = ["ctxbridge", ...words].map((word) => `'${word}'`).join(" ")
  const call = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _ctxbridge; echo "\${COMPREPLY[@]}"`
  const { stdout } = Bun.spawnSync(["bash", "-c", `${script}\n${call}`])
  expect(stdout.toString().split(/\s+/).filter(Boolean)).toEqual(expected)
})
