/**
 * The picker in a real terminal (tmux): what it shows at several sizes, with and without colours and Unicode, and what
 * its keys do.
 *
 * CTXBRIDGE_TEST_UPDATE_GOLDEN=1 writes the screens anew.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"
import { hasTmux, Tmux } from "../support/tmux.ts"

setDefaultTimeout(limit(120_000))

const GOLDEN = join(import.meta.dir, "..", "golden", "picker")
const UPDATE = process.env["CTXBRIDGE_TEST_UPDATE_GOLDEN"] === "1"
const HOUR = 3_600_000

/** Half an hour and more away from where an age would change. */
const ago = (hours: number): number => Date.now() - hours * HOUR - HOUR / 2

const bash = (command: string, output: string, isError = false) => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

/** A window's title, a C1 control sequence, the mark that reverses a line, a colour. */
const EVIL = "\u001b]0;owned\u0007\u009b2J\u202e\u001b[31m\r"

function archived(machine: Machine): Machine {
  const other = join(machine.root, "elsewhere")
  mkdirSync(other)
  machine
    .session({ start: ago(50) })
    .turn(
      "Make the parser of dates accept 日本語 and emoji 🎉, please",
      [
        bash("npm test -- dates", "Exit code 1\nError: parser rejects 2026年3月2日", true),
        {
          tool: "Edit",
          input: { file_path: `${machine.cwd}/src/dates.ts`, old_string: "a", new_string: "b" },
          output: "ok",
        },
        bash("npm test -- dates --run 'all of them'", "12 passed"),
      ],
      "The parser now reads dates in any script. 👨‍👩‍👧 e\u0301 ﷽ All tests pass.",
    )
    .turn("Never touch the generated parser", [], `Understood. ${"It is made by the build. ".repeat(40)}`)
    .flush()
  machine
    .session({ start: ago(3), cwd: other })
    .turn(
      "Why does the upload time out?",
      [bash("curl -v localhost", "timed out", true)],
      "The proxy closes it.",
    )
    .flush()
  return machine
}

/** Without what differs from run to run: times, and the handles that come with them. */
const steady = (screen: string): string =>
  screen
    .replace(/\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d/g, "12 Mar 2026 08:00")
    .replace(/ctx:[0-9a-z]{6}/g, "ctx:abcdef")
    .replace(/ctxbridge-e2e-\w{6}/g, "ctxbridge-e2e-abcdef")
    .replaceAll("\x1b", "␛")

function isGolden(name: string, screen: string): void {
  const file = join(GOLDEN, `${name}.txt`)
  const text = `${steady(screen)}\n`
  if (UPDATE) {
    mkdirSync(GOLDEN, { recursive: true })
    writeFileSync(file, text)
  }
  expect(text).toBe(existsSync(file) ? readFileSync(file, "utf8") : "")
}

const exe = `'${binary()}'`

describe.skipIf(!hasTmux)("in tmux (needs tmux)", () => {
  let machine: Machine
  let bin: string

  beforeAll(async () => {
    machine = archived(new Machine())
    const { code } = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(code).toBe(0)
    await machine.idle()
    bin = join(machine.root, "bin")
    mkdirSync(bin)
  })
  afterAll(() => machine[Symbol.dispose]())

  const picker = (options: Partial<ConstructorParameters<typeof Tmux>[2]> = {}, command = exe) =>
    new Tmux(machine, command, { columns: 80, rows: 24, ...options })

  describe("screens", () => {
    const mono = { NO_COLOR: "1" }
    const C = { LC_ALL: "C" }

    test.each([
      ["60x20", 60, 20, mono],
      ["80x24", 80, 24, mono],
      ["120x36", 120, 36, mono],
      ["60x20-C", 60, 20, { ...mono, ...C }],
      ["80x24-C", 80, 24, { ...mono, ...C }],
      ["120x36-C", 120, 36, { ...mono, ...C }],
    ])("%s", async (name, columns, rows, env) => {
      using tmux = picker({ columns, rows, env })
      // The prompt is the last of a preview that comes with the turn.
      await tmux.sees("The proxy closes it.")
      tmux.type("parser dates")
      await tmux.sees(/> parser dates +2/)
      isGolden(name, await tmux.sees(/any script[\s\S]*extracted from|1-\d+ of 1\d /))
    })

    test.each([
      ["60x20", 60, 20, {}],
      ["80x24", 80, 24, {}],
      ["120x36", 120, 36, {}],
      ["60x20-C", 60, 20, C],
      ["80x24-C", 80, 24, C],
      ["120x36-C", 120, 36, C],
    ])("%s with colours", async (name, columns, rows, env) => {
      using tmux = picker({ columns, rows, env })
      await tmux.sees(/(?:1-\d+ of 1\d |extracted from)[\s\S]*resume/)
      isGolden(`${name}-colors`, await tmux.settled())
    })

    test.each([
      ["40x10", 40, 10, mono],
      ["40x12", 40, 12, {}],
      ["120x12", 120, 12, mono],
      ["200x50", 200, 50, {}],
    ])("%s, what was found", async (name, columns, rows, env) => {
      using tmux = picker({ columns, rows, env })
      await tmux.sees("The proxy closes it.")
      tmux.type("role:tool error:")
      await tmux.sees(/> role:tool error: +2/)
      isGolden(`${name}-found`, await tmux.settled())
    })

    test("a pin brings the session to the top, with a sign, and is taken off by the same key", async () => {
      using tmux = picker({ env: mono })
      await tmux.sees("The proxy closes it.")
      const rows = () =>
        tmux.settled().then((screen) =>
          screen
            .split("\n")
            .slice(2, 8)
            .map((row) => row.slice(0, 34)),
        )
      tmux.press("Down", "F3")
      await tmux.sees("pinned: the session of ctx:")
      // The line is drawn before the list is searched anew.
      await tmux.sees(/errors any\n.★[^\n]*Make the parser/)
      expect(await run(["pin", "-a"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
        code: 0,
        stderr: "",
      })
      tmux.press("F3")
      await tmux.sees("no longer pinned")
      expect((await rows()).join("")).not.toContain("★")
    })

    test("help, and a window that becomes too small", async () => {
      using tmux = picker({ env: mono })
      await tmux.sees("The proxy closes it.")
      tmux.press("F1")
      isGolden("80x24-help", await tmux.sees("Down: more"))
      tmux.press("PageDown", "PageDown")
      isGolden("80x24-help-end", await tmux.sees("Any key goes back"))
      tmux.press("Space")
      await tmux.sees("The proxy closes it.")
      tmux.resize(39, 9)
      isGolden("39x9", await tmux.sees("Too small: 39x9."))
      tmux.resize(40, 10)
      await tmux.sees("The proxy closes it.")
    })
  })

  test("the cursor is where the next character goes, behind wide ones as well", async () => {
    using tmux = picker()
    await tmux.sees("The proxy closes it.")
    expect(tmux.ask("#{cursor_x},#{cursor_y}")).toBe("2,0")
    tmux.type("日本語")
    await tmux.sees("> 日本語")
    await until(() => tmux.ask("#{cursor_x}") === "8", 5000, "the cursor")
    tmux.press("Left")
    await until(() => tmux.ask("#{cursor_x}") === "6", 5000, "the cursor")
  })

  test("filters, by key and as typed", async () => {
    using tmux = picker({ columns: 120 })
    await tmux.sees("The proxy closes it.")
    tmux.press("C-p")
    await tmux.sees("project project")
    await tmux.sees(/> .* 2 *\n/)
    tmux.press("C-e")
    await tmux.sees("errors only")
    await tmux.sees(/> .* 1 *\n/)
    tmux.press("C-p", "C-e", "C-t")
    await tmux.sees("tool Bash")
    tmux.press("C-t", "C-t", "C-r")
    await tmux.sees("role human")
    tmux.press("C-r", "C-r", "C-r", "C-r", "C-s")
    await tmux.sees("since 1d")
    await tmux.sees(/> .* 1 *\n/)
    tmux.press("C-s", "C-s", "C-s")
    tmux.type("project:elsewhere since:1d")
    await tmux.sees(/since:1d +1 *\n/)
    tmux.press("C-u")
    tmux.type("project:nowhere")
    await tmux.sees(/no project is called nowhere: the\s+latest are/)
    tmux.press("C-u")
    tmux.type("project:elsewhree")
    await tmux.sees(/did you mean\s+│?\s*elsewhere\?/)
  })

  test("a mistyped word is corrected, while it is typed and after, and one line says so", async () => {
    using tmux = picker()
    await tmux.sees("The proxy closes it.")
    for (const typed of ["generatd", "generatd pa", "generatd parser"]) {
      tmux.press("C-u")
      tmux.type(typed)
      const seen = await tmux.sees(new RegExp(`> ${typed} +[12]\\b[\\s\\S]*No match for`))
      expect(seen).toContain("No match for “generatd”. Showing results for “generated”.")
      expect(seen).toContain("generated parser")
    }
    // What goes on to be a word is none.
    tmux.press("C-u")
    tmux.type("generat")
    expect(await tmux.sees(/> generat +1/)).not.toContain("No match")
  })

  test("a session is called by its first prompt that says something, and a turn by its answer if it has none", async () => {
    using other = new Machine()
    other
      .session({ start: ago(1) })
      .turn("continue", [], "There is nothing yet.")
      .turn("Make the menu fold on phones", [], "It folds below 640 pixels.")
      .turn("ok", [], "The last test was for the old one.")
      .flush()
    expect((await run(["import"], { env: other.env, cwd: other.cwd })).code).toBe(0)
    await other.idle()
    using tmux = new Tmux(other, exe, { columns: 60, rows: 12 })
    const seen = await tmux.sees("nothing yet")
    expect(seen.split("\n").slice(2, 8)).toEqual([
      "▸ ❮  1h Make the menu fold on phones · project",
      "    The last test was for the old one.",
      "  ❯  1h Make the menu fold on phones · project",
      "    It folds below 640 pixels.",
      "  ❮  1h Make the menu fold on phones · project",
      "    There is nothing yet.",
    ])
  })

  test("--height: below the prompt, also at the end of the screen, and gone without a trace", async () => {
    using tmux = picker({}, "env PS1='ready> ' bash --norc --noprofile -i")
    await tmux.sees("ready>")
    for (const [height, rows] of [
      ["12", 12],
      ["50%", 12],
      ["3", 10],
    ] as const) {
      tmux.type(`clear; seq 20; ${exe} pick --height ${height}`)
      tmux.press("Enter")
      const seen = await tmux.sees(/The proxy closes it\.[\s\S]*Enter open/)
      const lines = seen.split("\n")
      const at = lines.findIndex((line) => line.startsWith("> Type to search"))
      expect(lines.length - at).toBe(rows)
      expect(lines[at - 1]).toBe("20")
      tmux.type("parser dates")
      tmux.press("Down")
      await tmux.sees(/20\n> parser dates +2\n[\s\S]*▸ ❯ +2d Make[^\n]*\n[^\n]*generated/)
      expect(tmux.ask("#{alternate_on} #{mouse_any_flag}")).toBe("0 0")
      tmux.resize(60, 24)
      tmux.resize(80, 24)
      tmux.press("Escape")
      expect(await tmux.sees(/\n20\nready>$/)).not.toContain("Make the parser")
      expect(tmux.ask("#{cursor_flag}")).toBe("1")
    }
  })

  test("copying: handle, command and path, into tmux's clipboard and by a program", async () => {
    const clipboard = join(machine.root, "clipboard")
    writeFileSync(join(bin, "xclip"), `#!/bin/sh\nexec cat > '${clipboard}'\n`)
    chmodSync(join(bin, "xclip"), 0o755)
    using tmux = picker({ env: { DISPLAY: ":9", PATH: `${bin}:${process.env["PATH"]}` } })
    await tmux.sees("The proxy closes it.")
    tmux.type("parser dates")
    await tmux.sees("any script")
    tmux.press("C-y")
    await tmux.sees(/copied by tmux, xclip: ctx:\w{6}/)
    expect(tmux.buffer()).toMatch(/^ctx:\w{6}$/)
    tmux.press("C-x")
    await tmux.sees(/copied by tmux, xclip: npm test/)
    expect(tmux.buffer()).toBe("npm test -- dates --run 'all of them'")
    tmux.press("C-f")
    await tmux.sees(/copied by tmux, xclip: \//)
    expect(tmux.buffer()).toBe(`${machine.cwd}/src/dates.ts`)
    expect(readFileSync(clipboard, "utf8")).toBe(`${machine.cwd}/src/dates.ts`)
  })

  test("Enter opens the turn in the pager and comes back; Ctrl-O resumes, and ends as Claude Code does", async () => {
    writeFileSync(join(bin, "claude"), '#!/bin/sh\necho "resumed $*"\nexit 7\n')
    chmodSync(join(bin, "claude"), 0o755)
    const env = { PAGER: "sh -c 'cat; read x </dev/tty'", PATH: `${bin}:${process.env["PATH"]}` }
    using tmux = picker({ env }, `${exe}; echo "ended: $?"; cat`)
    await tmux.sees("The proxy closes it.")
    tmux.press("Enter")
    await tmux.sees("── prompt ──")
    tmux.press("Enter")
    await tmux.sees(/^> Type to search/)
    tmux.press("Down")
    await tmux.sees("Never touch the generated parser")
    tmux.press("C-o")
    const seen = await tmux.sees("ended: 7")
    expect(seen).toContain("resumed --resume 5e551011-")
  })

  test("Ctrl-O on a session whose folder is gone says so, and keeps what was typed", async () => {
    using gone = new Machine()
    gone
      .session({ cwd: join(gone.root, "gone") })
      .turn("Mend the sextant", [], "Mended.")
      .flush()
    expect(await run(["import"], { env: gone.env, cwd: gone.cwd })).toMatchObject({ code: 0 })
    using tmux = new Tmux(gone, exe, { columns: 120, rows: 24 })
    await tmux.sees("Mend the sextant")
    tmux.type("sextant")
    await tmux.sees("> sextant")
    tmux.press("C-o")
    await tmux.sees(/^> sextant [\s\S]*the session's folder is gone: /)
  })

  test("Tab marks several: F2 exports them, Enter shows them, and what is there already stays", async () => {
    using tmux = picker({ env: { PAGER: "sh -c 'cat; read x </dev/tty'" } })
    await tmux.sees("The proxy closes it.")
    tmux.press("Tab", "Tab")
    await tmux.sees(/2 marked, 3/)
    tmux.press("F2")
    const [, file] = /2 turns exported to (\S+)/.exec(await tmux.sees("2 turns exported to"))!
    const exported = readFileSync(join(machine.cwd, file!), "utf8")
    expect(exported).toContain("Why does the upload time out?")
    expect(exported).toContain("Never touch the generated parser")
    expect(exported).not.toContain("12 passed")
    tmux.press("F2")
    await tmux.sees(`2 turns exported to ${file!.replace(".md", "-2.md")}`)
    expect(readFileSync(join(machine.cwd, file!), "utf8")).toBe(exported)
    tmux.resize(80, 60)
    tmux.press("Enter")
    const seen = await tmux.sees("Understood.")
    expect(seen.match(/── prompt ──/g)).toHaveLength(2)
    expect(seen).toContain("The proxy closes it.")
  })

  test("what is typed in the pager, Ctrl-C too, is the pager's", async () => {
    const typed = join(machine.root, "typed")
    const pager = join(bin, "pager")
    writeFileSync(pager, `#!/bin/sh\ntrap '' INT\ncat\nread x </dev/tty\necho "$x" > '${typed}'\n`)
    chmodSync(pager, 0o755)
    using tmux = picker({ env: { PAGER: pager } })
    await tmux.sees("The proxy closes it.")
    tmux.press("Enter")
    await tmux.sees("── prompt ──")
    tmux.press("C-c")
    await tmux.sees("^C")
    tmux.type("all of these keys")
    tmux.press("Enter")
    await tmux.sees(/^> Type to search/)
    expect(readFileSync(typed, "utf8")).toBe("all of these keys\n")
  })

  test("Ctrl-Z leaves the terminal as it was, and fg comes back; so does quitting", async () => {
    using tmux = picker({}, "env PS1='ready> ' bash --norc --noprofile -i")
    await tmux.sees("ready>")
    tmux.type(`${exe}`)
    tmux.press("Enter")
    await tmux.sees("The proxy closes it.")
    tmux.type("proxy")
    await tmux.sees(/> proxy +1/)
    tmux.press("C-z")
    await tmux.sees("Stopped")
    tmux.type("stty -a | grep -ow -- '-\\?icanon'; echo 'alive'")
    tmux.press("Enter")
    expect(await tmux.sees(/\nalive/)).toContain("\nicanon")
    tmux.type("fg")
    tmux.press("Enter")
    await tmux.sees(/^> proxy +1/)
    tmux.press("Escape")
    // Below what was there before, not over it.
    await tmux.sees(/alive[\s\S]*ready> fg\n.*\nready>$/)
    expect(tmux.ask("#{alternate_on} #{mouse_any_flag} #{cursor_flag}")).toBe("0 0 1")
  })

  test.each([
    ["SIGTERM", 143],
    ["SIGQUIT", 131],
  ] as const)("%s ends it, and leaves the terminal as it was", async (signal, code) => {
    using tmux = picker(
      {},
      `sh -c 'echo $$ > pid; exec ${binary()}'; echo "ended: $?"; stty -a | grep -ow -- '-\\?icanon'; cat`,
    )
    await tmux.sees("The proxy closes it.")
    process.kill(Number(readFileSync(join(machine.cwd, "pid"), "utf8")), signal)
    expect(await tmux.sees("icanon")).toContain(`ended: ${code}\nicanon`)
    expect(tmux.ask("#{alternate_on} #{mouse_any_flag} #{cursor_flag}")).toBe("0 0 1")
  })

  test("the mouse: a click selects, the wheel scrolls what it is over", async () => {
    using tmux = picker({ configuration: ["set -g mouse on"] })
    await tmux.sees("The proxy closes it.")
    // What a terminal sends for a click into the third line of the list.
    tmux.press("-H", ...Array.from(Buffer.from("\x1b[<0;5;5M\x1b[<0;5;5m"), (byte) => byte.toString(16)))
    await tmux.sees(/▸ ❯ +2d Make[^\n]*\n +Never touch/)
    await tmux.sees("Understood.")
    const wheel = Array.from(Buffer.from("\x1b[<65;60;9M".repeat(5)), (byte) => byte.toString(16))
    // Until the turn is read, what is shown may be too short to scroll.
    const isScrolled = (): boolean => {
      if (!tmux.screen().includes("Understood.")) return true
      tmux.press("-H", ...wheel)
      return false
    }
    await until(isScrolled, 5000, "the preview to scroll")
  })

  test("--print: the screen on the terminal, the choice on stdout", async () => {
    using tmux = picker(
      {},
      `x=$(${exe} pick --print parser dates); echo "ended: $? $x"; ${exe} pick --print; echo "ended: $?"; cat`,
    )
    await tmux.sees("any script")
    tmux.press("C-x")
    await tmux.sees("The proxy closes it.")
    tmux.press("Escape")
    const seen = await tmux.sees("ended: 3")
    expect(seen).toContain("ended: 0 npm test -- dates --run 'all of them'")
  })

  test.each([
    ["Enter", /ended: 0 ctx:\w{6} ctx:\w{6}\n?$/],
    ["F2", /ended: 0 ctxbridge export ctx:\w{6} ctx:\w{6}\n?$/],
  ])("--print with several marked: %s", async (key, expected) => {
    using tmux = picker({}, `x=$(${exe} pick --print); echo "ended: $? $x"; cat`)
    await tmux.sees("The proxy closes it.")
    tmux.press("Tab", "Tab", key)
    await tmux.sees(expected)
  })

  test("a hostile archive: nothing escapes, nothing hangs", async () => {
    using hostile = new Machine()
    const huge = `needle ${"x".repeat(3_000_000)}`
    hostile
      .session()
      .turn(
        `needle ${EVIL} one`,
        [bash(`needle ${EVIL}`, `${EVIL}`.repeat(5000))],
        `needle ${"\u0301".repeat(5000)} ${EVIL}`,
      )
      .turn(`needle \u2028\u2029 \ud800 two ${"語".repeat(5000)}`, [bash("needle", huge)], huge)
      .turn(`needle ${"👨‍👩‍👧".repeat(500)}`, [], `${"needle\n".repeat(20_000)}`)
      .flush()
    expect((await run(["import"], { env: hostile.env, cwd: hostile.cwd })).code).toBe(0)
    await hostile.idle()
    using tmux = new Tmux(hostile, exe, { columns: 80, rows: 24, configuration: ["set -g allow-rename on"] })
    await tmux.sees("Prompt")
    tmux.type("needle")
    await tmux.sees(/> needle +3/)
    for (const _ of [1, 2, 3]) {
      tmux.press("PageDown", "PageDown", "Down")
      await tmux.sees(/> needle +3/)
    }
    for (const line of tmux.screen().split("\n").slice(2, -1)) expect(line).toMatch(/[│┃]/)
    expect(tmux.ask("#{pane_title}")).not.toContain("owned")
    tmux.press("Escape")
    await until(() => tmux.ask("#{pane_dead}") === "1", 5000, "the picker to end")
  })

  test("an empty archive: what to do about it", async () => {
    using empty = new Machine()
    using tmux = new Tmux(empty, exe, { columns: 80, rows: 24 })
    await tmux.sees(/Nothing is archived yet\.[\s\S]*ctxbridge import/)
  })

  test("transcripts and no archive: what is at stake, and they are archived if that is wanted", async () => {
    using begun = new Machine()
    const { path } = begun.session().turn("Which otter is the oldest?", [], "The grey one.").flush()
    const past = new Date(Date.now() - 28 * 86_400_000)
    utimesSync(path, past, past)
    using refused = new Tmux(begun, exe, { columns: 80, rows: 24 })
    await refused.sees(
      /1 session of yours [^.]*\.\d KB\), and not archived\. Claude\s+Code\s+will delete it within 3 days\.\s+Archive it now\? \[Y\/n\]/,
    )
    refused.type("n")
    refused.press("Enter")
    await refused.sees(/Nothing is archived yet\./)
    refused.press("Escape")
    await until(() => refused.ask("#{pane_dead}") === "1", 5000, "the picker to end")
    using tmux = new Tmux(begun, exe, { columns: 80, rows: 24 })
    await tmux.sees("now? [Y/n]")
    tmux.press("Enter")
    await tmux.sees("Which otter is the oldest?")
  })
})

/** A terminal that is not tmux's: all bytes that it is sent. */
test("what is sent to the terminal leaves it as it was: screen, mouse, pastes, line breaks, cursor", async () => {
  using machine = new Machine()
  let text = ""
  const child = Bun.spawn([binary()], {
    env: { ...machine.env, TERM: "xterm", LC_ALL: "C.UTF-8" },
    cwd: machine.cwd,
    terminal: {
      cols: 80,
      rows: 24,
      data(_terminal, data) {
        text += new TextDecoder().decode(data)
      },
    },
  })
  await until(() => text.includes("Nothing is archived"), 20_000, "the picker")
  child.terminal!.write("\x1b")
  expect(await child.exited).toBe(0)
  for (const mode of [1049, 2004, 1000, 1006]) {
    expect(text).toContain(`\x1b[?${mode}h`)
    expect(text.lastIndexOf(`\x1b[?${mode}l`)).toBeGreaterThan(text.lastIndexOf(`\x1b[?${mode}h`))
  }
  expect(text.lastIndexOf("\x1b[?7h")).toBeGreaterThan(text.lastIndexOf("\x1b[?7l"))
  expect(text.lastIndexOf("\x1b[?25h")).toBeGreaterThan(text.lastIndexOf("\x1b[?25l"))
})

describe("where it cannot work", () => {
  test("bare ctxbridge without a terminal is the help, as it was", async () => {
    using machine = new Machine()
    const { code, stdout, stderr } = await run([], { env: machine.env })
    expect({ code, stderr }).toEqual({ code: 64, stderr: "" })
    expect(stdout).toContain("Usage: ctxbridge <command>")
  })

  test("so it is at a terminal that understands nothing", async () => {
    using machine = new Machine()
    const { code, text } = await runAtTerminal(machine, [], { env: { TERM: "dumb" } })
    expect(code).toBe(64)
    expect(text).toContain("Usage: ctxbridge <command>")
    expect(text).not.toContain("\x1b")
  })

  test.each(["0", "x", "40%%", "-3"])("--height %s is a usage error", async (height) => {
    using machine = new Machine()
    const { code, stdout, stderr } = await run(["pick", `--height=${height}`], { env: machine.env })
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
    expect(stderr).toContain(`--height needs rows or a share of the screen, not "${height}"`)
  })

  test("pick without a terminal, or at one that understands nothing, says so", async () => {
    using machine = new Machine()
    const dumb = await runAtTerminal(machine, ["pick"], { env: { TERM: "dumb" } })
    expect(dumb).toMatchObject({ code: 1, text: expect.stringMatching(/^ctxbridge: the picker needs/) })
    expect(await run(["pick"], { env: machine.env })).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "ctxbridge: the picker needs a terminal\nhint: ctxbridge search finds the same without one\n",
    })
  })
})
