import { beforeAll, describe, expect, test } from "bun:test"
import type { Command } from "../../../src/cli/command.ts"
import { bashCompletions, fishCompletions, zshCompletions } from "../../../src/cli/commands/completions.ts"
import { commandModels } from "../../../src/cli/completions/command-words.ts"
import { Inside, run } from "../../support/inside.ts"

const COMMANDS: Command[] = [
  {
    meta: { name: "paint", description: "It's a [bold] one: really" },
    args: {
      color: { type: "string", alias: "c", description: "Which", valueHint: "red|green" },
      to: { type: "string", description: "Where to", valueHint: "FILE" },
      wet: { type: "boolean", description: "Wet" },
      what: { type: "positional", description: "What", valueHint: "wall|door" },
      more: { type: "positional", rest: true, description: "More", valueHint: "PATH…" },
    },
    run() {},
  },
  { meta: { name: "secret", description: "x", hidden: true }, run() {} },
]
const models = commandModels(COMMANDS)

describe("completions", () => {
  test("the model comes from the commands; hidden ones stay hidden", () => {
    expect(models.map(({ name }) => name)).toEqual(["paint"])
    expect(models[0]!.options.map(({ name }) => name)).toEqual([
      "color",
      "to",
      "wet",
      "json",
      "no-pager",
      "debug",
      "help",
    ])
    expect(models[0]!.options[0]!.values).toEqual({ choices: ["red", "green"], files: false })
    expect(models[0]!.options[1]!.values).toEqual({ choices: [], files: true })
    expect(models[0]!.options[2]!.values).toBeUndefined()
    expect(models[0]!.places.map(({ rest }) => rest)).toEqual([false, true])
  })

  test("bash accepts the script", () => {
    const script = bashCompletions(models)
    expect(Bun.spawnSync(["bash", "-n"], { stdin: Buffer.from(script) }).exitCode).toBe(0)
    expect(script).toContain('--color | -c) COMPREPLY=($(compgen -W "red green" -- "$cur")); return ;;')
  })

  test("zsh: one specification an option, quoted", () => {
    const script = zshCompletions(models)
    expect(script).toContain("'paint:It'\\''s a [bold] one\\: really'")
    expect(script).toContain("'--color=[Which]:color:(red green)'")
    expect(script).toContain("'-c[Which]:color:(red green)'")
    expect(script).toContain("'--to=[Where to]:to:_files'")
    expect(script).toContain("'1:What:(wall door)'")
    expect(script).toContain("'*:More:_files'")
  })

  test("fish: one line each, quoted", () => {
    const lines = fishCompletions(models).split("\n")
    const on = "complete -c ctxbridge -n '__fish_seen_subcommand_from paint'"
    expect(lines).toContain(
      "complete -c ctxbridge -n __fish_use_subcommand -a paint -d 'It\\'s a [bold] one: really'",
    )
    expect(lines).toContain(`${on} -l color -s c -r -f -a 'red green' -d 'Which'`)
    expect(lines).toContain(`${on} -l to -r -F -d 'Where to'`)
    expect(lines).toContain(`${on} -l wet -d 'Wet'`)
    expect(lines).toContain(`${on} -f -a 'wall door'`)
  })
})

/**
 * Behind `--scope=`, as the help has it, bash offered nothing; behind a command's first word it offered that word again;
 * behind an option's value it offered no word at all.
 */
describe("words that bash offers", () => {
  let script: string

  beforeAll(async () => {
    using machine = new Inside()
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
      ["list", "get", "set", "edit", "describe"],
    ],
    [
      ["config", "--json", ""],
      ["list", "get", "set", "edit", "describe"],
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
})
