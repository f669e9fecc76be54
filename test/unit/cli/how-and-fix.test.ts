/** `how` and `fix` show commands and errors as they were; `files` and `blame` whole paths. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

/** `files`, `how`, `fix` and `blame` cut paths, commands and errors at the terminal's width, and put commands on one line. */
describe("long paths, commands and errors", () => {
  const PATH = `/src/${"a-folder-with-a-long-name/".repeat(6)}retry-policy.test.ts`
  const SCRIPT = [
    `cat > ${PATH} <<'EOF'`,
    ...Array.from({ length: 20 }, (_, n) => `  line ${n}   of the retryfixture`),
    "EOF",
  ].join("\n")
  const SHORT = `for one in a b; do\n\techo "$one"   retryloop\ndone`
  const LONG = `npx retryrunner ${"--grep 'a name with   blanks' ".repeat(20)}${PATH}`
  const ERROR = `Exit code 1\nTypeError: retry is not a function\n    at run (${PATH}:12:3)\n${"    at more\n".repeat(30)}`

  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    session
      .turn("Write the retryfixture", [
        { tool: "Edit", input: { file_path: PATH }, output: "ok" },
        { tool: "Bash", input: { command: SCRIPT }, output: "" },
        { tool: "Bash", input: { command: SHORT }, output: "a" },
        { tool: "Bash", input: { command: LONG }, output: ERROR, isError: true },
        { tool: "Bash", input: { command: SCRIPT }, output: ERROR, isError: true },
        { tool: "Bash", input: { command: LONG }, output: "passed" },
      ])
      .flush()
    await machine.hook("stop", session)
  })

  afterAll(() => machine[Symbol.dispose]())

  async function shown(...words: string[]): Promise<string[]> {
    const { code, stdout, stderr } = await run(words, { cwd: machine.cwd, env: machine.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout.trimEnd().split("\n")
  }

  const json = async (...words: string[]) => JSON.parse((await shown(...words, "--json")).join("\n"))

  test("files and blame: the whole path", async () => {
    expect(await shown("files", "retryfixture")).toContain(PATH)
    const [head] = await shown("blame", "retry-policy.test.ts")
    expect(head).toEndWith(` · command, edit · ${PATH}`)
  })

  test("how: a command over several lines, as it was typed", async () => {
    const [first, second, third, ending] = await shown("how", "retryloop")
    expect([first, second, third]).toEqual(["$ for one in a b; do", '  \techo "$one"   retryloop', "  done"])
    expect(ending).toContain("succeeded · 1 run · ctx:")
    expect((await json("how", "retryloop")).found[0].command).toBe(SHORT)
  })

  test("how: of a long one ten lines, and where the others are", async () => {
    const lines = await shown("how", "retryfixture")
    const { handle } = (await json("how", "retryfixture")).found[0]
    const wanted = SCRIPT.split("\n").slice(0, 10)
    expect(lines.slice(0, 10)).toEqual([`$ ${wanted[0]}`, ...wanted.slice(1).map((line) => `  ${line}`)])
    expect(lines[10]).toBe(`  … 12 more lines: ctxbridge show ${handle}`)
    expect((await json("how", "retryfixture")).found[0].command).toBe(SCRIPT)
  })

  test("how: one long line is not cut", async () => {
    expect((await shown("how", "retryrunner"))[0]).toBe(`$ ${LONG}`)
  })

  test("fix: call, error and what followed", async () => {
    const lines = await shown("fix", "retry is not a function", "--limit", "1")
    const { handle, error } = (await json("fix", "retry is not a function")).found[0]
    expect(lines[0]).toStartWith(handle)
    expect(lines[0]).toEndWith(` · Bash: ${LONG}`)
    expect(lines.slice(1, 4)).toEqual([
      "  Exit code 1",
      "  TypeError: retry is not a function",
      `      at run (${PATH}:12:3)`,
    ])
    expect(lines[11]).toBe(`  … 23 more lines: ctxbridge show ${handle}`)
    expect(lines[12]).toBe(`  then Bash (failed): ${SCRIPT.split("\n")[0]}`)
    expect(lines[16]).toBe(`  … 18 more lines: ctxbridge show ${handle}`)
    expect(lines[17]).toBe(`  it succeeded in ${handle}`)
    expect(error.trimEnd()).toBe(ERROR.trimEnd())
  })
})

/** `fix` and `how` told of a traceback how it begins, `Exit code 1` and ten calls, and not the error that it ends with. */
describe("the line that names the error", () => {
  const CALLS = Array.from({ length: 12 }, (_, n) => `  File "kiln.py", line ${n}, in fire`).join("\n")
  const TRACE = `Exit code 1\nTraceback (most recent call last):\n${CALLS}\nkiln.errors.KilnError: the door is open`

  async function archived(output: string): Promise<Machine> {
    const machine = new Inside()
    const session = machine.session()
    session.turn("Fire it", [
      { tool: "Bash", input: { command: "python3 kiln.py --fire" }, output, isError: true },
      { tool: "Bash", input: { command: "python3 kiln.py --bolt" }, output: "" },
    ])
    await machine.hook("stop", session.flush())
    return machine
  }

  async function found(machine: Machine, ...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(words, { cwd: machine.cwd, env: machine.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  test("a long traceback", async () => {
    using machine = await archived(`${TRACE}\nbye`)
    const [, first, second, third] = (await found(machine, "fix", "KilnError")).split("\n")
    expect([first, second, third]).toEqual([
      "  kiln.errors.KilnError: the door is open",
      "  bye",
      "  then Bash: python3 kiln.py --bolt",
    ])
    expect(JSON.parse(await found(machine, "fix", "KilnError", "--json")).found[0].error).toBe(
      `${TRACE}\nbye`,
    )
    const [how] = JSON.parse(await found(machine, "how", "kiln", "fire", "--json")).found
    expect(how).toMatchObject({ exitCode: 1, error: "kiln.errors.KilnError: the door is open" })
  })

  test("an output that names no error begins where it begins", async () => {
    using machine = await archived(`Exit code 8\n${CALLS}`)
    expect((await found(machine, "fix", "kiln.py")).split("\n")[1]).toBe("  Exit code 8")
    const [how] = JSON.parse(await found(machine, "how", "kiln", "fire", "--json")).found
    expect(how.error).toBe(`Exit code 8\n${CALLS}`)
  })
})

/** `how "docker build"` began with listings of a folder `docker/build`, and `how "go test"` with what was echoed. */
describe("how: what only has the words of a command", () => {
  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "ok" })
    const session = machine.session()
    session.turn("Make the image", [
      bash("ls -la docker build"),
      bash("cat docker/build"),
      bash('echo "docker build failed"'),
      bash("grep -rn 'docker build' docs"),
      bash("cd shop\ndocker build -t shop ."),
      bash("bash -lc 'cd shop && docker build .'"),
      bash("docker build --no-cache -t shop . 2>&1 | tail -20"),
      bash('git commit -m "go test passes"'),
      bash("echo go test"),
    ])
    await machine.hook("stop", session.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  const how = async (...words: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await run(["how", ...words, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).found.map(({ command }: { command: string }) => command)
  }

  test("is left out where something runs it, and what runs it first as it stands comes first", async () => {
    const found = await how("docker build")
    expect(found.slice(0, 2).sort()).toEqual([
      "cd shop\ndocker build -t shop .",
      "docker build --no-cache -t shop . 2>&1 | tail -20",
    ])
    expect(found.slice(2)).toEqual(["bash -lc 'cd shop && docker build .'"])
    expect(await how("docker", "build")).toEqual(found)
  })

  test("is all there is where nothing runs it", async () => {
    expect((await how("go test")).sort()).toEqual(["echo go test", 'git commit -m "go test passes"'])
  })

  test("words that are no command find all that has them", async () => {
    expect(await how("docker")).toContain("cat docker/build")
  })
})
