import { beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { TARGETS } from "../../../build/release/targets.ts"
import { releases } from "../../../package.json"
import { ownProgram } from "../../../src/base/own-program.ts"
import type { Command } from "../../../src/cli/command.ts"
import { bashCompletions, fishCompletions, zshCompletions } from "../../../src/cli/commands/completions.ts"
import { manPage } from "../../../src/cli/commands/man.ts"
import { COMMANDS } from "../../../src/cli/commands.ts"
import { commandModels } from "../../../src/cli/completions/command-words.ts"
import { renderHelp } from "../../../src/cli/help.ts"
import { createStyle } from "../../../src/cli/style.ts"
import { compareVersions, offersFor, parseSums } from "../../../src/cli/update/get-binary.ts"
import {
  isRemovable,
  managerOf,
  platformOf,
  withoutBaseline,
} from "../../../src/cli/update/replace-running.ts"
import { OPTIONS } from "../../../src/config/options.ts"
import { open } from "../../../src/views/open.ts"
import { doneIn } from "../../support/events.ts"
import { Inside, run } from "../../support/inside.ts"
import { makeLeafhill } from "../../support/leafhill.ts"
import { Machine } from "../../support/machine.ts"

test("where a word is missing, the hint has a line that can be typed", async () => {
  using machine = new Inside()
  for (const line of [
    "project move OLD NEW",
    "files config.ts",
    "how npm test",
    "fix Cannot find module",
    "undo src/config.ts",
    "blame src/config.ts",
    "why src/config.ts:12",
  ]) {
    const [command = ""] = line.split(" ")
    expect(await run([command], machine)).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining(
        `hint: such as ctxbridge ${line}; ctxbridge ${command} --help says more\n`,
      ),
    })
  }
})

/** `ctxbridge config`, and how deep a file may be. */
describe("config", () => {
  const fileOf = (machine: Inside): string => join(machine.home, ".config", "ctxbridge", "config.toml")

  describe("config set", () => {
    test("makes the file, private, and counts at once", async () => {
      using machine = new Inside()
      const ran = await run(["config", "set", "restore.budget", "6000"], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toBe(`restore.budget = 6000 in ${fileOf(machine)}\n`)
      expect(statSync(fileOf(machine)).mode & 0o777).toBe(0o600)
      expect((await run(["config", "get", "restore.budget"], machine)).stdout).toBe("6000\n")
      expect((await run(["config", "set", "archive.max_size", "2GB"], machine)).code).toBe(0)
      expect((await run(["config", "get", "archive.max_size"], machine)).stdout).toBe("2000000000\n")
    })

    test("where nobody may write, it says which file that is, and what else there is to do", async () => {
      using machine = new Inside()
      mkdirSync(join(machine.home, ".config"), { recursive: true })
      writeFileSync(join(machine.home, ".config", "ctxbridge"), "in the way")
      const { code, stdout, stderr } = await run(["config", "set", "restore.budget", "6000"], machine)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr.split("\n")).toEqual([
        expect.stringMatching(/^ctxbridge: cannot write \S+config\.toml: E[A-Z]+: [^,]+$/),
        "hint: check who may write there; a variable sets an option, too: ctxbridge config describe OPTION",
        "",
      ])
    })

    test("changes its own line only: order, comments and tables stay", async () => {
      using machine = new Inside()
      mkdirSync(dirname(fileOf(machine)), { recursive: true })
      const before = "# mine\nlearn = false\n\n[restore] # here\nbudget = 600 # little\nstartup = true\n"
      writeFileSync(fileOf(machine), before)
      expect((await run(["config", "set", "restore.budget", "700"], machine)).code).toBe(0)
      expect(readFileSync(fileOf(machine), "utf8")).toBe(before.replace("600", "700"))
      expect((await run(["config", "set", "prune.keep", "5"], machine)).code).toBe(0)
      expect(readFileSync(fileOf(machine), "utf8")).toBe(
        before.replace("600", "700").replace("false\n", "false\nprune.keep = 5\n"),
      )
    })

    test("config unset knows an option's former name, and a budget of nothing is none", async () => {
      using machine = new Inside()
      mkdirSync(dirname(fileOf(machine)), { recursive: true })
      writeFileSync(fileOf(machine), "[embed]\nenabled = false\n")
      const ran = await run(["config", "unset", "search.meaning"], machine)
      expect(ran).toMatchObject({ code: 0, stdout: "search.meaning is auto, the default again\n" })
      expect(readFileSync(fileOf(machine), "utf8")).not.toContain("enabled")
      for (const value of ["$0", "0M"])
        expect(await run(["config", "set", "budget.day", value], machine)).toMatchObject({ code: 64 })
    })

    test("config unset takes out its own line only, and the list marks what is not as by default", async () => {
      using machine = new Inside()
      mkdirSync(dirname(fileOf(machine)), { recursive: true })
      const before = "# mine\nlearn = false\n\n[restore] # here\nbudget = 600\nstartup = true\n"
      writeFileSync(fileOf(machine), before)
      const marked = async (): Promise<boolean> =>
        (await run(["config", "list"], machine)).stdout.includes("\n* restore.budget ")
      expect(await marked()).toBe(true)
      const described = await run(["config", "describe", "restore.budget"], machine)
      expect(described.stdout).toContain("ctxbridge config unset restore.budget\n")
      const ran = await run(["config", "unset", "restore.budget"], machine)
      const now = `restore.budget is ${OPTIONS["restore.budget"].default}, the default`
      expect(ran).toMatchObject({ code: 0, stderr: "", stdout: `${now} again\n` })
      const after = before.replace("budget = 600\n", "")
      expect(readFileSync(fileOf(machine), "utf8")).toBe(after)
      expect(await marked()).toBe(false)
      const again = await run(["config", "unset", "restore.budget"], machine)
      expect(again).toMatchObject({ code: 0, stderr: "", stdout: `Your file does not set it: ${now}\n` })
    })

    test("line ends, comments and values of several lines are kept, or go as one", async () => {
      using machine = new Inside()
      mkdirSync(dirname(fileOf(machine)), { recursive: true })
      const edited = async (text: string, ...args: string[]): Promise<string> => {
        writeFileSync(fileOf(machine), text)
        const { code, stderr } = await run(["config", ...args], machine)
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        return readFileSync(fileOf(machine), "utf8")
      }
      const list = '[capture] # what\nexclude = [ # not these\n  "~/a", # mine\n  "~/#b",\n] # so far\n'
      const rest = "\n[restore]\nbudget = 600 # little\nclear = 'off' # \"never\"\n"
      for (const end of ["\n", "\r\n"]) {
        const of = (text: string): string => text.replaceAll("\n", end)
        const before = of(`# mine\n${list}${rest}`)
        expect(await edited(before, "unset", "restore.budget")).toBe(
          before.replace(`budget = 600 # little${end}`, ""),
        )
        expect(await edited(before, "set", "restore.budget", "700")).toBe(before.replace("600", "700"))
        expect(await edited(before, "set", "restore.clear", "full")).toBe(before.replace("'off'", '"full"'))
        expect(await edited(before, "set", "prune.keep", "5")).toBe(
          before.replace("# mine", `# mine${end}prune.keep = 5${end}`),
        )
        expect(await edited(before, "unset", "capture.exclude")).toBe(of(`# mine\n[capture] # what\n${rest}`))
        expect(await edited(before, "set", "capture.exclude", "~/c")).toBe(
          of(`# mine\n[capture] # what\n# not these\n# mine\nexclude = ["~/c"] # so far\n${rest}`),
        )
        expect(await edited(`# mine${end}learn = false`, "set", "prune.keep", "5")).toBe(
          of("# mine\nlearn = false\nprune.keep = 5\n"),
        )
        // Where the option's table is, it can be nowhere else.
        expect(await edited(before, "set", "restore.related", "2")).toBe(`${before}related = 2${end}`)
        expect(await edited(of(`[restore]\n\n${list}`), "set", "restore.related", "2")).toBe(
          of(`[restore]\nrelated = 2\n\n${list}`),
        )
        expect(await edited(of("learn = false\nprune.keep = 5"), "unset", "prune.keep")).toBe("learn = false")
      }
      const text = '"""\n \\""" # no comment\n"""" # one'
      expect(await edited(`restore.budget = ${text}\n`, "set", "restore.budget", "5")).toBe(
        "restore.budget = 5 # one\n",
      )
      // What looks like a setting in a text is none.
      const quoted = 'note = """\nrestore.budget = 1\n"""\n'
      expect(await edited(`${quoted}restore.budget = [\n 1,\n 2 ]\n`, "unset", "restore.budget")).toBe(quoted)
    })

    test("a value that is not allowed, and a file that cannot be changed safely: nothing is written", async () => {
      using machine = new Inside()
      expect(await run(["config", "set", "restore.budget", "much"], machine)).toMatchObject({
        code: 64,
        stdout: "",
      })
      expect(existsSync(fileOf(machine))).toBe(false)
      mkdirSync(dirname(fileOf(machine)), { recursive: true })
      for (const text of ["restore = { budget = 600 }\n", "what is this\n"]) {
        writeFileSync(fileOf(machine), text)
        const ran = await run(["config", "set", "restore.budget", "700"], machine)
        expect(ran).toMatchObject({ code: 1, stdout: "" })
        expect(ran.stderr).toContain("left unchanged\nhint: ctxbridge config edit")
        expect(readFileSync(fileOf(machine), "utf8")).toBe(text)
      }
    })

    test("a variable that counts more is told", async () => {
      using machine = new Inside()
      machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "900"
      const ran = await run(["config", "set", "restore.budget", "6000"], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toContain("It has no effect here: 900 comes from the ")
    })
  })

  test("config describe explains one", async () => {
    using machine = new Inside()
    const ran = await run(["config", "describe", "restore.budget"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("CTXBRIDGE_RESTORE_BUDGET")
    expect(ran.stdout).toContain("default")
  })

  test.each([{ words: ["list", "restore.budget"] }, { words: ["get", "restore.budget", "6000"] }])(
    "a word too many is an error: $words",
    async ({ words }) => {
      using machine = new Inside()
      expect(await run(["config", ...words], machine)).toMatchObject({
        code: 64,
        stdout: "",
        stderr: `ctxbridge: unexpected argument: ${words.at(-1)}\nhint: ctxbridge config --help\n`,
      })
    },
  )

  test("an option that an earlier version had: its former name counts, or it is said that it no longer exists", async () => {
    using machine = new Inside()
    const file = join(machine.home, ".config", "ctxbridge", "config.toml")
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, "[learn]\nenabled = false\nholdout = 0.1\n")
    const { env } = machine
    const listed = await run(["config", "list", "--json"], { env, cwd: machine.cwd })
    expect(listed).toMatchObject({ code: 0, stderr: "" })
    const { options, problems } = JSON.parse(listed.stdout)
    expect(options.find(({ key }: { key: string }) => key === "archive.cold")).toMatchObject({ value: false })
    expect(problems).toEqual([
      { key: "learn.holdout", origin: "user", isValue: false, message: "no longer exists" },
    ])
    expect(await run(["config", "get", "learn.holdout"], { env, cwd: machine.cwd })).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("learn.holdout no longer exists"),
    })
  })

  /**
   * A repository's `.ctxbridge.toml` may nest ten thousand tables. Making full names of them took a hook longer than
   * Claude Code waits: it was killed before it had archived anything.
   */
  test("tables are read as deep as options are named", async () => {
    using machine = new Inside()
    const deep = Array(13_000).fill("a").join(".")
    const lines = ['"restore.startup" = false', `${deep} = 1`, "[restore]", "budget = 600", `${deep} = 1`]
    writeFileSync(join(machine.cwd, ".ctxbridge.toml"), `${lines.join("\n")}\n`)
    const listed = await run(["config", "list", "--json"], { env: machine.env, cwd: machine.cwd })
    expect(listed).toMatchObject({ code: 0, stderr: "" })
    const { options, problems, brokenFiles } = JSON.parse(listed.stdout)
    expect(brokenFiles).toEqual([])
    const [origin, isValue, message] = ["project", false, "no such option"]
    expect(problems).toEqual(["a.a", "restore.a"].map((key) => ({ key, origin, isValue, message })))
    const set = options.filter((one: { origin: string }) => one.origin === "project")
    expect(set.map(({ key, value }: { key: string; value: unknown }) => [key, value])).toEqual([
      ["restore.budget", 600],
      ["restore.startup", false],
    ])
  })
})

describe("completions", () => {
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
        ["list", "get", "set", "unset", "edit", "describe"],
      ],
      [
        ["config", "--json", ""],
        ["list", "get", "set", "unset", "edit", "describe"],
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
})

/** The help of each command. */
describe("help", () => {
  /** Each line of a help was filled up to the longest, of up to 400 columns, and none was broken: a terminal wrapped them all. */
  test.each(Object.keys(COMMANDS))("%s: every line fits, and ends with its last word", async (name) => {
    const { default: command } = await COMMANDS[name]!()
    for (const columns of [60, 80, 200]) {
      for (const line of await renderHelp(command, columns, createStyle(false))) {
        expect(line).not.toMatch(/\s$/)
        // What can be typed is never broken.
        if (!/^( {2}\S|USAGE )/.test(line)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
      }
    }
  })
})

/** The manual page. */
describe("man page", () => {
  const page = async (): Promise<string> => {
    using machine = new Inside()
    const ran = await run(["man"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return ran.stdout
  }

  test("has every group, command and option, and no hidden command", async () => {
    const text = await page()
    for (const section of ["FIND", "READ", "KEEP", "MAINTAIN", "EXIT STATUS", "FILES"])
      expect(text).toContain(`\n.SH ${section}\n`)
    expect(text).toContain("\\fBsearch\\fR \\fIquery\\fR...")
    expect(text).toContain("Also \\fBgrep\\fR.")
    expect(text).toContain("\\fB\\-n\\fR, \\fB\\-\\-limit\\fR=\\fIN\\fR")
    expect(text).not.toContain("\\fBhook\\fR")
  })

  test("words that roff would take for macros or escapes are none", () => {
    const [model] = commandModels([
      { meta: { name: "paint", description: ".SH is \\fB no macro" }, args: {}, run() {} },
    ])
    const text = manPage("1.0", [{ title: "x", commands: [model!] }], ["json", "debug", "help"])
    expect(text).toContain("\n\\&.SH is \\efB no macro.\n")
  })

  test.skipIf(Bun.which("man") === null)("man renders it without a warning (needs man)", async () => {
    const { stdout, stderr, exitCode } = Bun.spawnSync(["man", "--warnings", "-l", "-"], {
      stdin: Buffer.from(await page()),
      env: { PATH: process.env["PATH"] ?? "", MANWIDTH: "80", LC_ALL: "C.UTF-8", MANPAGER: "cat" },
    })
    expect({ exitCode, stderr: String(stderr) }).toEqual({ exitCode: 0, stderr: "" })
    expect(String(stdout)).toContain("ctxbridge - a memory for coding agents")
  })
})

/** Who keeps a binary, by where it lies. */
describe("package manager", () => {
  test.each([
    ["/home/a/.local/bin/ctxbridge", undefined],
    ["/usr/local/bin/ctxbridge", undefined],
    ["/srv/ctxbridge/dist/ctxbridge", undefined],
    ["/usr/lib/node_modules/ctxbridge-linux-x64/bin/ctxbridge", "npm"],
    ["C:\\Users\\a\\node_modules\\ctxbridge-windows-x64\\bin\\ctxbridge.exe", "npm"],
    ["/opt/homebrew/Cellar/ctxbridge/1.0.0/bin/ctxbridge", "Homebrew"],
    ["/nix/store/abc-ctxbridge-1.0.0/bin/ctxbridge", "Nix"],
    ["/usr/bin/ctxbridge", "the system's package manager"],
  ])("%s: %s", (path, name) => {
    expect(managerOf(path)?.name).toBe(name)
  })

  test.each([
    ["/home/a/.local/bin/ctxbridge", true],
    ["/usr/local/bin/ctxbridge", true],
    ["/usr/bin/ctxbridge", false],
    ["/usr/lib/node_modules/ctxbridge-linux-x64/bin/ctxbridge", false],
    ["/srv/ctxbridge/dist/ctxbridge", false],
    ["/home/a/bin/ctxbridge-0.1.0-linux-x64", false],
    ["C:/Users/a/.local/bin/ctxbridge.exe", false],
  ])("%s is removed by --purge: %p", (path, is) => {
    expect(isRemovable(path)).toBe(is)
  })
})

/** Configuration files are read no sooner than a setting is asked for. */
describe("settings late", () => {
  /** A command that writes a configuration file and then asks for what stands in it. */
  const PROGRAM = `
import { writeFileSync } from "node:fs"
import { runCli } from ${JSON.stringify(join(import.meta.dir, "../../../src/cli/router.ts"))}
await runCli(["late"], {
  meta: { name: "late", description: "", badOptions: "unread" },
  run({ env, out }) {
    writeFileSync("settings.toml", "[restore]\\nbudget = 4711\\n[secrets]\\nenabled = false")
    out.print([env.config["restore.budget"], env.secrets.enabled, env.resolved.problems.length, env.broken.length].join())
  },
})
`

  /** Every command read the configuration files before it began, also those that ask for no setting, as a search. */
  test("configuration files are read when a setting is asked for", () => {
    using machine = new Machine()
    const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM], {
      cwd: machine.cwd,
      env: { ...machine.env, CTXBRIDGE_CONFIG: join(machine.cwd, "settings.toml") },
    })
    expect({ stdout: stdout.toString(), stderr: stderr.toString(), exitCode }).toEqual({
      stdout: "4711,false,0,0\n",
      stderr: "",
      exitCode: 0,
    })
  })
})

describe("update", () => {
  const HERE = { platform: "linux", arch: "x64", maps: "", cpu: "flags : sse avx2 bmi", isTranslated: false }

  test.each([
    [{}, "linux-x64"],
    [{ cpu: "flags : sse" }, "linux-x64-baseline"],
    [{ maps: "7f00 r-xp /lib/ld-musl-x86_64.so.1" }, "linux-x64-musl"],
    [{ maps: "7f00 r-xp /lib/ld-musl-x86_64.so.1", cpu: "" }, "linux-x64-musl-baseline"],
    [{ arch: "arm64", cpu: "" }, "linux-arm64"],
    [{ arch: "arm64", maps: "/lib/ld-musl-aarch64.so.1" }, "linux-arm64-musl"],
    [{ platform: "darwin" }, "darwin-x64"],
    [{ platform: "win32" }, "windows-x64-baseline"],
    [{ platform: "win32", arch: "arm64" }, "windows-arm64"],
    [{ platform: "darwin", isTranslated: true }, "darwin-arm64"],
    [{ platform: "darwin", arch: "arm64" }, "darwin-arm64"],
  ])("%j is %s, which a release has", (more, name) => {
    expect(platformOf({ ...HERE, ...more })).toBe(name)
    expect(TARGETS.map((target) => target.name)).toContain(name)
  })

  test.each([{ arch: "riscv64" }, { platform: "freebsd" }])("there is none for %j", (more) => {
    expect(platformOf({ ...HERE, ...more })).toBeUndefined()
  })

  describe("SHA256SUMS", () => {
    const [a, b, c] = ["a", "b", "c"].map((digit) => digit.repeat(64))
    const text = `${a}  ctxbridge-1.2.3-linux-x64
${b} *ctxbridge-1.2.3-linux-x64.gz
${a}  ctxbridge-1.10.0-rc.1-linux-x64
${c}  ctxbridge-1.10.0-rc.1-linux-x64.gz
${a}  ctxbridge-2.0.0-linux-x64-musl
${a}  ctxbridge-2.0.0-linux-x64-musl.gz
${a}  ctxbridge-3.0.0-linux-x64
${a}  ../ctxbridge-4.0.0-linux-x64
short  ctxbridge-5.0.0-linux-x64
`

    test("offers the versions that are whole, the newest first", () => {
      const sums = parseSums(text)
      expect(offersFor(sums, "linux-x64")).toEqual([
        {
          version: "1.10.0-rc.1",
          platform: "linux-x64",
          name: "ctxbridge-1.10.0-rc.1-linux-x64",
          sum: a!,
          packedSum: c!,
        },
        {
          version: "1.2.3",
          platform: "linux-x64",
          name: "ctxbridge-1.2.3-linux-x64",
          sum: a!,
          packedSum: b!,
        },
      ])
      expect(offersFor(sums, "linux-x64-musl").map(({ version }) => version)).toEqual(["2.0.0"])
      expect(offersFor(sums, "darwin-x64")).toEqual([])
    })

    test("Windows' programs end in .exe", () => {
      const sums = parseSums(
        `${a}  ctxbridge-1.2.3-windows-x64.exe\n${b}  ctxbridge-1.2.3-windows-x64.exe.gz\n`,
      )
      expect(offersFor(sums, "windows-x64-baseline")).toEqual([
        {
          version: "1.2.3",
          platform: "windows-x64",
          name: "ctxbridge-1.2.3-windows-x64.exe",
          sum: a!,
          packedSum: b!,
        },
      ])
    })

    test("without a baseline, the other binary is the same", () => {
      expect(offersFor(parseSums(text), "linux-x64-baseline").map(({ platform }) => platform)).toEqual([
        "linux-x64",
        "linux-x64",
      ])
      expect(withoutBaseline("linux-x64")).toBeUndefined()
    })
  })

  describe("versions", () => {
    // From semver.org.
    const ORDER =
      "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.2.0 1.10.0 2.0.0".split(
        " ",
      )

    test("are ordered as semver.org says", () => {
      const shuffled = ORDER.toSorted((a, b) => (Bun.hash(a) < Bun.hash(b) ? -1 : 1))
      expect(shuffled).not.toEqual(ORDER)
      expect(shuffled.sort(compareVersions)).toEqual(ORDER)
    })

    test("any two, either way round", () => {
      const version = fc
        .tuple(
          fc.nat(20),
          fc.nat(20),
          fc.nat(20),
          fc.option(fc.stringMatching(/^[a-z0-9]{1,3}(\.[a-z0-9]{1,3})?$/)),
        )
        .map(([a, b, c, rest]) => `${a}.${b}.${c}${rest === null ? "" : `-${rest}`}`)
      fc.assert(
        fc.property(version, version, (a, b) => {
          const sign = Math.sign(compareVersions(a, b))
          expect(sign + Math.sign(compareVersions(b, a))).toBe(0)
          expect(compareVersions(a, a)).toBe(0)
          // Bun's own order is npm's, which is the same.
          expect(sign).toBe(Bun.semver.order(a, b))
        }),
      )
    })
  })

  test("a program that has been replaced is where it was", () => {
    expect(ownProgram("/home/a/bin/ctxbridge (deleted)")).toBe("/home/a/bin/ctxbridge")
    expect(ownProgram("/home/a/bin/ctxbridge")).toBe("/home/a/bin/ctxbridge")
    expect(ownProgram()).toBe(process.execPath)
  })

  test("the installer and the program look for releases at the same place", () => {
    const script = readFileSync(join(import.meta.dir, "../../../install.sh"), "utf8")
    expect(/^RELEASES='(.*)'$/m.exec(script)?.[1]).toBe(releases)
  })

  test.each([
    ["https://example.com/x", true],
    ["http://localhost:1/x", true],
    ["file:///x", true],
    ["/x y", true],
    ["x", false],
    ["ftp://x", false],
    ["file://x", false],
  ])("update.from: %s is %s", (text, isOne) => {
    expect(OPTIONS["update.from"].parse(text)).toBe(isOne ? text : undefined)
  })
})

/** What `ctxbridge resurrect` says. */
describe("resurrect", () => {
  const GONE = "  (create that folder first: it is gone, and Claude Code looks for the session only there)\n"

  /** `resurrect` told people to change to a folder that no longer exists, as that of a worktree. */
  test("a session's folder that is gone is said to be", async () => {
    using machine = new Inside()
    const folder = `${machine.root}/worktree`
    const [here, there] = [machine.session(), machine.session({ cwd: folder })]
    for (const session of [here, there]) await machine.hook("stop", session.turn("a word").flush())
    for (const session of [here, there]) rmSync(session.path)
    const resurrected = async (session: string) => {
      const { code, stdout, stderr } = await run(["resurrect", session], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout
    }
    expect(await resurrected(here.session)).toEndWith(`claude --resume ${here.session}\n`)
    const lines = `cd ${folder} && claude --resume ${there.session}\n${GONE}`
    expect(await resurrected(there.session)).toEndWith(lines)
    const { stdout } = await run(["resurrect", there.session, "--json"], machine)
    expect(JSON.parse(stdout).sessions[0].resume).toMatchObject([{ folder, gone: true }])
  })
})

/** What `import` says it took. */
describe("import reports", () => {
  const there = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

  /** Writes claude-flow's archive; each word is a session with one turn for each letter. */
  function flow(machine: Machine, ...sessions: string[]): string {
    const entries = sessions.flatMap((sessionId) =>
      [...sessionId].map((letter, chunkIndex) => ({
        id: `${sessionId}-${chunkIndex}`,
        content: `User: ask ${letter} of ${sessionId}\n\nAssistant: told`,
        metadata: { sessionId, chunkIndex },
        createdAt: Date.UTC(2026, 0, 1) + chunkIndex,
      })),
    )
    const file = join(machine.root, "archive.json")
    writeFileSync(file, JSON.stringify(entries))
    return file
  }

  /** While another process writes to the views. */
  async function locked<T>(machine: Machine, work: () => Promise<T>): Promise<T> {
    const db = open(machine.dataHome, "write", 2000)
    try {
      db.run("BEGIN IMMEDIATE")
      return await work()
    } finally {
      db.close()
    }
  }

  /**
   * An import of another tool's archive told that nothing was new when the vault had taken all of it and only the views
   * were locked. One damaged copy kept all other sessions out, also with `--check`. And an import of transcripts ended
   * without a report when the views were locked and a project had no pointer. Rows that a tool had stored twice were
   * told as imported before, and leafhill's rows without a session were dropped without a word.
   */
  test("what the vault took is told, although the views are locked", async () => {
    using machine = new Inside()
    expect((await there(machine, "import", flow(machine, "a"))).code).toBe(0)
    const file = flow(machine, "a", "bc")
    const { code, stdout } = await locked(machine, () =>
      there(machine, "import", "--no-wait", file, "--json"),
    )
    const done = doneIn(stdout)
    expect({ code, ok: done.ok, indexError: done.indexError }).toEqual({
      code: 1,
      ok: false,
      indexError: "database is locked",
    })
    expect(done.files).toMatchObject([
      { taken: done.takenBytes, archive: { sessions: 2, lines: { taken: 4, known: 2, held: 0 } } },
    ])
    expect(done.takenBytes).toBeGreaterThan(0)
    expect((await there(machine, "export", "bc~claude-flow", "--jsonl")).stdout).toContain("ask c of bc")
  })

  test("a damaged copy keeps no other session out, and --check takes its session again", async () => {
    using machine = new Inside()
    expect((await there(machine, "import", flow(machine, "first", "second", "third"))).code).toBe(0)
    const copy = join(machine.dataHome, "vault/imported/claude-flow/second~claude-flow.jsonl.zst")
    const bytes = readFileSync(copy)
    bytes[bytes.length - 140]! ^= 0xff
    writeFileSync(copy, bytes)
    const file = flow(machine, "first", "second", "third", "fourth")
    const half = await there(machine, "import", file)
    expect(half).toMatchObject({ code: 1, stderr: "" })
    expect(half.stdout).toStartWith("1 file examined\nArchived ")
    expect(half.stdout).toContain("\nclaude-flow: 12 entries new in 3 sessions; 20 imported before ")
    expect(half.stdout).toContain(`\nfailed: ${file}: session second~claude-flow: `)
    const whole = await there(machine, "import", file, "--check")
    expect(whole).toMatchObject({ code: 0, stderr: "" })
    expect(whole.stdout).toContain("\nclaude-flow: 12 entries new in 4 sessions; 32 imported before ")
    expect(existsSync(copy.replace(".jsonl.zst", ".~1.jsonl.zst"))).toBe(true)
    expect((await there(machine, "export", "second~claude-flow", "--raw")).stdout).toContain(
      "ask d of second",
    )
  })

  test("locked views and no pointer: the report is there", async () => {
    using machine = new Inside()
    machine.session().turn("One.").flush()
    expect((await there(machine, "import")).code).toBe(0)
    rmSync(join(machine.dataHome, "pointers"), { recursive: true })
    machine.session().turn("Two.").flush()
    const { code, stdout } = await locked(machine, () => there(machine, "import", "--no-wait"))
    expect(code).toBe(1)
    expect(stdout).toMatch(/^2 transcripts examined\nArchived [\d.]+ K?B from 1 transcript\n/)
    expect(stdout).toContain("Archived, but not indexed yet: database is locked")
  })

  test("rows that are stored twice or belong to no session", async () => {
    using machine = new Inside()
    const file = join(machine.root, "memory.db")
    const db = makeLeafhill(file)
    db.run(
      "INSERT INTO conversations (role, content, created_at) VALUES ('user', 'Whose?', '2026-03-01 13:00:00')",
    )
    db.close()
    const told = await there(machine, "import", file)
    expect(told.stdout).toContain(`\nleafhill: 6 entries new in 3 sessions (${file})\n`)
    expect((await there(machine, "export", "unnamed~leafhill")).stdout).toContain("Whose?")
  })
})
