/** `ctxbridge view` and `export --html`: what is in a page, and where pages go. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"
import { lookAtPictures, PIXEL } from "../../support/pictures.ts"
import { Transcript } from "../../support/transcript.ts"

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
          input: { file_path: join(machine.cwd, "src/zebra.ts"), old_string: "a\nold", new_string: "a\nnew" },
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
    expect(about).toContain("npm test failed")
    expect(about).toContain("extracted from the session")
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
    expect(page).toContain('<div class="diff"><pre><span> a</span><del>-old</del><ins>+new</ins></pre></div>')
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
      const { code, stdout, stderr } = await cli("view", word)
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
    const { code, stdout } = await cli("view", "--output", folder, "--json")
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
      expect(readFileSync(file, "utf8")).toContain('<a class="up" href="index.html">project</a>')
    }
    expect(index).toContain('class="timeline"')
    expect(index).toMatch(/<h2>2026-03-02<\/h2>[\s\S]*<span>08:00<\/span><span>1 turn<\/span>/)
    expect(await cli("view", "--output", folder)).toMatchObject({ code: 1, stdout: "" })
    expect(await cli("view", "--output", folder, "--force")).toMatchObject({ code: 0 })
  })

  test("into a file or a folder, and over nothing that is there", async () => {
    const file = join(machine.cwd, "one.html")
    expect(await cli("view", other.session, "--output", "one.html")).toMatchObject({
      code: 0,
      stdout: `${file}\n`,
    })
    // A session that is named twice is one page.
    expect(await cli("view", handle, session.session, "-o", "twice.html")).toMatchObject({
      stdout: `${join(machine.cwd, "twice.html")}\n`,
    })
    expect(statSync(join(machine.cwd, "twice.html")).isFile()).toBe(true)
    expect(await cli("view", other.session, "-o", file)).toEqual(
      expect.objectContaining({ code: 1, stderr: `ctxbridge: ${file} exists\nhint: --force replaces it\n` }),
    )
    // Before a page is written, the index is known to be in the way.
    const busy = join(machine.cwd, "busy")
    mkdirSync(busy)
    writeFileSync(join(busy, "index.html"), "theirs")
    expect(await cli("view", "--output", busy)).toMatchObject({ code: 1, stdout: "" })
    expect(readdirSync(busy)).toEqual(["index.html"])
    mkdirSync(join(machine.cwd, "folder"))
    expect(await cli("view", other.session, "-o", "folder")).toMatchObject({ code: 0 })
    expect(readdirSync(join(machine.cwd, "folder"))).toEqual([`${other.session}.html`])
  })

  test("what names nothing is told, and nothing is written", async () => {
    expect(await cli("view", "5e55ffff")).toMatchObject({ code: 3, stdout: "" })
    expect(await cli("view", session.session, "--all-projects")).toMatchObject({ code: 64 })
    const elsewhere = { env: machine.env, cwd: machine.root }
    expect(await run(["view"], elsewhere)).toMatchObject({ code: 3, stdout: "" })
  })

  test("a page that is a month old goes, and all of them when something is forgotten or redacted", async () => {
    using second = new Inside()
    const there = (...args: string[]) => run(args, { env: second.env, cwd: second.cwd })
    const kept = join(second.dataHome, "pages")
    const [first, last] = [second.session().turn("A kite").flush(), second.session().turn("A wren").flush()]
    await there("import")
    await there("view", first.session)
    const old = join(kept, "old.html")
    writeFileSync(old, "")
    utimesSync(old, 1, 1)
    await there("view", last.session)
    expect(readdirSync(kept).sort()).toEqual([`${first.session}.html`, `${last.session}.html`])
    expect(await there("forget", first.session, "--yes")).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(kept)).toBe(false)
    await there("view", last.session)
    const env = { ...second.env, CTXBRIDGE_CONFIG: join(second.root, "config.toml") }
    writeFileSync(env.CTXBRIDGE_CONFIG, 'secrets.patterns = ["wre[n]"]')
    expect(await run(["redact", "--rescan"], { env, cwd: second.cwd })).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(kept)).toBe(false)
  })
})
