import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { memoryFile } from "../../../src/claude/context/standing-text.ts"
import { cleanUpPeriod } from "../../../src/claude/settings/clean-up.ts"
import {
  autoCompactIn,
  claudeEnvironment,
  contextSettings,
  hooksOf,
  readSettings,
} from "../../../src/claude/settings/read-settings.ts"
import { readStatusLineInput } from "../../../src/claude/status-line-input.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"
import type { Transcript } from "../../support/transcript.ts"

/**
 * What Claude Code itself shows after a compaction is not given back: each source of it, and what only looks like one.
 */
describe("reshown", () => {
  setDefaultTimeout(60_000)

  const PREFACE =
    "It holds for everything that comes from now on, in this folder and in those below it, whoever may ask for it. "
  const rule = (name: string): string => `Never touch ${name}.cfg.`

  function put(path: string, text: string): string {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** A session in which the user has said these rules, six in a prompt at most. */
  function ruled(machine: Machine, names: readonly string[], version = "2.1.330"): Transcript {
    const session = machine.session({ version })
    for (let n = 0; n < names.length; n += 6)
      session.turn(
        PREFACE +
          names
            .slice(n, n + 6)
            .map(rule)
            .join(" "),
        [],
        "Yes.",
      )
    return session
  }

  async function given(machine: Machine, session: Transcript): Promise<string> {
    await machine.hook("pre-compact", session.flush(), { trigger: "auto", custom_instructions: "" })
    const ran = await machine.hook("session-start", session, { source: "compact" })
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
    return contextOf(ran) ?? ""
  }

  const among = (text: string, names: readonly string[]): string[] =>
    names.filter((name) => text.includes(`- "${rule(name)}"`))

  /** Which of the rules are given back. */
  async function left(machine: Machine, session: Transcript, names: readonly string[]): Promise<string[]> {
    return among(await given(machine, session), names)
  }

  test("imports of imports, relative to the importing file, and no deeper than the host goes", async () => {
    using machine = new Inside()
    const { cwd, home } = machine
    const names = ["one", "two", "three", "four", "five", "home", "gone"]
    put(join(cwd, "CLAUDE.md"), "@docs/1.md @missing.md @docs")
    put(join(cwd, "docs", "1.md"), `${rule("one")}\n@../2.md @../CLAUDE.md @1.md`)
    put(join(cwd, "2.md"), `${rule("two")}\n@./docs/deep/3.md`)
    put(join(cwd, "docs", "deep", "3.md"), `${rule("three")}\n@4.md`)
    put(join(cwd, "docs", "deep", "4.md"), `${rule("four")}\n@5.md`)
    put(join(cwd, "docs", "deep", "5.md"), rule("five"))
    put(join(home, ".claude", "CLAUDE.md"), "@~/notes/home.md")
    put(join(home, "notes", "home.md"), rule("home"))
    expect(await left(machine, ruled(machine, names), names)).toEqual(["five", "gone"])
  })

  test("a project's imports from elsewhere count once the user has approved them", async () => {
    using machine = new Inside()
    const { cwd, root, home } = machine
    const names = ["named", "linked", "inside"]
    put(join(root, "named.md"), rule("named"))
    put(join(root, "linked.md"), rule("linked"))
    put(join(cwd, "docs", "inside.md"), rule("inside"))
    symlinkSync(join(root, "linked.md"), join(cwd, "link.md"))
    symlinkSync(join(cwd, "docs", "inside.md"), join(cwd, "own.md"))
    put(join(cwd, "CLAUDE.md"), `@../named.md @link.md @own.md`)
    expect(await left(machine, ruled(machine, names), names)).toEqual(["named", "linked"])
    const approved = { hasClaudeMdExternalIncludesApproved: true }
    for (const [state, expected] of [
      [{ projects: { [cwd]: { hasClaudeMdExternalIncludesApproved: false } } }, ["named", "linked"]],
      [{ projects: { [join(root, "other")]: approved } }, ["named", "linked"]],
      [{ projects: { [cwd]: approved } }, []],
    ] as const) {
      writeFileSync(join(home, ".claude.json"), JSON.stringify(state))
      expect(await left(machine, ruled(machine, names), names)).toEqual([...expected])
    }
  })

  test("rules of folder and user, unless they only apply to certain files", async () => {
    using machine = new Inside()
    const { cwd, home, root } = machine
    const names = ["top", "deep", "user", "some", "text", "away"]
    const rules = join(cwd, ".claude", "rules")
    put(join(rules, "top.md"), rule("top"))
    put(join(rules, "sub", "deep.md"), rule("deep"))
    put(join(rules, "some.md"), `---\npaths:\n  - src/**\n---\n${rule("some")}`)
    put(join(rules, "text.txt"), rule("text"))
    put(join(home, ".claude", "rules", "user.md"), rule("user"))
    put(join(root, "away", "away.md"), rule("away"))
    symlinkSync(join(root, "away"), join(rules, "linked"))
    symlinkSync(rules, join(rules, "sub", "round"))
    expect(await left(machine, ruled(machine, names), names)).toEqual(["some", "text", "away"])
  })

  test("special files do not block, and nothing large is read", async () => {
    using machine = new Inside()
    const { cwd } = machine
    const names = ["long", "binary", "late", "plain"]
    execFileSync("mkfifo", [join(cwd, "pipe.md")])
    put(join(cwd, "long.md"), `${rule("long")}\n${"x".repeat(100_000)}`)
    put(join(cwd, "binary.md"), `${rule("binary")}\0`)
    put(join(cwd, "plain.md"), rule("plain"))
    put(join(cwd, "late.md"), rule("late"))
    const many = Array.from({ length: 150 }, (_, n) => {
      put(join(cwd, "many", `${n}.md`), "Nothing of note.")
      return `@many/${n}.md`
    })
    put(
      join(cwd, "CLAUDE.md"),
      ["@/dev/zero @pipe.md @long.md @binary.md @plain.md", ...many, "@late.md"].join("\n"),
    )
    expect(await left(machine, ruled(machine, names), names)).toEqual(["long", "binary", "late"])
  })

  test("an endless list of imports takes no time", async () => {
    using machine = new Inside()
    const { cwd } = machine
    const names = ["first", "last"]
    for (const name of names) put(join(cwd, `${name}.md`), rule(name))
    const missing = Array.from({ length: 9_000 }, (_, n) => `@m${n}.md`)
    put(join(cwd, "CLAUDE.md"), ["@first.md", ...missing, "@last.md"].join(" "))
    expect(await left(machine, ruled(machine, names), names)).toEqual(["last"])
  })

  test("memory files that any of the host's settings exclude, whatever links lead there", async () => {
    using machine = new Inside()
    const { cwd, home, root } = machine
    const names = ["project", "imported", "kept", "local", "rule", "user"]
    put(join(cwd, "CLAUDE.md"), `${rule("project")}\n@docs/imported.md @docs/kept.md`)
    put(join(cwd, "docs", "imported.md"), rule("imported"))
    put(join(cwd, "docs", "kept.md"), rule("kept"))
    put(join(cwd, "CLAUDE.local.md"), rule("local"))
    put(join(cwd, ".claude", "rules", "rule.md"), rule("rule"))
    put(join(home, ".claude", "CLAUDE.md"), rule("user"))
    symlinkSync(cwd, join(root, "linked"))
    const say = (where: string, patterns: unknown): string =>
      put(where, JSON.stringify({ claudeMdExcludes: patterns }))
    const local = join(cwd, ".claude", "settings.local.json")
    say(join(home, ".claude", "settings.json"), ["**/docs/imp*.md", 7, ""])
    say(join(cwd, ".claude", "settings.json"), [join(root, "linked", ".claude", "**")])
    say(local, [join(cwd, "CLAUDE.local.md"), "CLAUDE.md", "!(", "{"])
    expect(await left(machine, ruled(machine, names), names)).toEqual(["imported", "local", "rule"])
    say(local, ["**/CLAUDE.md"])
    const imports = ["project", "imported", "kept", "rule", "user"]
    expect(await left(machine, ruled(machine, names), names)).toEqual(imports)
    put(local, "no JSON")
    expect(await left(machine, ruled(machine, names), names)).toEqual(["imported", "rule"])
  })

  test("the host's own notes, wherever its settings put them", async () => {
    using machine = new Inside()
    const { cwd, home } = machine
    const names = ["usual", "moved"]
    const projects = join(home, ".claude", "projects")
    put(join(projects, cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), "memory", "MEMORY.md"), rule("usual"))
    put(join(home, "notes", "MEMORY.md"), rule("moved"))
    const settings = join(home, ".claude", "settings.json")
    for (const [told, expected] of [
      [{}, ["moved"]],
      [{ autoMemoryDirectory: "~/notes/" }, ["usual"]],
      [{ autoMemoryDirectory: "notes" }, ["moved"]],
      [{ autoMemoryDirectory: "~/notes", autoMemoryEnabled: false }, ["usual", "moved"]],
    ] as const) {
      put(settings, JSON.stringify(told))
      expect(await left(machine, ruled(machine, names), names)).toEqual([...expected])
    }
  })

  test("the session's plan, wherever the host's settings put it", async () => {
    using machine = new Inside()
    const { cwd, home } = machine
    const names = ["usual", "moved"]
    const name = "calm-red-fox.md"
    put(join(home, ".claude", "plans", name), rule("usual"))
    put(join(cwd, "docs", "plans", name), rule("moved"))
    for (const [told, expected] of [
      ["docs/plans", ["usual"]],
      [join(cwd, "docs", "plans"), ["usual"]],
      ["docs/none", ["moved"]],
      ["../project2", ["moved"]],
      [7, ["moved"]],
    ] as const) {
      put(join(cwd, ".claude", "settings.json"), JSON.stringify({ plansDirectory: told }))
      const session = ruled(machine, names).line({
        type: "user",
        slug: "calm-red-fox",
        message: { role: "user", content: "Go on." },
      })
      expect(await left(machine, session, names)).toEqual([...expected])
    }
  })

  test("the session's own plan and no other", async () => {
    using machine = new Inside()
    const names = ["mine", "yours"]
    const plans = join(machine.home, ".claude", "plans")
    put(join(plans, "calm-red-fox.md"), rule("mine"))
    put(join(plans, "old-grey-owl.md"), rule("yours"))
    const tell = (version: string): Transcript => {
      const session = ruled(machine, names, version)
      return session
        .user("Go on.", { slug: "old-grey-owl" })
        .user("And on.", { slug: "calm-red-fox" })
        .say("Yes.")
    }
    expect(await left(machine, tell("2.1.330"), names)).toEqual(["yours"])
    expect(await left(machine, tell("2.0.76"), names)).toEqual(["yours"])
    // What older ones show is not known.
    expect((await left(machine, tell("2.0.70"), names)).sort()).toEqual(["mine", "yours"])
    rmSync(join(plans, "calm-red-fox.md"))
    expect((await left(machine, tell("2.1.330"), names)).sort()).toEqual(["mine", "yours"])
  })

  /** As Claude Code writes it down: call, result, text. */
  function skill(session: Transcript, name: string, text: string): Transcript {
    session
      .user(`Use ${name}.`)
      .step({ tool: "Skill", input: { skill: name }, output: `Launching skill: ${name}` })
    const fields = { isMeta: true, sourceToolUseID: "toolu_of_the_skill" }
    return session
      .user([{ type: "text", text }], fields)
      .message()
      .say("So it is.")
  }

  function command(session: Transcript, name: string, text: string): Transcript {
    session.user(`<command-message>${name}</command-message>\n<command-name>/${name}</command-name>`)
    return session
      .user([{ type: "text", text }], { isMeta: true })
      .message()
      .say("So it is.")
  }

  test("texts of skills and commands: the latest of each, as much as the host shows", async () => {
    using machine = new Inside()
    const names = ["skilled", "former", "cut", "ordered", "quoted"]
    const tell = (version: string): Transcript => {
      const session = ruled(machine, names, version)
      skill(session, "tidy", rule("former"))
      skill(session, "tidy", rule("skilled"))
      skill(session, "long", "x".repeat(20_000) + rule("cut"))
      command(session, "order", `Do it. ${rule("ordered")}`)
      session.user("Caveat: The messages below were generated by the user while running local commands.", {
        isMeta: true,
      })
      session.user(`<local-command-stdout>${rule("quoted")}</local-command-stdout>`, { isMeta: true })
      return session
    }
    expect(await left(machine, tell("2.1.330"), names)).toEqual(["former", "cut", "quoted"])
    expect(await left(machine, tell("2.0.76"), names)).toEqual(["former", "cut", "ordered", "quoted"])
  })

  test("in a resumed session, earlier invocations no longer count, and with the oldest hosts neither does the plan", async () => {
    for (const [version, source, forgotten] of [
      ["2.1.330", "resume", ["before"]],
      ["2.1.330", "fork", ["before"]],
      ["2.0.76", "resume", ["before", "planned"]],
    ] as const) {
      using machine = new Inside()
      const names = ["before", "after", "planned"]
      put(join(machine.home, ".claude", "plans", "calm-red-fox.md"), rule("planned"))
      const session = skill(ruled(machine, names, version), "tidy", rule("before"))
      session.user("Go on.", { slug: "calm-red-fox" }).message().say("Yes.").flush()
      await machine.hook("stop", session)
      await machine.hook("session-start", session, { source })
      skill(session, "sort", rule("after"))
      expect((await left(machine, session, names)).sort()).toEqual([...forgotten])
    }
  })

  test("an unannounced compaction is a plugin's: only memory files count", async () => {
    using machine = new Inside()
    const names = ["memory", "skilled", "seen"]
    put(join(machine.cwd, "CLAUDE.md"), rule("memory"))
    const session = skill(ruled(machine, names), "tidy", rule("skilled"))
    const path = put(join(machine.cwd, "seen.ts"), rule("seen"))
    session.turn("Look.", [{ tool: "Read", input: { file_path: path }, output: "1\tx" }], "Seen.").flush()
    const ran = await machine.hook("session-start", session, { source: "compact" })
    expect(among(contextOf(ran) ?? "", names).sort()).toEqual(["seen", "skilled"])
  })

  test("the last used files as they are now; neither long nor earlier ones", async () => {
    using machine = new Inside()
    const names = ["seen", "long", "old", "gone"]
    const session = ruled(machine, names)
    const file = (name: string, more = ""): string =>
      put(join(machine.cwd, "src", `${name}.ts`), `// ${rule(name)}\n${more}`)
    const use = (path: string) => ({ tool: "Read", input: { file_path: path }, output: "1\tx" })
    session.turn("Look at it.", [use(file("old"))], "Seen.")
    const latest = [file("new"), file("long", "x".repeat(10_000)), join(machine.cwd, "gone.ts"), file("seen")]
    session.turn("And at these.", latest.map(use), "Seen.")
    expect(await left(machine, session, names)).toEqual(["long", "old", "gone"])
  })

  test("after /clear only memory files count, not what a host shows after a compaction", async () => {
    using machine = new Inside()
    const names = ["memory", "mine", "skilled"]
    put(join(machine.cwd, "CLAUDE.md"), "@a.md")
    put(join(machine.cwd, "a.md"), rule("memory"))
    put(join(machine.home, ".claude", "plans", "calm-red-fox.md"), rule("mine"))
    const session = skill(ruled(machine, names), "tidy", rule("skilled"))
    session.user("Go on.", { slug: "calm-red-fox" }).message().say("Yes.").flush()
    await machine.hook("session-end", session, { reason: "clear" })
    const told = contextOf(await machine.hook("session-start", machine.session(), { source: "clear" })) ?? ""
    expect(among(told, names).sort()).toEqual(["mine", "skilled"])
  })

  test("hook, preview and server give the same bytes, and nothing when the host shows everything", async () => {
    using machine = new Inside()
    const names = ["memory", "skilled", "control"]
    put(join(machine.cwd, "CLAUDE.md"), rule("memory"))
    const session = skill(ruled(machine, names), "tidy", rule("skilled"))
    const told = await given(machine, session)
    expect(among(told, names)).toEqual(["control"])
    const preview = async (): Promise<string> => {
      const options = { cwd: machine.cwd, env: machine.env }
      const { code, stdout, stderr } = await run(["preview", "--session", session.session, "--json"], options)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout).text
    }
    await using server = await Peer.connect(machine.cwd, machine.env)
    const ask = async (): Promise<string> =>
      (await server.call("restore_preview", { session: session.session })).text
    expect(await preview()).toBe(told)
    expect(await preview()).toBe(told)
    expect(await ask()).toBe(told)
    const prompts = [PREFACE + names.map(rule).join(" "), "Use tidy.", "tidy", "Yes. So it is."]
    put(join(machine.cwd, "CLAUDE.md"), "@all.md")
    put(join(machine.cwd, "all.md"), prompts.join("\n"))
    expect(await preview()).toBe("")
    expect(await ask()).toStartWith("Nothing would be restored")
  })
})

/** What of a memory file is in every context, and what it imports: as Claude Code reads Markdown. */
describe("memory file", () => {
  const importsOf = (text: string): readonly string[] => memoryFile(text).imports

  describe("imports", () => {
    test("may be anywhere in prose, after white space", () => {
      const text = "@a.md and @./b/c.md, then\n- @~/d.md\n> @/srv/e.md\n  @../f.md\n| @g.md |\nto me@h.md"
      expect(importsOf(text)).toEqual(["a.md", "./b/c.md,", "~/d.md", "/srv/e.md", "../f.md", "g.md"])
    })

    test("may contain escaped spaces and name a heading", () => {
      expect(importsOf("@my\\ notes.md @rules.md#style @a.md @a.md")).toEqual([
        "my notes.md",
        "rules.md",
        "a.md",
      ])
    })

    test("are not mistaken for names of people or packages", () => {
      expect(importsOf("@@x @#y @(z) @/ @\n@")).toEqual([])
    })

    test.each([
      ["a span", "`@a.md` and ``x ` @a.md``"],
      ["a fence", "```sh\n@a.md\n```\n~~~\n@a.md\n```\n~~~"],
      ["a fence in a list", "- so:\n  ```\n  @a.md\n  ```"],
      ["a fence that is not closed", "```\n@a.md"],
      ["a longer fence", "````\n```\n@a.md\n````"],
      ["four spaces", "So:\n\n    @a.md\n\n\t@a.md"],
      ["a comment", "<!-- @a.md -->\n<!--\n@a.md\n-->"],
      ["front matter", "---\nname: @a.md\n---\n"],
    ])("are not found in %s", (_what, text) => {
      expect(importsOf(`${text}\n\n@b.md`)).toEqual(text.endsWith("```\n@a.md") ? [] : ["b.md"])
    })

    test("are found after an unmatched backtick and in a continued list", () => {
      expect(importsOf("It's a ` and @a.md\n- one\n\n    @b.md")).toEqual(["a.md", "b.md"])
      expect(importsOf("A paragraph\n    @a.md that goes on")).toEqual(["a.md"])
      expect(importsOf("So:\n\n   @a.md behind three spaces")).toEqual(["a.md"])
    })

    test("are not found in indented code after the end of a list", () => {
      expect(importsOf("- one\n\n    @a.md\n\nNo list.\n\n    @b.md")).toEqual(["a.md"])
    })
  })

  test("front matter and comments are removed from the text, and code stays", () => {
    const { text } = memoryFile(
      "---\na: 1\n---\n# T\n<!-- no -->\nx <!-- stays -->\n<!--\nno\n--> y\n```\n<!-- yes -->\n```",
    )
    expect(text).toBe("# T\nx <!-- stays -->\n y\n```\n<!-- yes -->\n```")
  })

  test.each([
    ["---\npaths: src/**\n---\nx", true],
    ["---\npaths:\n  - 'src/**'\n---\nx", true],
    ['---\ndescription: d\npaths: ["lib/*.ts"]\n---\nx', true],
    ["---\npaths: '**'\n---\nx", false],
    ["---\npaths:\ndescription: d\n---\nx", false],
    ["---\ndescription: paths\n---\nx", false],
    ["x\n---\npaths: src/**\n---\n", false],
  ])("%j only applies to certain files: %p", (text, expected) => {
    expect(memoryFile(text).conditional).toBe(expected)
  })

  test("any text is read quickly, and the same way twice", () => {
    const piece = fc.constantFrom(
      "`",
      "``",
      "```",
      "~~~",
      "\n",
      "\n\n",
      "    ",
      "- ",
      "@a.md",
      " @b",
      "<!--",
      "-->",
      "---\n",
      "x",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("")
        expect(memoryFile(text)).toEqual(memoryFile(text))
        expect(memoryFile(text).text.length).toBeLessThanOrEqual(text.length)
        for (const path of memoryFile(text).imports) expect(text).toContain(`@${path}`)
      }),
      { numRuns: 300 },
    )
    for (const part of ["`", "` ``", "@ ", "<!--", "- > ", "---\n", "\t@a\n\n"]) {
      expect(memoryFile(part.repeat(30_000)).imports.length).toBeLessThanOrEqual(1)
    }
  })
})

/** What Claude Code tells the status line of the window: all versions, and documents of any shape. */
describe("host context", () => {
  const usage = { input_tokens: 1000, cache_read_input_tokens: 48_000, cache_creation_input_tokens: 1000 }

  test("tokens and window if the host reports both, or else its own percentage, or else nothing", () => {
    const of = (context: object) => readStatusLineInput({ session_id: "s-1", context_window: context })
    const whole = of({ context_window_size: 200_000, current_usage: usage, used_percentage: 99 })
    expect(whole).toMatchObject({ session: "s-1", window: 200_000, tokens: 50_000, share: 0.25 })
    expect(of({ current_usage: usage })).toMatchObject({
      window: undefined,
      tokens: 50_000,
      share: undefined,
    })
    expect(of({ current_usage: usage, used_percentage: 30 })).toMatchObject({ tokens: 50_000, share: 0.3 })
    expect(of({ context_window_size: 200_000, remaining_percentage: 75 })).toMatchObject({ share: 0.25 })
    // Before the first answer.
    const none = { context_window_size: 200_000, current_usage: null, used_percentage: null }
    expect(of(none)).toMatchObject({ window: 200_000, tokens: undefined, share: undefined, isEmptied: false })
    // Newer versions of Claude Code right after a compaction.
    const emptied = { ...none, current_usage: { input_tokens: 0, output_tokens: 0 }, used_percentage: 0 }
    expect(of(emptied)).toMatchObject({ tokens: undefined, share: 0, isEmptied: true })
  })

  test("the model, the host's version and the transcript, unless it is no path that a host writes", () => {
    const of = (transcript_path: unknown) =>
      readStatusLineInput({ model: { id: "claude-sonnet-4-6" }, version: "2.1.112", transcript_path })
    expect(of("/home/dev/.claude/projects/-p/s.jsonl")).toMatchObject({
      model: "claude-sonnet-4-6",
      version: "2.1.112",
      transcript: "/home/dev/.claude/projects/-p/s.jsonl",
    })
    for (const path of ["s.jsonl", "/etc/passwd", 7]) expect(of(path).transcript).toBeUndefined()
  })

  test("for any document: no invalid number or session name", () => {
    const value = fc.oneof(fc.jsonValue(), fc.double(), fc.constant("../x"))
    const context = fc.record(
      {
        context_window_size: value,
        current_usage: fc.oneof(value, fc.record({ input_tokens: value, output_tokens: value })),
        used_percentage: value,
        remaining_percentage: value,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(value, fc.record({ session_id: value, context_window: context })), (document) => {
        const { session, window, tokens, share } = readStatusLineInput(document)
        for (const figure of [window, tokens, share])
          if (figure !== undefined) expect(figure).toBeGreaterThanOrEqual(0)
        expect(window).not.toBe(0)
        if (session !== undefined) expect(session).toMatch(/^[\w.-]+$/)
      }),
      { numRuns: 300 },
    )
  })
})

/** A project's settings arrive with `git clone`: they may say anything, and a hook waits for what is made of them. */
describe("read settings", () => {
  function settingsOf(folder: string, settings: unknown) {
    const [home, cwd] = [join(folder, "home"), join(folder, "project")]
    mkdirSync(join(cwd, ".claude"), { recursive: true })
    writeFileSync(join(cwd, ".claude", "settings.json"), JSON.stringify(settings))
    return { cwd, ...contextSettings({ home, claudeDir: join(home, ".claude"), cwd }) }
  }

  test("patterns that are invalid or longer than any path exclude nothing; the others do", () => {
    using folder = tempFolder()
    const long = `{${"x".repeat(5000)},**/LONG.md}`
    const { cwd, isExcluded } = settingsOf(folder.path, {
      claudeMdExcludes: [long, 7, null, "", "[", "{{{", "**/\0", ["**/LIST.md"], "**/SHORT.md"],
    })
    expect(isExcluded(join(cwd, "SHORT.md"))).toBe(true)
    for (const name of ["LONG.md", "LIST.md", "CLAUDE.md"]) expect(isExcluded(join(cwd, name))).toBe(false)
  })

  test("values that are not folders of plans or notes are ignored", () => {
    using folder = tempFolder()
    for (const value of [7, {}, ["plans"], "../plans", "/etc", "", "a/../../plans"]) {
      const settings = settingsOf(folder.path, { plansDirectory: value, autoMemoryDirectory: value })
      const own = join(folder.path, "home", ".claude", "plans")
      expect(settings.planFolders.filter((one) => one !== own && one !== settings.cwd)).toEqual([])
      expect([undefined, "/etc"]).toContain(settings.ownMemory as undefined)
    }
  })

  test("the folder of plans must be inside the session's, however it is written", () => {
    using folder = tempFolder()
    const folders = (plansDirectory: string): readonly string[] => {
      const { cwd, planFolders } = settingsOf(folder.path, { plansDirectory })
      return planFolders.map((one) => one.replace(`${cwd}/`, "./"))
    }
    const own = join(folder.path, "home", ".claude", "plans")
    const inProject = join(folder.path, "project", "docs", "plans")
    for (const value of ["docs/plans", "./docs/plans/", "docs/../docs/plans", inProject])
      expect(folders(value)).toEqual(["./docs/plans", own])
    for (const value of ["../project-2/plans", join(folder.path, "project-2"), "a/../../project-2"])
      expect(folders(value)).toEqual([own])
  })

  test("what an organisation manages is read by everybody, and counts more than what users write", () => {
    using folder = tempFolder()
    const [home, cwd, managed] = ["home", "project", "managed"].map((name) => join(folder.path, name))
    const places = {
      home: home!,
      claudeDir: join(home!, ".claude"),
      claudeConfig: home!,
      cwd: cwd!,
      managed: managed!,
    }
    const put = (path: string, settings: unknown): void => {
      mkdirSync(join(path, ".."), { recursive: true })
      writeFileSync(path, JSON.stringify(settings))
    }
    const env = (url: string) => ({ env: { ANTHROPIC_BASE_URL: url } })
    put(join(home!, ".claude/settings.json"), { ...env("http://user"), autoCompactEnabled: true })
    put(join(cwd!, ".claude/settings.local.json"), { ...env("http://local"), cleanupPeriodDays: 3 })
    put(join(managed!, "managed-settings.json"), { ...env("http://managed"), autoCompactEnabled: false })
    const hook = { hooks: [{ type: "command", command: "audit", timeout: 5 }] }
    put(join(managed!, "managed-settings.d/10.json"), {
      cleanupPeriodDays: 90,
      autoMemoryEnabled: false,
      hooks: { Stop: [hook] },
    })
    const files = readSettings(places)
    expect(files.map(({ scope }) => scope)).toEqual(["user", "local", "managed", "managed"])
    expect(claudeEnvironment(places).baseUrl.slice(0, 3)).toEqual([
      { from: "managed", value: "http://managed" },
      { from: "local", value: "http://local" },
      { from: "user", value: "http://user" },
    ])
    expect(autoCompactIn(places)).toEqual({ settings: false })
    expect(cleanUpPeriod(files).days).toBe(90)
    expect(contextSettings(places).ownMemory).toBe("none")
    expect(files.flatMap(hooksOf)).toEqual([{ event: "Stop", command: "audit", timeout: 5 }])
  })
})
