import { describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { errorsMet, isDemand } from "../../../src/agents/errors-met.ts"
import { pathsIn } from "../../../src/record/facts.ts"
import { commandLines, isBare, pack, vocabulary } from "../../../src/restore/complement.ts"
import type { Fact } from "../../../src/restore/material.ts"
import { holderOf } from "../../../src/restore/receipt.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

/** Commands in a restore: the last that failed, the last that succeeded, and the others. */
describe("commands", () => {
  /** A command that a hook of the user's had refused was told as the last failing one until the session's end, and as a failed run. */
  describe("a command that a hook of the user's refused has not failed", () => {
    const bash = (command: string, output: string, isError = false) => ({
      tool: "Bash",
      input: { command },
      output,
      isError,
    })

    test.each([
      // Later versions of Claude Code tell the exit status of every command that was run.
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
        expect(given).toContain(
          "- last good: `… npm run check -- --all the parts of it that are there` (ctx:",
        )
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
      const long = (n: number) => ({
        text: `kiln fire --shelf ${"oak ".repeat(12)}${n}`,
        times: 9 - n,
        age: n,
      })
      const commands = [...[0, 1, 2].map(long), { text: "oven --version", times: 2, age: 90 }]
      const lines = commandLines(commands, 230, () => false).join("\n")
      expect(lines).toContain("- also: `")
      expect(lines.split("oven --version")).toHaveLength(2)
    })
  })
})

describe("command vocabulary", () => {
  const told = (commands: readonly Fact[]): string[] =>
    vocabulary(commands, ({ text, form = text }) => form).map(({ words, times }) => `${words} ×${times}`)

  test("two words, and a third if most commands share recurring ones", () => {
    const commands = [
      { text: "git diff --stat", times: 4 },
      { text: "git diff HEAD", times: 5 },
      { text: "npm run build", times: 2 },
      { text: "npm run test -- ledger", times: 3 },
      { text: "npm run test", times: 1 },
      { text: "terraform apply ledger" },
      { text: "terraform apply billing" },
      { text: "kubectl -n ledger get pods" },
    ]
    expect(told(commands).sort()).toEqual([
      "git diff ×9",
      "kubectl -n ×1",
      "npm run build ×2",
      "npm run test ×4",
      "terraform apply ×2",
    ])
  })

  test("what was used often and recently comes first", () => {
    const commands = [
      { text: "make old thing", times: 3, age: 400 },
      { text: "make it all", times: 3, age: 0 },
      { text: "git add a", times: 40, age: 10 },
    ]
    expect(told(commands)).toEqual(["git add a ×40", "make it all ×3", "make old thing ×3"])
  })

  test("no programs that look at files, no quoted words or variables", () => {
    const commands = ["grep -rn x src", "sed -n 1,3p a", "awk 'NR==1' a", './run.sh "$x"', "node $script"]
    expect(told(commands.map((text) => ({ text })))).toEqual([])
  })

  test("a line that says no more than its beginning is shown as it is", () => {
    const bare = [
      "cd /srv/ledger",
      'cd "/srv/the ledger"',
      "python3 - <<'PY'",
      'uv run python -c "',
      "node <<EOF",
    ]
    for (const line of bare) expect(isBare(line)).toBe(true)
    for (const line of [
      "cd a && npm test",
      "git commit -m 'all done'",
      'gh api x --jq ".[0]"',
      "cat <<EOF > a",
    ])
      expect(isBare(line)).toBe(false)
    expect(told([{ text: "python3 -", form: "python3 - <<'PY'", times: 2 }])).toEqual(["python3 - <<'PY' ×2"])
  })

  test("branches of a `case` are not programs", () => {
    expect(
      told([
        { text: "*) echo none", times: 9 },
        { text: "git push -u origin", times: 2 },
      ]),
    ).toEqual(["git push ×2"])
  })
})

/** Which errors are told in a restore. */
/** "Errors seen" was full of how Claude Code wants its own tools to be used, and of what it or humans had refused. */
describe("errors that a call has met", () => {
  const failed = (text: string) => ({ text, isError: true })

  test.each([
    ["Edit", "2.1.112", "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>"],
    ["Edit", "2.1.112", "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>"],
    ["Edit", "2.1.226", "File has been modified since read, either by the user or by a linter."],
    ["Edit", "1.0.51", "Found 2 matches of the string to replace, but replace_all is false."],
    ["Read", "2.1.226", "File does not exist. Note: your current working directory is /srv/kiln."],
    ["Grep", "2.0.76", "Path does not exist: /srv/kilns"],
  ])("a demand, %s of %s: %s", (tool, version, text) => {
    const lines = errorsMet(tool, failed(text), version)
    expect(lines.map(isDemand)).toEqual([true])
  })

  test.each([
    ["Bash", "2.1.112", "<tool_use_error>Blocked: sleep 45 followed by: kiln status</tool_use_error>"],
    ["Bash", "2.1.229", "Permission for this action was denied by the classifier. Reason: none."],
    // So a human refused in that version.
    ["Bash", "2.0.5", "please add the door first"],
    ["mcp__kiln__fire", "2.1.226", "Error: the door is open"],
  ])("nothing, %s of %s: %s", (tool, version, text) =>
    expect(errorsMet(tool, failed(text), version)).toEqual([]),
  )

  test.each([
    ["Bash", "2.1.112", "Exit code 1\nPath does not exist: /srv/kilns", "Path does not exist: /srv/kilns"],
    ["Bash", "2.1.112", "Command timed out after 2m 0.0s", "Command timed out after 2m 0.0s"],
    // Versions of Claude Code of that time tell no status.
    [
      "Bash",
      "1.0.51",
      "grep: kiln.py: No such file or directory",
      "grep: kiln.py: No such file or directory",
    ],
    ["NotebookEdit", "2.1.112", "The kernel was not found", "The kernel was not found"],
    // A hook's words: it will refuse again.
    ["Bash", "2.1.226", "Use the Read tool to read file contents", "Use the Read tool to read file contents"],
  ])("but an error, %s of %s: %s", (tool, version, text, line) =>
    expect(errorsMet(tool, failed(text), version)).toEqual([line]),
  )

  test("demands of the host come last in a restore, and two of them", async () => {
    using machine = new Inside()
    const session = machine.session()
    const demand = (text: string) => ({
      tool: "Edit",
      input: { file_path: "/srv/kiln.py" },
      isError: true,
      output: `<tool_use_error>${text}</tool_use_error>`,
    })
    const unread = demand("File has not been read yet. Read it first before writing to it.")
    session.turn("Close the door", [
      unread,
      unread,
      demand("String to replace not found in file."),
      demand("File has been modified since read, either by the user or by a linter."),
      {
        tool: "Bash",
        input: { command: "kiln open" },
        output: "Exit code 3\nkiln: no such door",
        isError: true,
      },
      { tool: "Bash", input: { command: "kiln open" }, output: "it is" },
    ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    const [, lines = ""] = /## Errors seen\n((?:- .*\n)*)/.exec(given) ?? []
    expect(lines.split("\n")[0]).toBe('- "kiln: no such door" (exit 3)')
    expect(lines.match(/^- "(?:File|String)/gm)).toHaveLength(2)
  })
})

/** How paths are written in a restore, and found in it. */
describe("paths", () => {
  /** A file in a folder with blanks in its name was given back twice: as itself, and as what stands behind the last blank. */
  describe("a file in a folder with blanks", () => {
    test("its path is told once and whole, and counted once", async () => {
      using machine = new Inside()
      const cwd = join(machine.root, "mein Projekt – été 项目")
      mkdirSync(cwd)
      const session = machine.session({ cwd })
      const input = { file_path: join(cwd, "src", "pärser.ts"), content: "see `src/lexer.ts`\n" }
      session.turn("Write the parser", [{ tool: "Write", input, output: "written" }]).flush()
      // Claude Code shows it again, since it is there.
      mkdirSync(join(cwd, "src"))
      writeFileSync(input.file_path, "…")
      await machine.hook("stop", session)
      await machine.hook("pre-compact", session, { trigger: "manual" })
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      expect(given).toContain("src/pärser.ts")
      expect(given).toContain("src/lexer.ts")
      expect(given).not.toContain("项目/src/pärser.ts`")
      session.boundary("manual").summary("A parser was written.").flush()
      await machine.hook("stop", session)
      const { code, stdout, stderr } = await run(["receipts", "--json", "--project", cwd], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const [receipt] = JSON.parse(stdout).receipts
      expect(receipt.kinds.path).toEqual({ before: 2, kept: 0, given: 2, lost: 0 })
    })
  })

  /**
   * Paths are told many on a line, as the words of a shell are. Behind one with blanks the next ones were put on the same line,
   * so that nobody could tell where it ends: `src/my notes.md lib/lexer.ts`.
   */
  describe("names with blanks", () => {
    test("a path with blanks has a line of its own", async () => {
      using machine = new Inside()
      const session = machine.session()
      const names = ["lib/lexer.ts", "src/my notes.md", "src/parser.ts", "docs/ein Plan.md", "lib/token.ts"]
      // Claude Code itself shows the last ones again.
      const latest = [1, 2, 3, 4, 5].map((n) => `shown${n}.ts`)
      const steps = [...names, ...latest].map((name) => ({
        tool: "Read",
        input: { file_path: `${machine.cwd}/${name}` },
        output: "1→text",
      }))
      session.turn("Look at all of it", steps).flush()
      await machine.hook("stop", session)
      await machine.hook("pre-compact", session, { trigger: "manual" })
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      for (const name of names.filter((one) => one.includes(" "))) expect(given).toContain(`- \`${name}\`\n`)
      for (const name of names) expect(given).toContain(name)
      expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
    })

    test("each line is one name with blanks, or names without; none is lost where there is room", () => {
      const name = fc.oneof(
        fc.stringMatching(/^[a-z/]{1,30}$/),
        fc.stringMatching(/^[A-Z]{1,12}( [A-Z]{1,12}){1,3}$/),
      )
      fc.assert(
        fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
          const found = [...pack(names, 100_000)].flatMap((line) => {
            const [, folder = "", words = ""] = /^- (?:in `(.*)`: )?`(.*)`$/.exec(line)!
            const told = /[A-Z]/.test(words) ? [words] : words.split(" ")
            return told.map((word) => folder + word)
          })
          expect(found.toSorted()).toEqual(names.toSorted())
        }),
        { numRuns: 200 },
      )
    })

    test("and never takes more room than there is", () => {
      fc.assert(
        fc.property(fc.array(fc.string({ maxLength: 40 })), fc.nat(1000), (names, room) => {
          const lines = [
            ...pack(
              names.map((one) => one.replaceAll(/[`\p{C}<>&]/gu, "x")),
              room,
            ),
          ]
          expect(lines.reduce((sum, line) => sum + line.length + 1, 0)).toBeLessThanOrEqual(room)
        }),
        { numRuns: 200 },
      )
    })
  })

  /** A file with blanks in its name, in a folder that a restore tells once, was given back, and its receipt said that it was lost. */
  test("paths are found as a restore tells them, with blanks or without", () => {
    const names = ["lexer.ts", "my notes.md", "parser.ts", "ein Plan.md"]
    const paths = names.map((name) => `/srv/app/a-long-folder/kiln/${name}`)
    const lines = pack(
      names.map((name) => `kiln/${name}`),
      1000,
    )
    expect(lines).toContain("- `kiln/my notes.md`")
    // Restores of earlier versions named a folder of several once.
    const former = ["`kiln/lexer.ts kiln/parser.ts`", "`kiln/my notes.md`", "`kiln/ein Plan.md`"]
    const inFolder = former.map((words) => `- in \`/srv/app/a-long-folder/\`: ${words}`)
    for (const text of [lines, inFolder].map((some) => some.join("\n"))) {
      const holds = holderOf(text)
      for (const path of paths) expect([path, holds("path", path)]).toEqual([path, true])
      for (const name of ["other.ts", "notes", "notes.md", "my notes.md lexer.ts"])
        expect([name, holds("path", `/srv/app/a-long-folder/kiln/${name}`)]).toEqual([name, false])
    }
  })

  /** A file on Windows stood in the archive under two names, was not told from the session's folder, and `blame` missed it. */
  describe("paths of Windows", () => {
    const CWD = "C:\\Users\\dev\\kiln"

    test("one file, however it is written", async () => {
      using machine = new Inside()
      const edit = (path: string) => ({
        tool: "Edit",
        input: { file_path: path, old_string: "a", new_string: "b" },
        output: "The file has been updated",
      })
      const session = machine.session({ cwd: CWD })
      session.turn("Close the door", [
        edit(`${CWD}\\src\\Door.cs`),
        edit("c:/Users/dev/kiln/src/Door.cs"),
        { tool: "Bash", input: { command: `cat '${CWD}\\src\\Shelf.cs'` }, output: "oak" },
        ...["a", "b", "c", "d"].map((name) => edit(`D:\\oven\\${name}.cs`)),
      ])
      await machine.hook("stop", session.flush())
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      expect(given).toContain("- `src/Door.cs`: edited (ctx:")
      expect(given).toContain("- `D:/oven/d.cs`: edited (ctx:")
      const [, paths = ""] = given.split("## Paths\n")
      expect(paths).toStartWith("- `src/Shelf.cs`\n")
      const touched = async (...words: string[]) => {
        const { code, stdout, stderr } = await run(["blame", ...words, "--all-projects", "--json"], machine)
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        return JSON.parse(stdout).found.map(({ path }: { path: string }) => path)
      }
      for (const typed of [
        "Door.cs",
        "src\\Door.cs",
        `${CWD}\\src\\Door.cs`,
        "c:/Users/dev/kiln/src/Door.cs",
      ])
        expect(await touched(typed)).toEqual(["C:/Users/dev/kiln/src/Door.cs"])
    })

    test("in prose", () => {
      expect(pathsIn("see C:\\kiln\\Door.cs, and c:/kiln/Door.cs.")).toEqual(["C:/kiln/Door.cs"])
    })
  })
})
