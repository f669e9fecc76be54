/** Arguments that are empty, or contradict each other. */
import { describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { Inside, run } from "../../support/inside.ts"

/** An option whose value was empty, as that of a variable that was never set, was passed over: more was done than was meant. */
describe("an empty value is an error", () => {
  const CALLS: readonly (readonly string[])[] = [
    ["search", "word", "--session", ""],
    ["search", "word", "--session="],
    ["search", "word", "--file", ""],
    ["search", "word", "--since", ""],
    ["resurrect", "5e551011", "--to", ""],
    ["export", "5e551011", "--output", ""],
    ["sessions", "--project", ""],
    ["preview", "--session", ""],
  ]

  test.each(CALLS.map((args) => [args]))("%p", async (args) => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("a word").flush())
    const ran = await run(args, machine)
    const flag = args.find((one) => one.startsWith("--"))!.replace("=", "")
    expect(ran).toMatchObject({ code: 64, stdout: "" })
    expect(ran.stderr).toMatch(new RegExp(`^ctxbridge: ${flag} needs a value\nhint: ${flag} [A-Z]+\n$`))
  })

  const WORDS: readonly (readonly [message: string, ...args: string[]])[] = [
    ["one of the paths is empty", "import", ""],
    ["one of the paths is empty", "verify", ""],
    ["WHAT is empty", "forget", "", "--match", "word", "--yes"],
  ]

  test.each(WORDS)("%s: %s %p", async (message, ...args) => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("a word").flush())
    const ran = await run(args, machine)
    expect(ran).toMatchObject({ code: 64, stdout: "" })
    expect(ran.stderr.split("\n")[0]).toBe(`ctxbridge: ${message}`)
  })

  test("what begins with a dash and is no option can still be looked for", async () => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("use --force with care").flush())
    const refused = await run(["search", "->"], machine)
    expect(refused).toMatchObject({ code: 64, stdout: "" })
    expect(refused.stderr).toContain("put -- before")
    // Somebody looks for a flag of another program.
    expect((await run(["search", "--no-cache"], machine)).stderr).toContain("put -- before")
    expect(await run(["search", "--", "--force"], machine)).toMatchObject({ code: 0, stderr: "" })
  })

  test("a value that begins with two dashes: how it is given, and that it is taken so", async () => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("-----BEGIN OF SOMETHING").flush())
    const refused = await run(["forget", "--match", "-----BEGIN", "--dry-run"], machine)
    expect(refused).toMatchObject({ code: 64, stdout: "" })
    expect(refused.stderr).toContain("hint: --match=… takes one that begins with --\n")
    const taken = await run(["forget", "--match=-----BEGIN", "--dry-run"], machine)
    expect(taken).toMatchObject({ code: 0, stderr: "" })
    expect(taken.stdout).toStartWith("Would replace ")
  })
})

/** Of two options that contradict each other, one was passed over without a word. */
describe("options that cannot be used together", () => {
  const CALLS: readonly (readonly [message: string, ...args: string[]])[] = [
    [
      "--project and --all-projects cannot be used together",
      "search",
      "word",
      "--all-projects",
      "--project",
      "/srv",
    ],
    [
      "--project and --all-projects cannot be used together",
      "receipts",
      "--all-projects",
      "--project",
      "/srv",
    ],
    ["--import and --no-import cannot be used together", "install", "--import", "--no-import"],
    ["--purge and --no-mcp cannot be used together", "uninstall", "--purge", "--no-mcp", "--yes"],
  ]

  test.each(CALLS)("%s", async (message, ...args) => {
    using machine = new Inside()
    await machine.hook("stop", machine.session().turn("a word").flush())
    const ran = await run(args, machine)
    expect(ran).toMatchObject({ code: 64, stdout: "", stderr: `ctxbridge: ${message}\n` })
    expect(existsSync(machine.dataHome)).toBe(true)
  })

  const ONE_OF: readonly (readonly [message: string, ...args: string[]])[] = [
    ['--scope must be one of user, project, local, not "system"', "install", "--scope", "system"],
    ['--source must be one of compact, clear, startup, not "resume"', "preview", "--source", "resume"],
    ['--runtime must be one of native, wasm, not "cuda"', "model", "verify", "--runtime", "cuda"],
    ['--older-than needs an age, not "old"', "purge", "--older-than", "old"],
  ]

  test.each(ONE_OF)("%s", async (message, ...args) => {
    using machine = new Inside()
    const ran = await run(args, machine)
    expect(ran).toMatchObject({ code: 64, stdout: "" })
    expect(ran.stderr.split("\n")[0]).toBe(`ctxbridge: ${message}`)
  })

  /** Some named neither what is allowed nor what is near. */
  test.each([
    ["preview --source boo", "such as --source compact"],
    ["preview --source cler", "did you mean --source clear?"],
    ["install --scope bo", "such as --scope user"],
    ["search word --mode boo", "such as --mode lexical"],
    ["search word --role boo", "such as --role human"],
    ["sessions --limit x", "such as --limit 10"],
    ["search word --limit -1", "such as --limit 10"],
    ["timeline word --around x", "such as --around 10"],
    ["bench survive --window 1.5", "such as --window 10"],
    ["sessions --limit", "--limit N"],
    ["sync --to", "--to DIR|URL"],
    ["search word --mode", "--mode lexical|semantic|hybrid"],
    ["status --json=1", "--json alone"],
    ["completions tcsh", "one of bash, zsh, fish"],
    ["completions zhs", "did you mean zsh? It is one of bash, zsh, fish"],
    ["bench hoks", "did you mean hooks? It is one of hooks, torture, survive"],
    ["bench all", "one of hooks, torture, survive"],
    ["model instal", "did you mean install? It is one of status, install, verify, remove"],
    ["config get restore.budge", "did you mean restore.budget?"],
    ["config get nothing.like.it", "ctxbridge config list shows them"],
  ])("%s: %s", async (words, hint) => {
    using machine = new Inside()
    const ran = await run(words.split(" "), machine)
    expect(ran).toMatchObject({ code: 64, stdout: "" })
    const lines = ran.stderr.split("\n")
    expect(lines).toHaveLength(3)
    expect(lines[0]).toStartWith("ctxbridge: ")
    expect(lines[1]).toStartWith(`hint: ${hint}`)
    expect(lines[2]).toBe("")
  })

  test("a scope is found in capitals, too, as every choice is", async () => {
    using machine = new Inside()
    const ran = await run(["install", "--scope", "USER", "--json"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).statusLine).toBe("added")
  })
})

/** People are "user" in Claude Code, and the first word that was tried failed without a hint. */
test("--role takes the words that Claude Code has for them", async () => {
  using machine = new Inside()
  await machine.hook("stop", machine.session().turn("the quartz lamp", [], "It glows.").flush())
  const roles = async (role: string) => {
    const ran = await run(["search", "quartz", "--role", role, "--json"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return (JSON.parse(ran.stdout) as { hits: { role: string }[] }).hits.map((hit) => hit.role)
  }
  expect(await roles("user")).toEqual(["human"])
})
