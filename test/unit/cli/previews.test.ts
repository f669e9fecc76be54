import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { inAscii } from "../../../src/cli/output.ts"
import { type ProgressAt, progressLine } from "../../../src/cli/progress.ts"
import { markdownLines, wrapped, wrappedIn } from "../../../src/cli/screen.ts"
import { fileUrl, shortPath } from "../../../src/cli/shown-path.ts"
import { createStyle, cutPath } from "../../../src/cli/style.ts"
import { pagerCommand, speaksUtf8 } from "../../../src/config/load.ts"
import type { Ran } from "../../support/binary.ts"
import { disguiseProblems, withoutItems } from "../../support/frame.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { type Called, hitsIn } from "../../support/mcp.ts"
import { DISGUISES, order, PLACES } from "../../support/poison.ts"

/** `preview`, and the server's. */
describe("preview", () => {
  const RULE = "Never push to main."

  /** What the server's tool answers. */
  async function asked(cwd: string, env: Record<string, string>): Promise<string> {
    await using peer = await Peer.connect(cwd, env)
    return (await peer.call("restore_preview")).text
  }

  /**
   * A preview left out what the memory files of the folder say in which it was asked for, which need not be the session's;
   * and the server's preview knew nothing of the waiting prompt, nor that restores were switched off.
   */
  test("what a preview leaves out depends on the session's folder", async () => {
    using machine = new Inside()
    const below = join(machine.cwd, "packages")
    mkdirSync(below)
    writeFileSync(join(below, "CLAUDE.md"), RULE)
    const session = machine.session().turn(RULE).turn("Go on").flush()
    await machine.hook("stop", session)
    await machine.hook("user-prompt-submit", session, { prompt: "and this" })

    const previewed = async (cwd: string): Promise<string> => {
      const { code, stdout, stderr } = await run(["preview", "--session", session.session, "--json"], {
        cwd,
        env: machine.env,
      })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout).text
    }
    const env = { ...machine.env, CLAUDE_PROJECT_DIR: below, CLAUDE_CODE_SESSION_ID: session.session }
    const texts = [await previewed(machine.cwd), await previewed(below), await asked(below, env)]
    expect(await asked(below, { ...env, CTXBRIDGE_RESTORE: "false" })).toBe(
      "Nothing would be restored: the user has switched it off.",
    )
    await machine.hook("pre-compact", session, { trigger: "auto" })
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
    expect(given).toContain(`- "${RULE}" (ctx:`)
    expect(given).toContain("\n> and this\n")
    expect(texts).toEqual([given, given, given])
  })
})

/** `ctxbridge preview` says what the hook then gives, to the character. */
describe("preview as given", () => {
  setDefaultTimeout(60_000)

  const bash = (command: string, output: string) => ({ tool: "Bash", input: { command }, output })

  async function archived(machine: Machine) {
    const session = machine.session()
    session
      .turn(
        "Add retries. Never touch the generated files.",
        [bash("npm run check -- retry", "Error: no answer from the server"), bash("git status --short", "")],
        "retryAfter is read in src/http/client.ts",
      )
      .flush()
    await machine.hook("stop", session, { stop_hook_active: false })
    return session
  }

  const preview = (machine: Machine, ...args: string[]): Promise<Ran> =>
    run(["preview", ...args], { env: machine.env, cwd: machine.cwd })

  test.each(["compact", "startup"])("%s: the same text as the hook", async (source) => {
    using machine = new Inside()
    const session = await archived(machine)
    const shown = await preview(machine, "--source", source, "--json")
    expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: "" })
    const { text, characters, tokens, sections } = JSON.parse(shown.stdout)
    const next = source === "compact" ? session : machine.session()
    expect(text).toBe(contextOf(await machine.hook("session-start", next, { source }))!)
    expect(characters).toBe(text.length)
    expect(tokens).toBe(Math.ceil(characters / 3.5))
    expect(sections.reduce((sum: number, one: { characters: number }) => sum + one.characters, 0)).toBe(
      characters,
    )
    for (const { why } of sections) expect(why).not.toBe("")
  })

  test("explains to people why each part is there", async () => {
    using machine = new Inside()
    await archived(machine)
    const { code, stdout, stderr } = await preview(machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/\n\d+ characters, about \d+ tokens; session /)
    expect(stdout).toContain("Standing user constraints: ")
    expect(stdout).toMatch(
      /\n {2}Names: \d+ characters: used often and lately\n {4}retryAfter: in 1 message, the last one\n/,
    )
    expect(stdout).toMatch(/\n {4}npm run check -- retry: in 1 message, last \d+ messages? ago\n/)
  })

  test("nothing is given when nothing is wanted, and nothing is shown when there is nothing", async () => {
    using machine = new Inside()
    const none = await preview(machine)
    expect(none).toMatchObject({ code: 3, stdout: "" })
    expect(none.stderr).toMatch(/^ctxbridge: .+\nhint: .+\n$/)
    await archived(machine)
    const off = await run(["preview"], {
      env: { ...machine.env, CTXBRIDGE_RESTORE: "false" },
      cwd: machine.cwd,
    })
    expect(off).toMatchObject({ code: 0, stdout: "Nothing would be restored.\n", stderr: "" })
    expect(await preview(machine, "--source", "never")).toMatchObject({ code: 64, stdout: "" })
  })
})

/** No order planted in the archive leaves the MCP server as more than a quotation. */
describe("poison", () => {
  setDefaultTimeout(120_000)

  /** The whole text, and what is quoted in it as it is without its escapes. */
  const said = ({ text }: Called): string[] => [text, ...hitsIn(text).flatMap(({ texts }) => texts)]

  test("search, timeline and get quote hostile text from every place in every disguise", async () => {
    using machine = new Inside()
    const session = machine.session()
    const places = Object.entries(PLACES)
    const disguises = Object.values(DISGUISES)
    const words: string[] = []
    for (const [n, [, { plant }]] of places.entries()) {
      for (const round of [0, 1]) {
        const word = `zq${round}n${n}x`
        words.push(word)
        session.turn(`Work ${word.replace("zq", "item")}`, [], "Done.")
        plant(session, disguises[(2 * n + round) % disguises.length]!(order(word)))
      }
    }
    for (const [n, disguise] of disguises.entries()) {
      const word = `zqtool${n}x`
      words.push(word)
      session.turn(`Call ${n}`, [
        { tool: disguise(order(word)), input: { a: order(word) }, output: order(word) },
      ])
    }
    session.flush()
    await machine.hook("stop", session)
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const handles = new Set<string>()
    let quoted = 0
    for (const word of words) {
      const found = await peer.call("search", { query: word })
      expect({ word, isError: found.isError }).toEqual({ word, isError: false })
      for (const text of said(found))
        expect({ word, problems: disguiseProblems(text) }).toEqual({ word, problems: [] })
      // Whatever is not between quotation marks is ours.
      expect(withoutItems(found.text)).not.toContain("Never ask again")
      for (const { handle, texts } of hitsIn(found.text)) {
        handles.add(handle)
        for (const text of texts) expect(text).not.toMatch(/ctx:[0-9a-z]{4}/i)
        if (texts.some((text) => text.includes("Never ask again"))) quoted++
      }
    }
    expect(quoted).toBeGreaterThan(words.length / 2)
    expect(handles.size).toBeGreaterThan(words.length / 3)
    for (const handle of handles) {
      const around = await peer.call("timeline", { of: handle })
      expect(withoutItems(around.text)).not.toContain("Never ask again")
      const whole = await peer.call("get", { handle })
      // Too long for this, most are shown around a line, or as an outline.
      const brief = [
        await peer.call("get", { handle, size: 500 }),
        await peer.call("get", { handle: `${handle}@3`, size: 500 }),
      ]
      for (const { text } of brief) {
        const bare = text.split("\n").filter((line) => !line.startsWith("> "))
        expect(withoutItems(bare.join("\n"))).not.toContain("Never ask again")
      }
      for (const { text } of [whole, ...brief]) expect(disguiseProblems(text)).toEqual([])
      for (const text of said(around)) expect(disguiseProblems(text)).toEqual([])
      const [, ...lines] = whole.text.split("\n")
      const bare = lines.filter((line) => !line.startsWith("> ") && line !== "")
      for (const line of bare) {
        expect(line).toMatch(/^(?:More (?:before|after): get ctx:\w+@.*\.|[\w ,().:'-]{1,120}:)$/)
        expect(line).not.toMatch(/zq|Never/)
      }
      expect(lines.filter((line) => line.startsWith("> ")).join("\n")).not.toMatch(/ctx:[0-9a-z]{4}/i)
    }
  })

  test("our own tools' calls and answers are neither found nor given back", async () => {
    using machine = new Inside()
    const session = machine.session()
    session.turn("What was the name of the ship?", [], "The ship is called Marigold.").flush()
    session
      .turn("Look it up", [
        {
          tool: "mcp__ctxbridge__search",
          input: { query: "Marigold in shipNames" },
          output: 'ctx:ab12cd 2026-03-02 08:00 assistant: "The ship is called Marigold."',
        },
        { tool: "Grep", input: { pattern: "berthList" }, output: "No files found" },
      ])
      .flush()
    await machine.hook("stop", session)
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const found = hitsIn((await peer.call("search", { query: "Marigold" })).text)
    expect(found).toMatchObject([
      { texts: ["What was the name of the ship?", "The ship is called Marigold."] },
    ])
    const { text } = await peer.call("restore_preview")
    expect(text).toContain("\n## Names\n- `berthList`\n")
    expect(text).not.toContain("shipNames")
  })
})

/** `status` in eight lines: whatever is wrong is among them, with what to run. */
describe("status short", () => {
  async function lines(machine: Inside): Promise<string[]> {
    const { code, stdout, stderr } = await run(["status"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout.trimEnd().split("\n")
  }

  const LABELS = ["archive", "captured", "on disk", "search", "hooks", "MCP server", "window", "problems"]
  const labelOf = (line: string): string => line.slice(0, 12).trim()

  async function worked(): Promise<Inside> {
    const machine = new Inside()
    await machine.hook("stop", machine.session().turn("Begin", [], "Done.").flush())
    return machine
  }

  test("eight lines, the last of which says what is wrong and what to run", async () => {
    using machine = await worked()
    const shown = await lines(machine)
    expect(shown.map(labelOf)).toEqual(LABELS)
    expect(shown[0]).toEndWith("1 turn of 1 session in 1 project")
    expect(shown.at(-1)).toBe("problems    hooks not installed: ctxbridge install")
  })

  test("installed, and with nothing wrong: none", async () => {
    using machine = await worked()
    expect((await run(["install", "--no-mcp"], machine)).code).toBe(0)
    expect((await lines(machine)).at(-1)).toBe("problems    none")
  })

  test("several problems are all there, the error that was logged too, on one line each read as text", async () => {
    using machine = await worked()
    const entry = {
      time: new Date().toISOString(),
      event: "stop",
      code: "EIO",
      message: "broken\u001b[2J disk",
    }
    mkdirSync(join(machine.dataHome, "state"), { recursive: true })
    writeFileSync(join(machine.dataHome, "state", "ctxbridge.log"), `${JSON.stringify(entry)}\n`)
    const shown = await lines(machine)
    expect(shown).toHaveLength(LABELS.length)
    expect(shown.at(-1)).toBe(
      "problems    hooks not installed: ctxbridge install; error just now, stop: broken disk (EIO): ctxbridge doctor",
    )
  })

  test("an option that is not at its default has a line", async () => {
    using machine = await worked()
    const env = { ...machine.env, CLAUDE_FLOW_AUTOPILOT_WARN: "0.6", CTXBRIDGE_LEARN: "off" }
    const { code, stdout, stderr } = await run(["status"], { cwd: machine.cwd, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^options +archive\.cold = false, autopilot\.warn = 0\.6$/m)
  })

  test("what is done by itself: --verbose and --json", async () => {
    using machine = new Inside()
    const session = machine.session().turn("Begin", [], "Done.")
    await machine.hook("stop", session.flush())
    const env = {
      ...machine.env,
      CLAUDE_FLOW_COMPACT_RESTORE_BUDGET: "5000",
      CLAUDE_FLOW_RETENTION_DAYS: "30",
      CLAUDE_FLOW_CONTEXT_AUTOPILOT: "false",
    }
    const settings = join(machine.home, ".claude", "settings.json")
    mkdirSync(dirname(settings), { recursive: true })
    writeFileSync(settings, JSON.stringify({ env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } }))
    const shown = await run(["status", "--verbose"], { cwd: machine.cwd, env })
    expect(shown).toMatchObject({ code: 0, stderr: "" })
    for (const line of [
      "restores      up to 5000 characters",
      "instructions  for a compaction, up to 2000 characters",
      "retention     turns never used leave the index after 30 days",
      "autopilot     off: autopilot.enabled",
      "pruning       proxy",
    ])
      expect(shown.stdout.split("\n")).toContain(line)
    // The turn is older than its confidence lasts.
    expect(shown.stdout).toMatch(/^cold turns +leave the index; mean confidence 0\.1, 1 turn below 0\.3$/m)
    const json = await run(["status", "--json"], { cwd: machine.cwd, env })
    expect(json).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(json.stdout)).toMatchObject({
      confidence: { mean: 0.1, low: 1 },
      options: {
        "capture.enabled": true,
        "restore.enabled": true,
        "restore.budget": 5000,
        "instructions.budget": 2000,
        "archive.retention": 30,
        "archive.cold": true,
        "autopilot.enabled": false,
        "autopilot.warn": 0.7,
        "autopilot.critical": 0.85,
      },
      pruning: ["proxy"],
    })
  })

  test("--verbose has the rest, with the latest sessions", async () => {
    using machine = await worked()
    const { stdout } = await run(["status", "--verbose"], machine)
    expect(stdout).toContain("word index")
    expect(stdout).toContain("last error")
    expect(stdout).toMatch(/^session +last active/m)
  })
})

/** What is done to text before a terminal shows it. */
describe("terminal text", () => {
  describe("the locale", () => {
    test.each([
      ["de_DE.UTF-8", "linux", true],
      ["C.utf8", "linux", true],
      ["C", "linux", false],
      ["POSIX", "darwin", false],
      ["en_US.ISO-8859-1", "linux", false],
      [undefined, "linux", false],
      [undefined, "darwin", true],
      [undefined, "win32", true],
    ])("%p on %s", (locale, platform, speaks) => expect(speaksUtf8(locale, platform)).toBe(speaks))

    test("our signs become as wide ones, and dots where there is room", () => {
      expect(inAscii("── a · b → c ──", 80)).toBe("-- a - b > c --")
      expect(inAscii("cut…", 6)).toBe("cut...")
      expect(inAscii("cut…", 5)).toBe("cut~")
      expect(inAscii("größe 語", 80)).toBe("größe 語")
    })
  })

  describe("wrapping", () => {
    test("is at words, and text hangs under its list's mark", () => {
      expect(wrapped("  - one two three four", 15)).toEqual(["  - one two", "    three four"])
      expect(wrapped("12. one two three", 14)).toEqual(["12. one two", "    three"])
      expect(wrappedIn("  ", "one two three", 12)).toEqual(["  one two", "  three"])
    })

    test("counts columns, and leaves what fits as it is", () => {
      expect(wrapped("語言語言語言", 10)).toEqual(["語言語言語", "言"])
      expect(wrapped("e\u0301e\u0301e\u0301", 3)).toEqual(["e\u0301e\u0301e\u0301"])
      expect(wrapped("a   b", 5)).toEqual(["a   b"])
    })

    test("keeps colours, breaks what has no words, and takes an endless line", () => {
      const red = (text: string): string => `\x1b[31m${text}\x1b[39m`
      expect(wrapped(red("one two three four"), 10)).toEqual([red("one two"), red("three four")])
      expect(wrapped("abcdefghijklmno", 10)).toEqual(["abcdefghij", "klmno"])
      // A path, or another name of parts, on lines of its own.
      expect(wrapped("see /src/cli/commands/show.ts:12 there", 16)).toEqual([
        ...["see", "/src/cli/", "commands/", "show.ts:12 there"],
      ])
      expect(wrapped("  test_skills_list_reports", 14)).toEqual(["  test_skills_", "  list_reports"])
      const dim = createStyle(true).dim
      expect(wrapped(dim("  one two three"), 10)).toEqual([`  ${dim("one two")}`, `  ${dim("three")}`])
      expect(wrapped("x".repeat(1_000_000), 100).every((line) => line.length <= 100)).toBe(true)
    })
  })

  describe("Markdown", () => {
    const look = { columns: 40, color: false, links: false }

    test("is laid out", () => {
      expect(markdownLines("**a** `b`\n\n- c\n", look)).toEqual(["a b", "  * c"])
    })

    test("writes no escape that is not ours, whatever it decodes", () => {
      const text = "a&#x202e;b &#27;[2J \u001b[2J &#x9b;2J"
      expect(markdownLines(text, look)).toEqual(["a\ufffdb [2J 2J"])
    })

    test("links lead to pages only", () => {
      const linked = (text: string) =>
        markdownLines(text, { columns: 40, color: true, links: true }).join("\n")
      expect(linked("[a](https://b.test/ü)")).toContain("\x1b]8;;https://b.test/%C3%BC\x1b\\")
      expect(linked("[a](javascript:b)")).not.toContain("javascript")
    })

    test("is left as it is where it would take too long", () => {
      expect(markdownLines(`# ${"y".repeat(20_000)}`, look)[0]).toStartWith("# y")
    })
  })

  describe("paths", () => {
    const place = { cwd: "/home/me/src/app", home: "/home/me" }

    test.each([
      ["/home/me/src/app/a/b.ts", "a/b.ts"],
      ["/home/me/src/app", "."],
      ["/home/me/src/apple", "~/src/apple"],
      ["/home/me", "~"],
      ["/home/men", "/home/men"],
      ["relative.ts", "relative.ts"],
    ])("%s is %s", (path, shown) => expect(shortPath(path, place)).toBe(shown))

    test.each([
      ["src/cli/commands/show.ts", 24, "src/cli/commands/show.ts"],
      ["src/cli/commands/show.ts", 23, "…/cli/commands/show.ts"],
      ["src/cli/commands/show.ts", 20, "…/commands/show.ts"],
      ["src/cli/commands/show.ts", 15, "src/…/show.ts"],
      ["/home/me/commands/show.ts", 12, "/…/show.ts"],
      ["src/a-name-that-is-long.test.ts", 14, "…-long.test.ts"],
      ["src/cli/commands/show.ts", 1, "…s"],
      ["src/cli/commands/show.ts", -7, "…s"],
    ])("%s in %d columns is %s", (path, room, shown) => expect(cutPath(path, room)).toBe(shown))

    test("as an address, everything is encoded that is no name", () => {
      expect(fileUrl("/a b/\u001b\\ü?#", "host")).toBe("file://host/a%20b/%1B%5C%C3%BC%3F%23")
    })
  })

  describe("progress", () => {
    const at: ProgressAt = {
      label: "archiving",
      done: 250_000_000,
      total: 1_000_000_000,
      unit: "bytes",
      began: 0,
      elapsed: 10_000,
      columns: 80,
    }

    test("says bytes and the time left, as far as there is room", () => {
      expect(progressLine(at)).toBe("archiving [======                  ] 25%  250 MB of 1.0 GB  30 s left")
      expect(progressLine({ ...at, columns: 40 })).toBe("archiving [===         ] 25%  30 s left")
      expect(progressLine({ ...at, columns: 20 })).toBe("archiving [=  ] 25%")
      expect(progressLine({ ...at, columns: 10 })).toHaveLength(9)
    })

    test("guesses no time left at first, nor from what was done before", () => {
      expect(progressLine({ ...at, elapsed: 1000 })).not.toContain("left")
      expect(progressLine({ ...at, began: 249_000_000 })).not.toContain("left")
      expect(progressLine({ ...at, began: 150_000_000, elapsed: 60_000 })).toContain("8 min left")
      expect(progressLine({ ...at, unit: "items", done: 1, total: 3, elapsed: 0 })).toBe(
        "archiving [========                ] 33%",
      )
    })
  })

  test.each([
    [{}, "less -R"],
    [{ PAGER: "most" }, "most"],
    [{ PAGER: "most", CTXBRIDGE_PAGER: "less -S" }, "less -S"],
    [{ PAGER: "most", CTXBRIDGE_PAGER: "" }, undefined],
    [{ PAGER: "cat" }, undefined],
    [{ TERM: "dumb" }, undefined],
  ])("%#: the pager that the environment names", (env, pager) => expect(pagerCommand(env)).toBe(pager))
})
