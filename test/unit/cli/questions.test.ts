import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, Peer, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

/** `how` and `fix` show commands and errors as they were; `files` and `blame` whole paths. */
describe("how and fix", () => {
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
      const [head, path] = await shown("blame", "retry-policy.test.ts")
      expect([head, path]).toEqual([expect.stringMatching(/ · command, edit$/), `  ${PATH}`])
    })

    test("how: a command over several lines, as it was typed", async () => {
      const [first, second, third, ending] = await shown("how", "retryloop")
      expect([first, second, third]).toEqual([
        "$ for one in a b; do",
        '  \techo "$one"   retryloop',
        "  done",
      ])
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

    test("is no answer where nothing runs it", async () => {
      expect(await run(["how", "go test"], machine)).toMatchObject({
        code: 3,
        stdout: "",
        stderr:
          `ctxbridge: no command found in ${machine.cwd}: nothing matches "go test"\n` +
          "hint: try fewer words, or the program's name; ctxbridge search finds where they were said; " +
          "--all-projects looks everywhere\n",
      })
    })

    test("one word finds all that has it, and what runs it comes first", async () => {
      const found = await how("docker")
      expect(found.slice(0, 3).sort()).toEqual([
        "bash -lc 'cd shop && docker build .'",
        "cd shop\ndocker build -t shop .",
        "docker build --no-cache -t shop . 2>&1 | tail -20",
      ])
      expect(found.slice(3)).toContain("cat docker/build")
      const { stdout } = await run(["how", "docker", "--limit", "1"], machine)
      expect(stdout).toEndWith(`\n${found.length - 1} more with --limit ${found.length}\n`)
      expect((await run(["how", "docker", "--limit", "50"], machine)).stdout).not.toContain("more with")
    })
  })

  /** `how "deploy to production"` showed a search for these words, and `how "merge pull request"` a text that had them. */
  describe("how: what a command is for", () => {
    let machine: Machine

    beforeAll(async () => {
      machine = new Inside()
      const bash = (command: string, description = "") => ({
        tool: "Bash",
        input: { command, description },
        output: "ok",
      })
      const session = machine.session()
      session.turn("Where is it written?", [
        bash("grep -rn 'deploy to production' docs"),
        bash("gh pr create --title Wing --body 'It can merge once the pull request is read.'"),
      ])
      session.turn("Bring it to production, will you?", [
        bash("./ship.sh --deploy", "Ship the wing"),
        bash("ls -la wing"),
        bash("rsync -a wing/ far:wing", "Copy the wing"),
      ])
      session.turn("Go on", [
        bash("gh pr merge 12 --squash", "Squash-merge PR #12"),
        bash("STRICT=1 npm run check 2>&1 | tail -5", "Check the types strictly"),
      ])
      const other = machine.session({ cwd: `${machine.root}/other` })
      other.turn("Sign", [bash("cosign sign wing:1", "Sign the image")])
      for (const one of [session, other]) await machine.hook("stop", one.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    const how = async (...words: string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await run(["how", ...words, "--json"], machine)
      return code === 0
        ? JSON.parse(stdout).found.map(({ command }: { command: string }) => command)
        : stderr || stdout
    }

    test.each([
      ["its words and its description", "ship the wing", ["./ship.sh --deploy"]],
      ["its words and the prompt that it was run for", "deploy to production", ["./ship.sh --deploy"]],
      ["an abbreviation", "merge pull request", ["gh pr merge 12 --squash"]],
      ["a variable, and what is tested for", "strict type check", ["STRICT=1 npm run check 2>&1 | tail -5"]],
    ])("by %s", async (_by, question, commands) => {
      expect(await how(question)).toEqual(commands)
    })

    test("of another project: nothing, but how many there are", async () => {
      const { code, stdout, stderr } = await run(["how", "sign image with cosign"], machine)
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
      expect(stderr).toStartWith(
        `ctxbridge: no command found in ${machine.cwd}: nothing matches "sign image with cosign"; 1 in other projects\n`,
      )
      expect(await how("sign image with cosign", "-a")).toEqual(["cosign sign wing:1"])
    })
  })

  /** `fix "http 413"` showed three errors that had nothing of it but one word. */
  describe("fix: the same error", () => {
    let machine: Machine

    beforeAll(async () => {
      machine = new Inside()
      const failed = (command: string, output: string) => ({
        tool: "Bash",
        input: { command },
        output,
        isError: true,
      })
      const session = machine.session()
      session.turn("Send it", [
        failed("curl -f https://a.example/x", "curl: (22) The requested URL returned error: HTTP status 404"),
        failed("git apply /tmp/a/1.patch", "error: corrupt patch at line 14"),
        { tool: "Bash", input: { command: "git apply /tmp/a/1.patch" }, output: "" },
        failed("python3 ovens.py", "ModuleNotFoundError: No module named 'ovens.core'"),
        {
          tool: "Bash",
          input: { command: "gh run view 7 --log-failed" },
          output:
            "check\tTypes\t2026-03-01T10:00:00.1Z error[bad-argument]: Argument to function `traverse` is incorrect",
        },
        { tool: "Read", input: { file_path: "/srv/notes.md" }, output: "error: the kiln door is stuck" },
      ])
      session.turn(
        "The page stays empty:\n\nLoading module from “https://a.example/kiln.js” was blocked because of a disallowed MIME type",
        [
          { tool: "Read", input: { file_path: "/srv/next.config.js" }, output: "" },
          {
            tool: "Edit",
            input: { file_path: "/srv/next.config.js", old_string: "a", new_string: "b" },
            output: "ok",
          },
        ],
        "The path was rewritten too late.",
      )
      session.turn("I have read of a KilnError somewhere", [], "Really?")
      await machine.hook("stop", session.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    const fix = (...words: string[]) => run(["fix", ...words], machine)
    const found = async (...words: string[]) => JSON.parse((await fix(...words, "--json")).stdout).found

    test.each([
      "http 413",
      "ModuleNotFoundError: No module named 'brick.core'",
      "error: corrupt archive at line 14",
      "the kiln door is stuck",
      "KilnError",
    ])("%s was never seen", async (error) => {
      expect(await fix(error)).toMatchObject({
        code: 3,
        stdout: "",
        stderr:
          `ctxbridge: no fix found in ${machine.cwd}: nothing matches ${JSON.stringify(error)}\n` +
          "hint: the line that names the error, alone, finds most; ctxbridge search finds its words; " +
          "--all-projects looks everywhere\n",
      })
    })

    test("with another number, path or time", async () => {
      expect(await found("error: corrupt patch at line 27")).toMatchObject([
        { target: "git apply /tmp/a/1.patch", solvedIn: expect.stringMatching(/^ctx:/) },
      ])
      expect(await found("http status 404")).toMatchObject([{ target: "curl -f https://a.example/x" }])
      expect(
        await found("/home/me/ovens.py: ModuleNotFoundError: No module named 'ovens.core'"),
      ).toHaveLength(1)
    })

    test("in the log of another program", async () => {
      expect(await found("Argument to function `traverse` is incorrect")).toMatchObject([
        { target: "gh run view 7 --log-failed", solvedIn: null },
      ])
    })

    test("pasted by the user: what was changed, and what was answered", async () => {
      const error =
        'Loading module from "https://b.example/app.js" was blocked because of a disallowed MIME type'
      const [one, ...others] = await found(error)
      expect(others).toEqual([])
      expect(one).toMatchObject({
        tool: "",
        target: "",
        pasted: true,
        steps: [{ tool: "Edit", target: "/srv/next.config.js", failed: false }],
        solvedIn: null,
        answer: "The path was rewritten too late.",
      })
      expect(one.error).toStartWith("Loading module from “https://a.example/kiln.js”")
      const { code, stdout, stderr } = await fix(error)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout.split("\n").map((line) => line.replace(/^ctx:\S+ .* · /, ""))).toEqual([
        "pasted by you",
        "  Loading module from “https://a.example/kiln.js” was blocked because of a disallowed MIME type",
        "  then Edit: /srv/next.config.js",
        "  answer: The path was rewritten too late.",
        "",
      ])
    })
  })
})

describe("files of a name", () => {
  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    const touch = (tool: string, file_path: string) => ({ tool, input: { file_path }, output: "ok" })
    // What is about config.ts, by its words, touches other files.
    for (const file of ["loader.ts", "schema.ts"])
      session.turn("Why does config.ts not load? config.ts is wrong.", [touch("Edit", `/srv/${file}`)])
    session
      .turn("Tidy up", [touch("Write", "/srv/src/config.ts"), touch("Read", "/srv/test/config.ts")])
      .turn("Look again", [touch("Read", "/srv/src/config.ts")])
      .turn("Is the kestrel shown? The kestrel is of kestrel.ts.", [
        touch("Edit", "/srv/kestrel.ts"),
        { tool: "Bash", input: { command: "curl http://localhost/kestrel -o /kestrel" }, output: "ok" },
        { tool: "Bash", input: { command: "cat /kestrel" }, output: "ok" },
      ])
      .flush()
    await machine.hook("stop", session)
  })

  afterAll(() => machine[Symbol.dispose]())

  const asked = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(["files", ...words], { cwd: machine.cwd, env: machine.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  test("the end of a path shows that file first, with all that was done to it, then files of the topic", async () => {
    const { found } = JSON.parse(await asked("src/config.ts", "--json"))
    expect(found[0]).toMatchObject({ path: "/srv/src/config.ts", ops: ["read", "write"], turns: 2, named: 1 })
    const { handle } = JSON.parse(await asked("schema.ts", "--json")).found[0]
    // Of its turns the last one that changed it, though another has read it since.
    expect(found[0].handle).not.toBe(handle)
    const timeline = JSON.parse(
      (await run(["show", found[0].handle, "--around", "3", "--json"], machine)).stdout,
    )
    expect(timeline.turns.find((turn: { handle: string }) => turn.handle === found[0].handle).prompt).toBe(
      "Tidy up",
    )
    const others = found.slice(1).map(({ path }: { path: string }) => path)
    expect(others).toContain("/srv/loader.ts")
    expect(others).not.toContain("/srv/src/config.ts")
    expect((await asked("src/config.ts")).split("\n")[0]).toBe("/srv/src/config.ts")
  })

  test("it says how many have the name", async () => {
    const lines = (await asked("config.ts")).split("\n")
    expect(lines[0]).toBe("2 files of that name, the last touched first:")
    expect([lines[1], lines[3]]).toEqual(["/srv/src/config.ts", "/srv/test/config.ts"])
    expect([lines[5], lines[6]]).toEqual(["", "Others that turns about it touched:"])
    const one = (await asked("src/config.ts")).split("\n")
    expect(one.slice(2, 4)).toEqual(["", "Others that turns about it touched:"])
    expect(await asked("why", "does", "it", "not", "load")).not.toContain("Others")
  })

  test("what only commands had comes last, unless a path names it", async () => {
    const paths = async (...words: string[]): Promise<string[]> =>
      JSON.parse(await asked(...words, "--json")).found.map(({ path }: { path: string }) => path)
    expect(await paths("kestrel")).toEqual(["/srv/kestrel.ts", "/kestrel"])
    expect((await paths("/kestrel"))[0]).toBe("/kestrel")
  })

  test("a topic names no file", async () => {
    const { found } = JSON.parse(await asked("why", "does", "it", "not", "load", "--json"))
    expect(found[0].path).toMatch(/^\/srv\/(?:loader|schema)\.ts$/)
    expect(found[0].named).toBeUndefined()
  })
})

/** `blame FILE:LINE` and `why FILE:LINE`: the edit a line comes from, and the reasons given for it. */
describe("line origin", () => {
  interface Found {
    readonly lines: readonly { readonly line: number; readonly text: string }[]
    readonly edit: Record<string, unknown> | null
    readonly reasons?: Record<string, unknown>
  }

  let machine: Inside

  const KILN = [
    "export function fire(kiln: Kiln): void {",
    "  const hottest = 1240",
    "  ramp(kiln, hottest, RATE)",
    "}",
    "",
    "// by hand: nobody archived this comment",
    "export const RATE = 95",
  ]
  const edit = (path: string, before: string, after: string) => ({
    tool: "Edit",
    input: { file_path: path, old_string: before, new_string: after },
    output: "updated",
  })

  beforeAll(async () => {
    machine = new Inside()
    const kiln = join(machine.cwd, "src/kiln.ts")
    mkdirSync(join(machine.cwd, "src"))
    const first = machine.session({ start: Date.UTC(2026, 2, 1) })
    first.turn("Never let the kiln get hotter than 1250 degrees.", [], "Understood.")
    first.user("Write a kiln").message()
    first.think("kiln.ts needs a rate that the old kiln survives.")
    first.say("I will write kiln.ts with a slow ramp.")
    first.step({
      tool: "Write",
      input: {
        file_path: kiln,
        content:
          "export function fire(kiln: Kiln): void {\n  const hottest = 1200\n  ramp(kiln, hottest)\n}\n",
      },
      output: "written",
    })
    first.say("I chose a slow ramp rather than a jump, because the old kiln cracks.")
    first.turn(
      "Hotter, please",
      [edit(kiln, "  const hottest = 1200\n", "  const hottest = 1240\n")],
      `窯の温度${"高".repeat(156)} hottest`,
    )
    const second = machine.session({ start: Date.UTC(2026, 2, 5) })
    second.turn("Give the ramp a rate", [
      edit(kiln, "hottest)", "hottest, RATE)"),
      edit(kiln, "}\n", "}\n\nexport const RATE = 90\n"),
      // Refused, so it changed nothing.
      {
        ...edit(kiln, "const hottest = 1240", "const hottest = 1240 // hot"),
        output: "refused",
        isError: true,
      },
    ])
    // The whole file is written again: what was there before does not come from here.
    second.turn("Tidy up", [
      {
        tool: "Write",
        input: { file_path: kiln, content: `${KILN.slice(0, 5).join("\n")}\nexport const RATE = 95\n` },
        output: "written",
      },
    ])
    for (const session of [first, second]) {
      expect(await run(["import", session.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
    }
    // As an editor on Windows would save it, and with another indent.
    writeFileSync(kiln, `${KILN.join("\r\n").replace("  ramp", "\tramp")}\r\n`)
  })

  afterAll(() => machine[Symbol.dispose]())

  async function found(...args: readonly string[]): Promise<Found[]> {
    const { code, stdout, stderr } = await run([...args, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).found
  }

  describe("blame FILE:LINE", () => {
    test("the edit that introduced the line, though the file was written anew since", async () => {
      const [one] = await found("blame", "src/kiln.ts:2")
      expect(one?.lines).toEqual([{ line: 2, text: "  const hottest = 1240" }])
      expect(one?.edit).toMatchObject({ prompt: "Hotter, please", tool: "Edit", isPiece: false })
      expect(one?.edit?.["diff"]).toEqual([
        { mark: "-", text: "  const hottest = 1200" },
        { mark: "+", text: "  const hottest = 1240" },
      ])
    })

    test("a line of which an edit replaced a piece", async () => {
      const [one] = await found("blame", "src/kiln.ts:3")
      expect(one?.edit).toMatchObject({ prompt: "Give the ramp a rate", tool: "Edit", isPiece: true })
      expect(one?.edit?.["diff"]).toEqual([
        { mark: "-", text: "hottest)" },
        { mark: "+", text: "hottest, RATE)" },
      ])
    })

    test("its own file comes first, then the same in another worktree, and a namesake says that it is one", async () => {
      using other = new Inside()
      const RATE = "export const RATE = 95 // per hour"
      const [own, tree] = [other.cwd, join(other.cwd, ".claude/worktrees/hot")]
      const far = join(other.root, "far")
      for (const folder of [own, tree, far]) mkdirSync(join(folder, "src"), { recursive: true })
      mkdirSync(join(other.cwd, ".git"))
      const made = async (
        cwd: string,
        file: string,
        prompt: string,
        before: string,
        after: string,
        day: number,
      ) => {
        const session = other.session({ cwd, start: Date.UTC(2026, 2, day) })
        await other.hook("stop", session.turn(prompt, [edit(join(cwd, file), before, after)]).flush())
      }
      await made(own, "src/a.ts", "Own", "RATE = 90", "RATE = 95", 1)
      await made(tree, "src/b.ts", "Tree", "RATE", RATE, 2)
      for (const file of ["a", "b", "c"]) await made(far, `src/${file}.ts`, `Far ${file}`, "RATE", RATE, 3)
      await made(own, "packages/src/d.ts", "Nested", "RATE", RATE, 4)
      const origin = async (file: string, ...args: string[]) => {
        writeFileSync(join(own, file), RATE)
        const { stdout } = await run(["blame", `${file}:1`, "--json", ...args], other)
        const { prompt, namesake } = JSON.parse(stdout).found[0].edit ?? {}
        return [prompt, namesake]
      }
      // Of its own file only a piece is known, of the others the whole line.
      expect(await origin("src/a.ts", "-a")).toEqual(["Own", undefined])
      expect(await origin("src/b.ts", "-a")).toEqual(["Tree", undefined])
      expect(await origin("src/c.ts", "-a")).toEqual(["Far c", true])
      expect(await origin("src/c.ts")).toEqual([undefined, undefined])
      expect(await origin("src/d.ts")).toEqual(["Nested", true])
      const told = await run(["blame", "src/c.ts:1", "-a"], other)
      expect(told.stdout).toContain(`\n  another file of that name, ${join(far, "src/c.ts")}\n`)
      const same = await run(["blame", "src/b.ts:1"], other)
      expect(same.stdout).toContain(`\n  the same file, ${join(tree, "src/b.ts")}\n`)
    })

    test("several lines: one answer for each edit, without lines that stand everywhere", async () => {
      const all = await found("blame", "src/kiln.ts:1-7")
      expect(
        all.map(({ lines, edit: by }) => [lines.map(({ line }) => line), by?.["prompt"] ?? null]),
      ).toEqual([
        [[1], "Write a kiln"],
        [[2], "Hotter, please"],
        [[3], "Give the ramp a rate"],
        [[6], null],
        [[7], "Tidy up"],
      ])
    })

    test("all lines of a large file that was often written take as long as its edits, not as edits times lines", async () => {
      using other = new Inside()
      const path = join(other.cwd, "glaze.ts")
      const lines = Array.from(
        { length: 3000 },
        (_, n) => `export const glaze${n} = mix(${n}, "cobalt ${n}")`,
      )
      const session = other.session()
      for (let n = 1; n <= 40; n++) {
        const content = lines.slice(0, 75 * n).join("\n")
        session.turn(`Glaze ${n}`, [
          { tool: "Write", input: { file_path: path, content }, output: "written" },
        ])
      }
      await run(["import", session.flush().path], other)
      writeFileSync(path, lines.join("\n"))
      const begin = performance.now()
      const { stdout } = await run(["blame", "glaze.ts:1-3000", "--json"], other)
      // Searching every text for every line takes longer.
      expect(performance.now() - begin).toBeLessThan(8000)
      const all: Found[] = JSON.parse(stdout).found
      expect(all).toHaveLength(40)
      expect(all[39]).toMatchObject({ edit: { prompt: "Glaze 40" } })
      expect(all[39]!.lines[0]!.line).toBe(2926)
    })

    test("a line that no archived edit has: exit status 3, and who touched the file", async () => {
      const ran = await run(["blame", "src/kiln.ts:6"], machine)
      expect(ran).toMatchObject({ code: 3, stderr: "" })
      expect(ran.stdout).toContain("No archived edit has this")
      expect(ran.stdout).toContain("Turns that touched the file:")
      expect(ran.stdout).toContain("Tidy up")
      const json = await run(["blame", "src/kiln.ts:6", "--json"], machine)
      expect(json).toMatchObject({ code: 3, stderr: "" })
      expect(JSON.parse(json.stdout)).toMatchObject({
        found: [{ edit: null }],
        touched: [{ prompt: "Tidy up" }, {}, {}, {}],
      })
    })

    test.each([
      ["src/kiln.ts:4", 64, "stands in many places", "hint: try src/kiln.ts:3 or src/kiln.ts:6"],
      ["src/kiln.ts:99", 64, "src/kiln.ts has no line 99", "hint: it has 7 lines"],
      ["src/kiln.ts:3-1", 64, "has no line 3-1", "hint: it has 7 lines"],
      ["src/gone.ts:1", 3, "there is no file src/gone.ts", "hint: ctxbridge blame src/gone.ts lists"],
      ["src:1", 64, "src is not a file of at most 32 MB", ""],
    ])("%s: exit status %d", async (line, code, message, hint) => {
      const ran = await run(["blame", line], machine)
      expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" })
      expect(ran.stderr).toContain(message)
      expect(ran.stderr).toContain(hint)
    })

    test("a file that is called so", async () => {
      writeFileSync(join(machine.cwd, "odd:7"), "")
      const ran = await run(["blame", "odd:7"], machine)
      expect(ran).toMatchObject({ code: 3, stdout: "" })
      expect(ran.stderr).toContain('matches "odd:7"')
    })
  })

  describe("why FILE:LINE", () => {
    test("what was decided in the turn, what earlier turns say of the file, and what was said and thought", async () => {
      const [one] = await found("why", "src/kiln.ts:1")
      expect(one?.edit).toMatchObject({ prompt: "Write a kiln" })
      expect(one?.reasons).toMatchObject({
        saidBefore: "I will write kiln.ts with a slow ramp.",
        saidAfter: "I chose a slow ramp rather than a jump, because the old kiln cracks.",
        thought: "kiln.ts needs a rate that the old kiln survives.",
      })
      const notes = one?.reasons?.["notes"] as { kind: string; text: string }[]
      expect(notes.map(({ kind, text }) => [kind, text])).toEqual([
        ["decision", "I chose a slow ramp rather than a jump, because the old kiln cracks."],
        ["constraint", "Never let the kiln get hotter than 1250 degrees."],
      ])
    })

    test("for people", async () => {
      const ran = await run(["why", "src/kiln.ts:1"], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout.replace(/ctx:\w+/g, "ctx:…")).toBe(`src/kiln.ts:1
  export function fire(kiln: Kiln): void {
ctx:…  1 Mar 00:00 · Write
  Write a kiln
  + export function fire(kiln: Kiln): void {
  +   const hottest = 1200
  +   ramp(kiln, hottest)
  + }
  decided
    I chose a slow ramp rather than a jump, because the old kiln cracks.
  constraint in ctx:…
    Never let the kiln get hotter than 1250 degrees.
  thought
    kiln.ts needs a rate that the old kiln survives.
  said before
    I will write kiln.ts with a slow ramp.
  said after
    I chose a slow ramp rather than a jump, because the old kiln cracks.
`)
    })

    test("words without blanks are folded, too", async () => {
      const { stdout } = await run(["why", "src/kiln.ts:2"], machine)
      expect(stdout.match(/^ {4}[窯高].*$/gm)).toHaveLength(5)
      for (const line of stdout.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
    })

    test("nothing says why: it says so", async () => {
      const ran = await run(["why", "src/kiln.ts:7"], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toContain("Nothing archived says why.")
    })

    test("a file without a line", async () => {
      const ran = await run(["why", "src/kiln.ts"], machine)
      expect(ran).toMatchObject({ code: 64, stdout: "" })
      expect(ran.stderr).toContain("hint: such as ctxbridge why src/kiln.ts:12")
    })

    test("Claude can ask, too", async () => {
      await using peer = await Peer.connect(machine.cwd, machine.env)
      const { text, isError } = await peer.call("look_up", { kind: "why", about: "src/kiln.ts:2" })
      expect(isError).toBe(false)
      expect(text).toContain('asked: "Hotter, please"')
      expect(await peer.call("look_up", { kind: "why", about: "src/kiln.ts" })).toMatchObject({
        isError: true,
      })
    })
  })
})
