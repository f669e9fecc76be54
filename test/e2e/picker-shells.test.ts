/** The picker at a key of zsh, bash and fish: what is chosen stands in the command line, and is not run. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { hasTmux, Tmux } from "../support/tmux.ts"

setDefaultTimeout(limit(120_000))

const machine = new Machine()
/** With our binary on PATH. */
const env: Record<string, string> = { ...machine.env, PATH: process.env["PATH"] ?? "" }
const COMMAND = "touch chosen"

beforeAll(async () => {
  const bin = join(machine.root, "bin")
  mkdirSync(bin)
  symlinkSync(binary(), join(bin, "ctxbridge"))
  env["PATH"] = `${bin}:${env["PATH"]}`
  const bash = { tool: "Bash", input: { command: COMMAND }, output: "" }
  machine.session().turn("Make the file", [bash], "Made.").flush()
  expect((await run(["import"], { env, cwd: machine.cwd })).code).toBe(0)
  await machine.idle()
})
afterAll(() => machine[Symbol.dispose]())

/** How each shell is started with our function, and nothing of the user's. zsh reads no file that can be named. */
const SHELLS: readonly (readonly [
  shell: string,
  start: (file: string) => string,
  key: string,
  pressed: string,
])[] = [
  ["bash", (file) => `bash --noprofile --rcfile '${file}' -i`, "ctrl-g", "C-g"],
  ["zsh", () => `ZDOTDIR='${machine.root}' zsh -d -i`, "alt-m", "M-m"],
  ["fish", (file) => `fish --no-config --interactive --init-command 'source ${file}'`, "ctrl-g", "C-g"],
]

describe.each(SHELLS)("%s", (shell, start, key, pressed) => {
  const isHere = hasTmux && Bun.which(shell) !== null

  const withPicker = async (...options: string[]): Promise<Tmux> => {
    const { code, stdout } = await run(["init", shell, "--key", key, ...options], { env, cwd: machine.cwd })
    expect(code).toBe(0)
    const file = join(machine.root, shell === "zsh" ? ".zshrc" : shell)
    const prompt = shell === "fish" ? "function fish_prompt; echo 'ready> '; end" : "PS1='ready> '"
    writeFileSync(file, `${stdout}\n${prompt}\n`)
    const tmux = new Tmux(machine, start(file), { columns: 80, rows: 24, env: { PATH: env["PATH"]! } })
    await tmux.sees("ready>")
    return tmux
  }

  test.skipIf(!isHere)(
    `--height: what is above the prompt stays in sight (needs tmux and ${shell})`,
    async () => {
      using tmux = await withPicker("--height", "10")
      tmux.type("echo above")
      tmux.press("Enter")
      await tmux.sees(/^above/m)
      tmux.type("echo again")
      tmux.press(pressed)
      expect(await tmux.sees("Made.")).toContain("echo above")
      tmux.press("C-x")
      await tmux.sees(`ready> echo again${COMMAND}`)
      expect(tmux.screen()).not.toContain("Made.")
    },
  )

  test.skipIf(!isHere)(`${key} (needs tmux and ${shell})`, async () => {
    using tmux = await withPicker()
    tmux.type("echo before  after")
    tmux.press("Left", "Left", "Left", "Left", "Left", "Left")
    await tmux.sees("after")
    tmux.press(pressed)
    await tmux.sees("Made.")
    tmux.press("C-x")
    await tmux.sees(`echo before ${COMMAND} after`)
    tmux.press("Enter")
    await tmux.sees(/^before touch chosen after/m)
    // Nothing was chosen: the line is as it was.
    tmux.type("echo again")
    tmux.press(pressed)
    await tmux.sees("Made.")
    tmux.press("Escape")
    await tmux.sees(/ready> echo again$/m)
    expect(await Bun.file(join(machine.cwd, "chosen")).exists()).toBe(false)
  })
})

test("a key that no shell can bind is refused, and so is an unknown shell", async () => {
  for (const key of ["ctrl-m", "ctrl-i", "f1", "ctrl-", "x", "ctrl-g'; touch pwned; '"])
    expect(await run(["init", "zsh", "--key", key], { env })).toMatchObject({ code: 64, stdout: "" })
  expect((await run(["init", "bash", "--height", "10; touch pwned"], { env })).stderr).toStartWith(
    "ctxbridge: --height needs rows or a share of the screen",
  )
  expect(await run(["init", "tcsh"], { env })).toMatchObject({ code: 64, stdout: "" })
})
