import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { hashName } from "../../../src/base/json-files.ts"
import { pageName } from "../../../src/cli/html-pages.ts"
import { markdown, type PageWords } from "../../../src/cli/pages/html/document.ts"
import { tokenMeter } from "../../../src/cli/pages/html/project-page.ts"
import { diffHtml, mediaHtml, picture } from "../../../src/cli/pages/html/turn-html.ts"
import type { Turn } from "../../../src/views/turn.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { lookAtPictures, PIXEL } from "../../support/pictures.ts"
import { Transcript } from "../../support/transcript.ts"

test("the page of sessions has each on the day on which it was last active, the last one first", async () => {
  using machine = new Inside()
  const [long, short] = [1, 2].map((day) => machine.session({ start: Date.UTC(2026, 2, day, 12) }))
  const timestamp = "2026-03-05T12:00:00.000Z"
  long!
    .turn("A long one")
    .line({ type: "user", timestamp, message: { role: "user", content: "More" } })
    .flush()
  short!.turn("A short one").flush()
  await run(["import"], machine)
  const { index } = JSON.parse((await run(["open", "--json"], machine)).stdout)
  expect(readFileSync(index, "utf8").match(/<h2>2026-03-\d\d|<b>A (?:long|short) one/g)).toEqual([
    "<h2>2026-03-05",
    "<b>A long one",
    "<h2>2026-03-02",
    "<b>A short one",
  ])
})

/** `ctxbridge open` and `export --html`: what is in a page, and where pages go. */
describe("open", () => {
  const TASK = "Look for every zebra in the code, and say where it is."
  const machine = new Inside()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const pages = join(machine.dataHome, "pages")
  const session = machine.session()
  const other = machine.session()
  /** The whole page of the session. */
  let page = ""
  /** What was restored after its compaction. */
  let restored = ""
  let handle = ""

  beforeAll(async () => {
    session
      .turn(
        "Mend the **zebra** <b>now</b>. Never touch its stripes.",
        [
          { tool: "Task", input: { description: "Find zebras", prompt: TASK }, output: "Two zebras." },
          {
            tool: "TodoWrite",
            input: { todos: [{ content: "Mend it", status: "in_progress" }] },
            output: "ok",
          },
          {
            tool: "Edit",
            input: {
              file_path: join(machine.cwd, "src/zebra.ts"),
              old_string: "a\nold",
              new_string: "a\nnew",
            },
            output: "The file has been updated.",
          },
          {
            tool: "Bash",
            input: { command: "npm test" },
            output: "Exit code 3\n\u001b[31mTypeError\u001b[0m: stripes",
            isError: true,
          },
        ],
        "It is **mended**:\n\n- [x] one\n\n| a | b |\n|---|---|\n| 1 | <i>2</i> |",
      )
      .think("Why *stripes*?")
      .flush()
    const file = machine.path(join(session.session, "subagents", "agent-a77.jsonl"))
    const agent = new Transcript({
      session: session.session,
      cwd: machine.cwd,
      version: "2.1.112",
      agent: "a77",
      path: file,
    })
    agent
      .turn(TASK, [{ tool: "Grep", input: { pattern: "zebra" }, output: "src/zebra.ts" }], "There are two.")
      .flush()
    await machine.hook("stop", session)
    restored = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
    lookAtPictures(session)
    session.boundary("auto", 167_400).summary("All about zebras.").turn("Go on").flush()
    other.turn("Another session about a kite").flush()
    expect(await cli("import")).toMatchObject({ code: 0 })
    page = (await cli("export", "--html", session.session)).stdout
    handle = /id="(ctx-\w+)"/.exec(page)![1]!.replace("-", ":")
  })
  afterAll(() => machine[Symbol.dispose]())

  describe("a page", () => {
    test("what the session was about, and whose words that is", () => {
      const [about] = page.match(/<section class="about-session[\s\S]*?<\/section>/) ?? []
      expect(about).toContain("<strong>asked</strong>")
      expect(about).toContain("src/zebra.ts")
      expect(about).toContain("tests failed (npm test)")
      expect(about).toContain("extracted from the session")
    })

    test("sentences of a summary are Markdown, of one line; what names a file is not", () => {
      const items = ["- **Kept** `a_b`, <i>not</i>\n# dropped", "# 1. Kept [x](javascript:x)"]
      for (const [n, text] of items.entries()) {
        const shown = markdown(text, true).text
        expect(shown).toBe(
          ["<strong>Kept</strong> <code>a_b</code>, &lt;i&gt;not&lt;/i&gt; # dropped", "1. Kept x"][n]!,
        )
      }
    })

    test("is one document with its own style and script, and a policy that lets nothing else in", () => {
      expect(page.match(/<(?:script|style)\b/g)).toHaveLength(2)
      const [, policy] = /Content-Security-Policy" content="([^"]*)"/.exec(page)!
      expect(policy).toContain("default-src 'none'; img-src data:;")
      for (const tag of ["style", "script"]) {
        const [, text] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page)!
        const hash = new Bun.CryptoHasher("sha256").update(text!).digest("base64")
        expect(policy).toContain(`${tag}-src 'sha256-${hash}'`)
      }
      expect(page).not.toMatch(/\s(?:style|on\w+)="|<link|@import|url\(/)
    })

    test("has prompts as they were typed, and answers as Markdown", () => {
      expect(page).toContain(
        '<pre class="said">Mend the **zebra** &lt;b&gt;now&lt;/b&gt;. Never touch its stripes.</pre>',
      )
      expect(page).toContain("<p>It is <strong>mended</strong>:</p><ul><li>☑ one</li></ul>")
      expect(page).toContain("<td>1</td><td>&lt;i&gt;2&lt;/i&gt;</td>")
      expect(page).toContain('<summary>Thinking</summary><div class="md"><p>Why <em>stripes</em>?</p></div>')
    })

    test("has calls in a line each: file below the session's folder, lines changed, exit code, reason", () => {
      expect(page).toContain(
        '<b>Edit</b> <span class="target">src/zebra.ts</span><span class="end"><span class="plus">+1</span> <span class="minus">−1</span></span>',
      )
      expect(page).toContain(
        '<div class="diff"><pre><span> a</span><del>-old</del><ins>+new</ins></pre></div>',
      )
      expect(page).toContain(
        '<b>Bash</b> <span class="target">npm test</span><span class="end bad">exit 3</span><span class="why">TypeError: stripes</span>',
      )
      expect(page).toContain('<pre class="out bad">Exit code 3\nTypeError: stripes</pre>')
      expect(page).toContain('<ul class="todos"><li class="now">Mend it</li></ul>')
    })

    test("has images that were read or pasted", async () => {
      const shown = `<img class="item" data-kind="image" alt="image" src="data:image/png;base64,${PIXEL}">`
      expect(page.split(shown)).toHaveLength(3)
      const said = (await cli("export", "--html", "--conversation", session.session)).stdout
      expect(said).toContain(shown)
    })

    test("has the subagent below the call that started it", () => {
      const after = page.slice(page.indexOf("Find zebras"))
      expect(after.indexOf("Subagent a77")).toBeGreaterThan(0)
      expect(after.indexOf("Subagent a77")).toBeLessThan(after.indexOf("TodoWrite"))
      expect(page.match(/There are two\./g)).toHaveLength(1)
    })

    test("marks the compaction with its summary and what was restored", () => {
      expect(page).toMatch(/<b>Compacted<\/b> \(auto\) at 167\.4K tokens.*\d+ restored/)
      expect(page).toContain("<summary>Claude Code’s summary</summary>")
      expect(restored).toContain("Never touch its stripes.")
      expect(page).toContain(Bun.escapeHTML(restored.trim().split("\n")[0]!))
      expect(page).toContain('class="meter"')
    })

    test("of a turn, of several sessions, and of what was said alone", async () => {
      const turn = (await cli("export", "--html", handle)).stdout
      expect(turn).toContain("Mend the **zebra**")
      expect(turn).not.toContain("Go on")
      const both = (await cli("export", "--html", session.session, other.session)).stdout
      expect(both).toContain("Another session about a kite")
      expect(both.match(/<h1>/g)).toHaveLength(2)
      const said = (await cli("export", "--html", "--conversation", session.session)).stdout
      expect(said).toContain("<strong>mended</strong>")
      expect(said).not.toMatch(/npm test|Subagent|<summary>Thinking/)
    })
  })

  describe("where pages go", () => {
    test("by default into the data folder, private, and anew each time", async () => {
      for (const word of [session.session, handle, session.session.slice(0, 36)]) {
        const { code, stdout, stderr } = await cli("open", word, "--no-files")
        expect({ code, stderr, stdout }).toEqual({
          code: 0,
          stderr: "",
          stdout: `${join(pages, session.session)}.html\n`,
        })
      }
      expect(page).not.toContain('class="up"')
      expect(readFileSync(join(pages, `${session.session}.html`), "utf8")).toBe(page)
      expect(statSync(pages).mode & 0o777).toBe(0o700)
      expect(statSync(join(pages, `${session.session}.html`)).mode & 0o777).toBe(0o600)
    })

    test("without a session, all of the project's, and a page that leads to them", async () => {
      const folder = join(machine.cwd, "all")
      const { code, stdout } = await cli("open", "--output", folder, "--json")
      const report = JSON.parse(stdout)
      expect(code).toBe(0)
      expect(report.index).toBe(join(folder, "index.html"))
      expect(report.pages.map((one: { session: string }) => one.session).sort()).toEqual([
        session.session,
        other.session,
      ])
      const index = readFileSync(report.index, "utf8")
      for (const { file, bytes } of report.pages) {
        expect(statSync(file).size).toBe(bytes)
        expect(index).toContain(`href="${file.slice(folder.length + 1)}"`)
        expect(readFileSync(file, "utf8")).toContain('<a class="up" href="index.html">Sessions</a>')
      }
      expect(index).toContain('class="timeline"')
      expect(index).toMatch(/<h2>2026-03-02 [\s\S]*<span>08:00<\/span><span>1 turn<\/span>/)
      expect(await cli("open", "--output", folder)).toMatchObject({ code: 1, stdout: "" })
      expect(await cli("open", "--output", folder, "--force")).toMatchObject({ code: 0 })
    })

    test("into a file or a folder, and over nothing that is there", async () => {
      const file = join(machine.cwd, "one.html")
      expect(await cli("open", other.session, "--output", "one.html")).toMatchObject({
        code: 0,
        stdout: `${file}\n`,
      })
      // A session that is named twice is one page.
      expect(await cli("open", handle, session.session, "-o", "twice.html")).toMatchObject({
        stdout: `${join(machine.cwd, "twice.html")}\n`,
      })
      expect(statSync(join(machine.cwd, "twice.html")).isFile()).toBe(true)
      expect(await cli("open", other.session, "-o", file)).toEqual(
        expect.objectContaining({
          code: 1,
          stderr: `ctxbridge: ${file} exists\nhint: --force replaces it\n`,
        }),
      )
      // Before a page is written, the index is known to be in the way.
      const busy = join(machine.cwd, "busy")
      mkdirSync(busy)
      writeFileSync(join(busy, "index.html"), "theirs")
      expect(await cli("open", "--output", busy)).toMatchObject({ code: 1, stdout: "" })
      expect(readdirSync(busy)).toEqual(["index.html"])
      mkdirSync(join(machine.cwd, "folder"))
      expect(await cli("open", other.session, "-o", "folder")).toMatchObject({ code: 0 })
      expect(readdirSync(join(machine.cwd, "folder"))).toEqual([`${other.session}.html`])
    })

    test("what names nothing is told, and nothing is written", async () => {
      expect(await cli("open", "5e55ffff")).toMatchObject({ code: 3, stdout: "" })
      expect(await cli("open", session.session, "--all-projects")).toMatchObject({ code: 64 })
      const elsewhere = { env: machine.env, cwd: machine.root }
      expect(await run(["open"], elsewhere)).toMatchObject({ code: 3, stdout: "" })
    })

    test("a page that is a month old goes, and all of them when something is forgotten or redacted", async () => {
      using second = new Inside()
      const there = (...args: string[]) => run(args, { env: second.env, cwd: second.cwd })
      const kept = join(second.dataHome, "pages")
      const [first, last] = [second.session().turn("A kite").flush(), second.session().turn("A wren").flush()]
      await there("import")
      await there("open", first.session)
      const old = join(kept, "old.html")
      writeFileSync(old, "")
      utimesSync(old, 1, 1)
      await there("open", last.session)
      expect(readdirSync(kept).sort()).toEqual([
        `${first.session}.html`,
        `${last.session}.html`,
        "pages.json",
        "search",
      ])
      expect(await there("forget", first.session, "--yes")).toMatchObject({ code: 0, stderr: "" })
      expect(existsSync(kept)).toBe(false)
      await there("open", last.session)
      const env = { ...second.env, CTXBRIDGE_CONFIG: join(second.root, "config.toml") }
      writeFileSync(env.CTXBRIDGE_CONFIG, 'secrets.patterns = ["wre[n]"]')
      expect(await run(["redact", "--rescan"], { env, cwd: second.cwd })).toMatchObject({
        code: 0,
        stderr: "",
      })
      expect(existsSync(kept)).toBe(false)
    })
  })
})

/** Texts and names in pages, one by one: `test/unit/cli/pages.test.ts` has whole pages. */
describe("page text", () => {
  test("what steers is taken out of Markdown also where it is written as an entity", () => {
    const { text } = markdown("a &#x202e;b&#27;[8m *c &#x2066;* [d&rlm;](https://example.com/)")
    expect(text).toContain('<em>c \ufffd</em> <a href="https://example.com/"')
    expect(text).not.toMatch(/[\p{Bidi_C}\x1b]/u)
  })

  describe("the name of a session's page", () => {
    test("is its id, where that can be one", () => {
      expect(pageName("5e551011-0000-4000-8000-000000000001")).toBe(
        "5e551011-0000-4000-8000-000000000001.html",
      )
    })

    test("is no other session's, nor that of the list, whatever the file system makes of letters", () => {
      const ids = [
        "index",
        "Index",
        "a/b",
        "a-b",
        "a b",
        "A-B",
        "..",
        ".",
        "-a",
        "ü",
        "x".repeat(300),
        "x".repeat(301),
      ]
      const names = ids.map((id) => pageName(id).toLowerCase())
      expect(new Set(["index.html", ...names]).size).toBe(ids.length + 1)
      for (const name of names) expect(name).toMatch(/^[\w.-]{1,99}$/)
      expect(pageName("a/b")).toBe(`a-b-${hashName("a/b")}.html`)
    })
  })

  test("of a change that is too long for a page, it says how much is missing", () => {
    const lines = (number: number) => [
      Array.from({ length: number }, () => ({ mark: "+" as const, text: "x" })),
    ]
    expect(diffHtml(lines(20_000)).text).not.toContain("The page ends here")
    expect(diffHtml(lines(20_007)).text).toContain("the change goes on for 7 lines.")
  })

  test("the meter is full where the page's own turns had the most, whatever a subagent had", () => {
    const turn = { handle: "ctx:aaaaaa", seq: 1, prompt: "Go", errors: 0 } as Turn
    const words = { tokens: String } as Partial<PageWords> as PageWords
    const context = new Map([
      ["ctx:aaaaaa", 100],
      ["ctx:bbbbbb", 400],
    ])
    expect(tokenMeter([turn], context, words)?.text).toContain("<b>100</b></p>")
    expect(tokenMeter([], context, words)).toBeUndefined()
  })
})

/** What a server returns as a link or a sound is found, shown, on the page, and in exports. */
describe("links and sounds", () => {
  const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64")
  const WAV = base64(`RIFF\x10\x00\x00\x00WAVEfmt ${"\0".repeat(3000)}`)
  const LINK = {
    type: "resource_link",
    uri: "kiln://logs/7",
    name: "log-7",
    title: "Firing of June",
    description: "bisque, 1180 degrees",
  }

  let machine: Inside
  let session: string
  beforeAll(async () => {
    machine = new Inside()
    const transcript = machine.session().user("How did the firing go?").message()
    transcript.block({ type: "tool_use", id: "t", name: "mcp__kiln__firings", input: { month: 6 } })
    const content = [LINK, { type: "audio", data: WAV, mimeType: "audio/wav" }]
    transcript
      .user([{ type: "tool_result", tool_use_id: "t", content }])
      .message()
      .say("See its log.")
    await machine.hook("stop", transcript.flush())
    session = transcript.session
  })
  afterAll(() => machine[Symbol.dispose]())

  const said = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(words, machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  test("a link is found by its title, its address and what it says of itself", async () => {
    for (const query of ["firing of june", "kiln://logs/7", "bisque"])
      expect(JSON.parse(await said("search", query, "-a", "--role", "tool", "--json")).hits).toMatchObject([
        { tool: "mcp__kiln__firings" },
      ])
  })

  test("both are shown and exported", async () => {
    const [turn] = JSON.parse(await said("show", session, "--json")).turns
    for (const words of [
      ["show", turn.handle],
      ["export", session, "--md"],
    ]) {
      const text = await said(...words)
      expect(text).toContain("Firing of June\nkiln://logs/7\nbisque, 1180 degrees")
      expect(text).toContain("audio/wav, 3.0 KB")
    }
    const whole = JSON.parse(await said("show", turn.handle, "--json"))
    const parts = whole.messages.flatMap((message: { parts: object[] }) => message.parts)
    expect(parts).toContainEqual({
      kind: "media",
      mediaType: "audio/wav",
      base64Length: WAV.length,
      origin: "tool",
    })
    expect(await said("export", session, "--jsonl")).toContain('"mediaType":"audio/wav"')
    const page = await said("export", session, "--html")
    expect(page).toContain("bisque, 1180 degrees")
    expect(page).toContain(
      `<audio class="item" data-kind="sound" controls src="data:audio/wav;base64,${WAV}"></audio>`,
    )
    expect(page).toContain("media-src data:")
  })

  test("only what browsers play as sound is put into a page; anything else is named", () => {
    const html = (data: string | undefined) =>
      mediaHtml({ kind: "media", mediaType: "audio/wav", base64Length: data?.length ?? 0 }, data).text
    for (const start of [
      "RIFF\x10\x00\x00\x00WAVEfmt ",
      "ID3\x03........",
      "\xff\xfb..........",
      "OggS........",
      "fLaC........",
    ])
      expect(html(base64(start))).toStartWith("<audio ")
    for (const other of ["<svg onload='x'/>", "RIFF\x10\x00\x00\x00AVI LIST", "MThd........"])
      expect(html(base64(other))).toMatch(
        /^<p class="item mark" data-kind="mark">audio\/wav, \d+ B, not shown<\/p>\n$/,
      )
    expect(html('SUQz"><script>')).not.toContain("script")
    expect(html(undefined)).toBe('<p class="item mark" data-kind="mark">audio/wav, not shown</p>\n')
    expect(picture(WAV)).toBeUndefined()
  })
})

/** `ctxbridge export`. */
describe("export", () => {
  /**
   * `export --force` emptied the file that was there before anything was written, and removed it when the export failed: by a
   * damaged vault, or a full disk, the last good export was lost. A full disk was blamed on the archive.
   */
  describe("over a file that is there", () => {
    async function archived() {
      const machine = new Inside()
      const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
      const session = machine.session()
      // More than one frame of the vault.
      for (let n = 0; n < 3; n++) session.turn(`${n} ${"word ".repeat(60_000)}`)
      session.flush()
      expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
      return { machine, cli, session }
    }

    test("what is there stays when the export fails, and goes when it is whole", async () => {
      const { machine, cli, session } = await archived()
      using _ = machine
      const file = join(machine.cwd, "kept.jsonl")
      writeFileSync(file, "the last good export", { mode: 0o644 })
      symlinkSync("kept.jsonl", join(machine.cwd, "link.jsonl"))
      const copy = machine.copy(session.path)
      const bytes = readFileSync(copy)
      // In the middle of the last frame: those before it are written first.
      bytes.fill(0, bytes.length - 150, bytes.length - 110)
      const sound = readFileSync(copy)
      writeFileSync(copy, bytes)
      const failed = await cli("export", session.session, "--raw", "--output", "link.jsonl", "--force")
      expect(failed).toMatchObject({ code: 1, stdout: "" })
      expect(failed.stderr).toContain("ctxbridge verify")
      expect(readFileSync(file, "utf8")).toBe("the last good export")
      expect(readdirSync(machine.cwd).sort()).toEqual(["kept.jsonl", "link.jsonl"])

      writeFileSync(copy, sound)
      const done = await cli("export", session.session, "--raw", "--output", "link.jsonl", "--force")
      expect(done).toMatchObject({ code: 0, stderr: "" })
      expect(readFileSync(file)).toEqual(readFileSync(session.path))
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(lstatSync(join(machine.cwd, "link.jsonl")).isSymbolicLink()).toBe(true)
      expect(readdirSync(machine.cwd).sort()).toEqual(["kept.jsonl", "link.jsonl"])
    })

    test.skipIf(!existsSync("/dev/full"))(
      "a full disk is told as the file's, not the archive's",
      async () => {
        const { machine, cli, session } = await archived()
        using _ = machine
        const { code, stdout, stderr } = await cli("export", session.session, "-o", "/dev/full", "--force")
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
        expect(stderr).toMatch(/^ctxbridge: cannot write \/dev\/full: ENOSPC.*\nhint: .*\n$/)
      },
    )
  })

  /**
   * What followed in an export ran into what came before: the first line of a subagent's transcript into a last line
   * without a newline (`--raw`), and all later turns into a fence that an answer had left open (`--md`). Lines that end in
   * CR LF became two in Markdown.
   */
  describe("what follows does not run into what comes before", () => {
    const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

    test("each transcript begins on a line of its own, and one alone stays as it is", async () => {
      using machine = new Inside()
      const session = machine.session().turn("One.").flush()
      const size = readFileSync(session.path).length
      // Claude Code was killed.
      truncateSync(session.path, size - 1)
      const then = Date.now() / 1000 - 86_400
      utimesSync(session.path, then, then)
      const agent = join(dirname(session.path), session.session, "subagents", "agent-abc.jsonl")
      mkdirSync(dirname(agent), { recursive: true })
      const brief = { role: "user", content: "Look." }
      const line = { type: "user", uuid: "a1", sessionId: session.session, agentId: "abc", isSidechain: true }
      writeFileSync(agent, `${JSON.stringify({ ...line, cwd: machine.cwd, message: brief })}\n`)
      expect((await cli(machine, "import")).code).toBe(0)
      const [own, agents] = [readFileSync(session.path, "utf8"), readFileSync(agent, "utf8")]
      expect((await cli(machine, "export", session.session, "--raw")).stdout).toBe(own)
      expect((await cli(machine, "export", session.session, "--raw", "--agents")).stdout).toBe(
        `${own}\n${agents}`,
      )
    })

    test("turns stand below the head of their session, once", async () => {
      using machine = new Inside()
      const one = machine.session().turn("Mend the kite").turn("Paint it").flush()
      const two = machine.session().turn("Fly it").flush()
      expect((await cli(machine, "import")).code).toBe(0)
      const handles = async (session: string): Promise<string[]> =>
        JSON.parse((await cli(machine, "show", session, "--json")).stdout).turns.map(
          ({ handle }: { handle: string }) => handle,
        )
      const all = [...(await handles(one.session)), ...(await handles(two.session))]
      const { stdout } = await cli(machine, "export", ...all)
      expect(stdout).toStartWith(`# Mend the kite\n\n- session: ${one.session}\n- folder: `)
      expect(stdout.split("\n").filter((line) => /^(?:#+|- session:) /.test(line))).toEqual([
        ...["# Mend the kite", `- session: ${one.session}`, "## 1. Mend the kite", "## 2. Paint it"],
        ...["# Fly it", `- session: ${two.session}`, "## 1. Fly it"],
      ])
    })

    test("an open fence ends with its answer", async () => {
      using machine = new Inside()
      const session = machine.session()
      session
        .user("Show it.")
        .say("Here:\n\n~~~~ts\n```\nconst a = 1")
        .user("And?")
        .say("```js\nb\n```\nDone.")
        .flush()
      expect((await cli(machine, "import")).code).toBe(0)
      const { stdout } = await cli(machine, "export", session.session)
      expect(stdout).toContain("\n~~~~ts\n```\nconst a = 1\n~~~~\n\n## 2. And?\n")
      expect(stdout).toEndWith("\n```js\nb\n```\nDone.\n")
    })

    test("a line that ends in CR LF is one line", async () => {
      using machine = new Inside()
      const input = { file_path: "/a", old_string: "x\r\ny", new_string: "z" }
      const session = machine
        .session()
        .turn("a\r\n\r\nb", [{ tool: "Edit", input, output: "ok" }])
        .flush()
      expect((await cli(machine, "import")).code).toBe(0)
      const { stdout } = await cli(machine, "export", session.session)
      expect(stdout).toContain("\n> a\n> \n> b\n")
      expect(stdout).toContain("\nold_string:\n    x\r\n    y\nnew_string: z\n")
    })
  })

  describe("several sessions, and the conversation alone", () => {
    async function two() {
      const machine = new Inside()
      const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
      const call = { tool: "Bash", input: { command: "make kiln" }, output: "FAIL in line 3", isError: true }
      const sessions = ["Build the kiln", "Paint the door"].map((prompt) =>
        machine.session().turn(prompt, [call], `Done: ${prompt}`).flush(),
      )
      expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
      return { machine, cli, ids: sessions.map(({ session }) => session) }
    }

    test("in the order they are named, with heads of their own", async () => {
      const { machine, cli, ids } = await two()
      using _ = machine
      const ran = await cli("export", ids[1]!, ids[0]!)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout.match(/^- session: .*$/gm)).toEqual([`- session: ${ids[1]}`, `- session: ${ids[0]}`])
      expect(ran.stdout).toContain("make kiln")
    })

    test("once, however often a session is named", async () => {
      const { machine, cli, ids } = await two()
      using _ = machine
      const one = await cli("export", "--html", ids[0]!)
      expect((await cli("export", "--jsonl", "--since", "2020-01-01")).code).toBe(0)
      expect(await cli("export", "--jsonl", "--since", "2099-01-01")).toMatchObject({ code: 3, stdout: "" })
      expect(await cli("export", "--jsonl", "--since", "2020-01-01", ids[0]!)).toMatchObject({ code: 64 })
      expect(await cli("export", "--html", ids[0]!, ids[0]!)).toMatchObject({ code: 0, stdout: one.stdout })
      expect((await cli("export", ids[0]!, ids[1]!, ids[0]!)).stdout.match(/^- session: /gm)).toHaveLength(2)
    })

    test("--conversation leaves out tools, as Markdown and as JSON lines", async () => {
      const { machine, cli, ids } = await two()
      using _ = machine
      for (const format of ["--md", "--jsonl"]) {
        const ran = await cli("export", ids[0]!, "--conversation", format)
        expect(ran).toMatchObject({ code: 0, stderr: "" })
        expect(ran.stdout).toContain("Build the kiln")
        expect(ran.stdout).toContain("Done: Build the kiln")
        expect(ran.stdout).not.toContain("FAIL in line 3")
      }
      expect((await cli("export", ids[0]!, "--conversation")).stdout).not.toContain("make kiln")
    })

    test("what cannot be: refused before anything is written", async () => {
      const { machine, cli, ids } = await two()
      using _ = machine
      for (const args of [
        [...ids, "--raw"],
        [ids[0]!, "--raw", "--conversation"],
      ])
        expect(await cli("export", ...args)).toMatchObject({ code: 64, stdout: "" })
      expect(await cli("export", ids[0]!, "nosuchname")).toMatchObject({ code: 3, stdout: "" })
    })
  })
})
