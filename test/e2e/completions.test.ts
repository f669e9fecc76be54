/** Completions in the shells themselves: commands, sessions, handles, keys and tools. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const machine = new Machine()
let handle = ""
/** With our binary on PATH. */
const env: Record<string, string> = { ...machine.env, TERM: "xterm", NO_COLOR: "1" }

beforeAll(async () => {
  const bin = join(machine.root, "bin")
  mkdirSync(bin)
  symlinkSync(binary(), join(bin, "ctxbridge"))
  env["PATH"] = `${bin}:${process.env["PATH"] ?? ""}`
  const session = machine.session()
  // What a shell would run if the names were expanded.
  session
    .turn(
      "Mend $(touch pwned) `touch pwned`",
      [{ tool: "Bash", input: { command: "ls" }, output: "a.txt" }],
      "Done.",
    )
    .flush()
  await machine.hook("stop", session)
  await machine.idle()
  const { stdout } = await run(["search", "mend", "--json"], { env: machine.env, cwd: machine.cwd })
  handle = JSON.parse(stdout).hits[0].handle
})
afterAll(() => machine[Symbol.dispose]())

const script = async (shell: string) => (await run(["completions", shell], { env: machine.env })).stdout

const SESSION = "5e551011"
const CASES: readonly (readonly [typed: string, has: () => string])[] = [
  ["ctxbridge sess", () => "sessions"],
  ["ctxbridge show 5e", () => SESSION],
  ["ctxbridge cat 5e", () => SESSION],
  ["ctxbridge export ", () => SESSION],
  ["ctxbridge search --session ", () => SESSION],
  ["ctxbridge search --tool Ba", () => "Bash"],
  ["ctxbridge search --project pro", () => "project"],
  ["ctxbridge config get restore.b", () => "restore.budget"],
]

describe.skipIf(Bun.which("bash") === null)("bash", () => {
  const offered = async (typed: string) => {
    const words = typed.split(" ").map((word) => `'${word}'`)
    const call = `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _ctxbridge; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = Bun.spawnSync(["bash", "-c", `${await script("bash")}\n${call}`], {
      env,
      cwd: machine.cwd,
    })
    return stdout.toString().split("\n").filter(Boolean)
  }

  test.each(CASES)("%s", async (typed, has) => {
    expect(await offered(typed)).toContain(has())
  })

  test("a handle, of which bash has only what is behind the colon", async () => {
    expect(await offered(`ctxbridge show ${handle.slice(4, 7)}`)).toEqual([handle.slice(4)])
  })
})

describe.skipIf(Bun.which("fish") === null)("fish (needs fish)", () => {
  const offered = async (typed: string) => {
    const file = join(machine.root, "ctxbridge.fish")
    await Bun.write(file, await script("fish"))
    const { stdout } = Bun.spawnSync(
      ["fish", "--no-config", "-c", `source ${file}; complete -C '${typed}'`],
      {
        env,
        cwd: machine.cwd,
      },
    )
    return stdout
      .toString()
      .split("\n")
      .map((line) => line.split("\t")[0])
  }

  test.each(CASES)("%s", async (typed, has) => {
    expect(await offered(typed)).toContain(has())
  })

  test("a handle, with its colon", async () => {
    expect(await offered(`ctxbridge show ${handle.slice(0, 6)}`)).toEqual([handle, ""])
  })
})

describe.skipIf(Bun.which("zsh") === null)("zsh (needs zsh)", () => {
  test.each([...CASES, ["ctxbridge show ctx:", () => handle] as const])("%s", async (typed, has) => {
    const file = join(machine.root, "ctxbridge.zsh")
    await Bun.write(file, await script("zsh"))
    let text = ""
    const child = Bun.spawn(["zsh", "-f", "-i"], {
      env: { ...env, PS1: "> " },
      cwd: machine.cwd,
      terminal: {
        cols: 200,
        rows: 24,
        data(_terminal, data) {
          text += new TextDecoder().decode(data)
        },
      },
    })
    const terminal = child.terminal!
    terminal.write(`autoload -Uz compinit && compinit -D && source ${file} && print ready=$((1 + 1))\r`)
    // The next prompt has been printed, too.
    await until(() => /ready=2[\s\S]*> /.test(text), 20_000, "zsh")
    text = ""
    terminal.write(`${typed}\t\t`)
    await until(() => text.includes(has()), 20_000, `${has()} in ${JSON.stringify(text)}`)
    child.kill("SIGKILL")
    await child.exited
    expect(text).toContain(has())
  })
})

test("nothing that stands in a name was run", async () => {
  expect(await Bun.file(join(machine.cwd, "pwned")).exists()).toBe(false)
})

test("a kind that is none, and an archive that is missing: nothing is offered, and nothing said", async () => {
  using empty = new Machine()
  for (const words of [["nothing"], ["session"], ["turn", "ctx:"]])
    expect(await run(["__complete", ...words], { env: empty.env })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
})
