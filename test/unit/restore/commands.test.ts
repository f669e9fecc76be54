/** Commands in a restore: the last that failed, the last that succeeded, and the others. */
import { describe, expect, test } from "bun:test"
import { commandLines } from "../../../src/restore/complement.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

/** A command that a hook of the user's had refused was told as the last failing one until the session's end, and as a failed run. */
describe("a command that a hook of the user's refused has not failed", () => {
  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })

  test.each([
    // Later hosts tell the exit status of every command that was run.
    { version: "2.1.112", output: "Use the Read tool to read file contents", isRun: false },
    { version: "2.1.112", output: "Exit code 1\nno such file", isRun: true },
    { version: "1.0.51", output: "cat: notes.md: No such file or directory", isRun: true },
  ])("$version: $output", async ({ version, output, isRun }) => {
    using machine = new Inside()
    const session = machine.session({ version })
    session.turn("Read the notes", [bash("npm test", "passed"), bash("cat notes.md", output, true)])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given.includes("- last failing: `cat notes.md`")).toBe(isRun)
    expect(given).toContain("- last good: `npm test`")
    const { code, stdout, stderr } = await run(["how", "cat", "notes", "--json"], machine)
    expect({ code, stderr }).toEqual({ code: isRun ? 0 : 3, stderr: "" })
    if (isRun) expect(JSON.parse(stdout).found).toMatchObject([{ command: "cat notes.md", failures: 1 }])
  })
})

/**
 * A failed command with a long output took the room of the last one that succeeded, and what was quoted of the output was
 * its beginning, in which nothing had failed yet.
 */
describe("both commands have room", () => {
  test("the line that names the error is told, and the last good command has room beside it", async () => {
    using machine = new Inside()
    const steps = Array.from({ length: 40 }, (_, n) => `step ${n} of the long run is done`)
    const bash = (command: string, output: string, isError: boolean) => ({
      tool: "Bash",
      input: { command },
      output,
      isError,
    })
    const words = "with many words behind it so that it takes all of the room that a command is given "
    const session = machine
      .session()
      .turn("Ship it", [
        bash(
          `make release ${words.repeat(2)}`,
          `Exit code 2\n${steps.slice(0, 9).join("\n")}\nerror: the key for signing the package has expired${" and was not renewed".repeat(3)}\n${steps.join("\n")}`,
          true,
        ),
        bash(`make check ${words.repeat(2)}`, "ok", false),
      ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toMatch(
      /^- last failing: `make release .{60,}…` → "error: the key for signing the package has expired/m,
    )
    const { stdout } = await machine.hook("pre-compact", session, { trigger: "auto" })
    expect(stdout).toMatch(/^- failing command: `make release .{60,}…` \("error: the key for signing/m)
    expect(given).toMatch(/^- last good: `make check .{60,}…` \(ctx:/m)
  })

  test.each([" &&", ";", "\n"])(
    "a long command is told without the folder that it is run in: cd …%j",
    async (join) => {
      using machine = new Inside()
      const folder = `"/home/someone/code/${"a-long-name/".repeat(10)}"`
      const command = `cd ${folder}${join} npm run check -- --all the parts of it that are there`
      const session = machine.session().turn("Check", [{ tool: "Bash", input: { command }, output: "ok" }])
      await machine.hook("stop", session.flush())
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      expect(given).toContain("- last good: `… npm run check -- --all the parts of it that are there` (ctx:")
    },
  )
})

/** A command was told as failing that had succeeded since, typed with another redirection or without its `cd`. */
describe("a command has succeeded since", () => {
  test.each([
    ["npm test", "npm test", true],
    ["npm test 2>&1", "npm test", true],
    ["npm test", "npm test > /tmp/log 2>&1", true],
    ["cd app && npm test", "npm test", true],
    ['cd "my app"; npm test', 'cd "my app" && npm test', true],
    // Elsewhere, of something else, or with a filter that always succeeds.
    ["cd app && npm test", "cd lib && npm test", false],
    ["npm test", "cd lib && npm test", false],
    ["npm test", "npm test -- retry", false],
    ["npm test", "npm test | tail -5", false],
  ])("%s, then %s", async (failing, good, isMended) => {
    using machine = new Inside()
    const bash = (command: string, output: string, isError = false) => ({
      tool: "Bash",
      input: { command },
      output,
      isError,
    })
    const session = machine.session()
    session.turn("Mend it", [bash(failing, "Exit code 1\nit failed", true), bash(good, "it passed")])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain("- last good: `")
    expect(given.includes("- last failing: `")).toBe(!isMended)
  })
})

/** `git log` was told with the exit status of the `git rev-parse` that had failed before it in the same script. */
describe("a script of several commands has failed", () => {
  test.each([
    ["make kiln --hot", true],
    ["cd app && make kiln --hot 2>&1", true],
    ["make clay --wet && make kiln --hot", false],
    ["make kiln --hot\nmake glaze --red", false],
  ])("%j", async (script, isTold) => {
    using machine = new Inside()
    const bash = (command: string, output: string, isError: boolean) => ({
      tool: "Bash",
      input: { command },
      output,
      isError,
    })
    const session = machine.session()
    session.turn("Fire the kiln", [
      bash(script, "Exit code 7\nit is cold", true),
      // So that it does not stand among the last commands, whatever they are.
      bash("make shelves --oak", "Exit code 1\nno oak", true),
    ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain("make kiln --hot")
    expect(/`(?:cd app && )?make kiln --hot` \(exit 7\)/.test(given)).toBe(isTold)
  })
})

/** A command that was cut under "Commands" came again under "Commands run". */
test("a long command is told once, where it was run last", async () => {
  using machine = new Inside()
  const long = `kiln fire --shelves ${"oak,ash,elm,".repeat(8)}yew --door closed --until 1200 --slowly`
  const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "" })
  const session = machine.session()
  session.turn("Fire it", [
    bash("kiln cool --slowly --until 20"),
    // As long a beginning of another says nothing of its end.
    bash(long.replace(" --slowly", " --fast")),
    bash(long),
    bash(`${long} && echo "is it closed and are all the shelves in their places?"`),
  ])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("- last good: `kiln fire --shelves oak,ash,elm,")
  const [, run = ""] = given.split("## Commands run\n")
  expect(run).toContain("- `kiln cool --slowly --until 20`")
  expect(run.match(/kiln fire --shelves .*--fast/g)).toHaveLength(1)
  expect(run).not.toContain(long)
})

/**
 * A long error was told twice, cut under "Commands" and whole under "Errors seen", and a command both on its own line and
 * among the beginnings of the others.
 */
describe("nothing is told twice", () => {
  const BAKER =
    "Argument of type 'Readonly<Record<string, Kiln>>' is not assignable to a parameter of the type"
  const OVEN = `src/kiln/oven.ts(12,5): error TS2345: ${BAKER} 'Map<string, Oven>' of the baker who bakes all the bread`
  const DOOR = `src/kiln/door.ts(12,5): error TS2345: ${BAKER} 'Map<string, Door>' of the baker who bakes all the bread`

  test("the failed command's error is met once, and others still are", async () => {
    using machine = new Inside()
    const failed = (error: string) => ({
      tool: "Bash",
      input: { command: "npx tsc --noEmit" },
      output: `Exit code 2\n${error}\nFound 1 error in the sources of this project, see above.`,
      isError: true,
    })
    const session = machine.session().turn("Build it", [failed(DOOR), failed(OVEN)])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain(`last failing: \`npx tsc --noEmit\` → "${OVEN.slice(0, 40)}`)
    expect(given.split("oven.ts(12,5)")).toHaveLength(2)
    expect(given.split("door.ts(12,5)")).toHaveLength(2)
  })

  test("a command that is told among the beginnings has no line of its own", () => {
    const long = (n: number) => ({ text: `kiln fire --shelf ${"oak ".repeat(12)}${n}`, times: 9 - n, age: n })
    const commands = [...[0, 1, 2].map(long), { text: "oven --version", times: 2, age: 90 }]
    const lines = commandLines(commands, 230, () => false).join("\n")
    expect(lines).toContain("- also: `")
    expect(lines.split("oven --version")).toHaveLength(2)
  })
})
