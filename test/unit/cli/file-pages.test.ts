/** The pages of files that sessions changed: what each line says of where it is from, and what is never on a page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import { Transcript } from "../../support/transcript.ts"
import { Worked } from "../../support/worked-file.ts"

const FIRST = "const limit = 5\n\nexport function allowed(n) {\n  return n < limit\n}\n"
const TOKEN = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`

interface Run {
  readonly from: number
  readonly text: string
  /** What is said of the lines, and where that leads. */
  readonly label: string
  readonly address: string | undefined
}

const plain = (html: string): string =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&")

const runsIn = (page: string): Run[] =>
  [...page.matchAll(/<section class="run[^>]*>(.*?)<pre>([\s\S]*?)<\/pre><\/section>/g)].map(
    ([, head, code]) => ({
      from: Number(/id="(\d+)"/.exec(code!)![1]),
      text: plain(code!),
      label: plain(head!),
      address: /href="([^"]*)"/.exec(head!)?.[1],
    }),
  )

describe("what was recognised as a secret in one session is on no page, whichever is asked for", () => {
  const VALUE = "q7Rz9-Kd2mXw81Lp"
  const FILLED = `  return dial(host, "${"*".repeat(VALUE.length)}", 42)`

  /** Session a writes a file, session b puts into it what the user told it. */
  async function worked() {
    const machine = new Inside()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const file = new Worked(join(machine.cwd, "src/conn.ts"))
    const a = machine
      .session()
      .turn("Write the client", [
        file.write('export function connect(host) {\n  return dial(host, "x")\n}\n'),
      ])
      .flush()
    const b = machine
      .session()
      .turn(`Use this: export DB_PASSWORD=${VALUE}`, [
        file.edit('dial(host, "x")', `dial(host, "${VALUE}", 42)`),
      ])
      .flush()
    file.save()
    expect(await cli("import")).toMatchObject({ code: 0 })
    const shown = async (...args: string[]): Promise<string> => {
      expect(await cli("open", ...args)).toMatchObject({ code: 0 })
      const kept = join(machine.dataHome, "pages")
      const [name] = readdirSync(kept).filter((one) => one.startsWith("file-"))
      return plain(readFileSync(join(kept, name!), "utf8"))
    }
    return { machine, file, a, b, shown, [Symbol.dispose]: () => machine[Symbol.dispose]() }
  }

  test("nor where that session is not asked for, or Claude Code has deleted its transcript", async () => {
    using at = await worked()
    const { a, b, machine, shown } = at
    const expectFilled = (page: string): void => {
      expect(page).not.toContain(VALUE)
      expect(page).toContain(FILLED)
      expect(page).toContain("as it is on disk")
    }
    expectFilled(await shown())
    expectFilled(await shown(a.session))
    rmSync(b.path)
    expectFilled(await shown())
    rmSync(join(machine.dataHome, "pages"), { recursive: true })
    expectFilled(await shown(a.session))
  })

  test("a line that may hold it since: the page shows the file as a session last knew it", async () => {
    using at = await worked()
    const { b, file, shown } = at
    rmSync(b.path)
    writeFileSync(file.path, `export const password = "none"\nconnectWith("${VALUE}")\n`)
    const page = await shown()
    expect(page).not.toContain(VALUE)
    expect(page).toContain("may hold a secret that can no longer be recognised; as a session last knew it")
    expect(page).toContain(FILLED)
    writeFileSync(file.path, "export function connect(host) {\n}\n")
    expect(await shown()).toContain("as it is on disk")
  })
})

test("what others wrote explains no line, and their folders are no projects of the user's", async () => {
  using machine = new Inside()
  using stranger = new Inside()
  const on = (at: Inside, ...args: string[]) => run(args, { env: at.env, cwd: at.cwd })
  const notes = new Worked(join(machine.home, "private/notes.txt"))
  const here = new Worked(join(machine.cwd, "here.txt"))
  machine
    .session()
    .turn("Note it", [notes.write("first private line of notes\n"), here.write("a line of the user's own\n")])
    .flush()
  notes.save()
  writeFileSync(notes.path, "first private line of notes\nonly on disk: a diary\n")
  writeFileSync(here.path, "a line of the user's own\na line that they wrote\n")
  const theirs = (path: string, content: string) => new Worked(path).write(content)
  stranger
    .session({ id: "0b000000-0000-4000-8000-000000000002", cwd: join(machine.home, "private") })
    .turn("STRANGER says", [
      theirs(notes.path, "only on disk: a diary\n"),
      theirs(here.path, "a line that they wrote\n"),
    ])
    .flush()
  const target = join(machine.root, "target")
  for (const [at, ...args] of [
    [machine, "import"],
    [stranger, "import"],
    [stranger, "sync", "--to", target, "--frames"],
    [machine, "sync", "--to", target, "--pull"],
    [machine, "open", "-a", "--output", join(machine.root, "pages")],
  ] as const)
    expect(await on(at, ...args)).toMatchObject({ code: 0 })
  const pages = readdirSync(join(machine.root, "pages"))
    .filter((name) => name.startsWith("file-"))
    .map((name) => readFileSync(join(machine.root, "pages", name), "utf8"))
  expect(pages).toHaveLength(2)
  const [ofNotes, ofHere] = ["notes.txt", "here.txt"].map((name) => pages.find((one) => one.includes(name))!)
  expect(ofNotes).toContain("outside the project; as a session last knew it")
  expect(ofNotes).not.toContain("diary")
  expect(runsIn(ofHere!).map(({ text, label }) => [text, label.replace(/^[\d-]+ /, "")])).toEqual([
    ["a line of the user's own\n", "Note it"],
    ["a line that they wrote\n", "not from an archived session"],
  ])
  expect(pages.join("")).not.toContain("STRANGER")
})

test("a line comes from the same file of the repository, wherever it is checked out, and from no namesake", async () => {
  using machine = new Inside()
  const tree = join(machine.root, "tree")
  const gone = join(machine.root, "gone")
  const other = join(machine.root, "other")
  const git = join(machine.cwd, ".git")
  for (const [name, folder] of [
    ["tree", tree],
    ["gone", gone],
  ] as const) {
    for (const one of [join(git, "worktrees", name), folder]) mkdirSync(one, { recursive: true })
    writeFileSync(join(folder, ".git"), `gitdir: ${join(git, "worktrees", name)}\n`)
    writeFileSync(join(git, "worktrees", name, "gitdir"), `${join(folder, ".git")}\n`)
  }
  writeFileSync(join(git, "HEAD"), "ref: refs/heads/main\n")
  for (const folder of [other, join(machine.cwd, "docs"), join(tree, "docs")]) mkdirSync(folder)
  const written: [words: string, cwd: string, file: string][] = [
    ["the top one", machine.cwd, join(machine.cwd, "README.md")],
    ["one in a folder", join(machine.cwd, "docs"), join(machine.cwd, "docs/README.md")],
    ["one in a worktree", join(tree, "docs"), join(tree, "README.md")],
    ["one in a worktree's folder", join(tree, "docs"), join(tree, "docs/README.md")],
    ["one in a worktree that is gone", gone, join(gone, "README.md")],
    ["another project's", other, join(other, "README.md")],
  ]
  for (const [n, [words, cwd, file]] of written.entries())
    machine
      .session({ cwd, start: Date.UTC(2026, 2, 2 + n) })
      .turn(`Write ${words}`, [new Worked(file).write(`It is ${words}\n`)])
      .flush()
  writeFileSync(join(machine.cwd, "README.md"), written.map(([words]) => `It is ${words}\n`).join(""))
  const folder = join(machine.root, "pages")
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  expect(await cli("import")).toMatchObject({ code: 0 })
  rmSync(gone, { recursive: true })
  expect(await cli("open", "-a", "--output", folder)).toMatchObject({ code: 0 })
  const page = readdirSync(folder)
    .filter((name) => name.startsWith("file-"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .find((one) => one.includes(`<code>${join(machine.cwd, "README.md")}</code>`))!
  expect(runsIn(page).map(({ text, label }) => `${text.trim()}: ${label.replace(/^[\d-]+ /, "")}`)).toEqual([
    "It is the top one: Write the top one",
    "It is one in a folder: not from an archived session",
    "It is one in a worktree: Write one in a worktree",
    "It is one in a worktree's folder: not from an archived session",
    "It is one in a worktree that is gone: Write one in a worktree that is gone",
    "It is another project's: not from an archived session",
  ])
})

describe("pages of files", () => {
  const machine = new Inside()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const folder = join(machine.root, "pages")
  const path = (name: string) => join(machine.cwd, name)
  const outside = join(machine.root, "outside.txt")
  const pages = () => readdirSync(folder).filter((name) => name.endsWith(".html"))
  const page = (name: string): string => {
    const files = readdirSync(folder).filter((one) => one.startsWith("file-"))
    return files
      .map((one) => readFileSync(join(folder, one), "utf8"))
      .find((one) => one.includes(`<title>${name}</title>`))!
  }

  beforeAll(async () => {
    const limit = new Worked(path("src/limit.ts"))
    const gone = new Worked(path("src/gone.ts"))
    const torn = new Worked(path("src/torn.ts"))
    const away = new Worked(outside)
    const session = machine.session()
    session
      .turn(
        "Write the limiter.",
        [limit.write(FIRST), limit.edit("  return n < limit", "  return n <= limit")],
        "Done: **five** at most.",
      )
      .turn("Write what goes again.", [gone.write("let gone = 1\n"), gone.edit("1", "2")])
      .turn("Change what nobody has seen whole.", [
        {
          tool: "Edit",
          input: { file_path: torn.path, old_string: "old words", new_string: "new words" },
          output: "ok",
        },
      ])
      .turn("Write outside.", [away.write("what the session wrote\n")])
      .turn(
        "Write what no page can show.",
        ["bytes.bin", "large.txt", "long.txt", "link.txt", "folder"].map((name) =>
          new Worked(path(name)).write("x y z\n"),
        ),
      )
      .flush()
    const agent = new Transcript({
      session: session.session,
      cwd: machine.cwd,
      version: "2.1.112",
      agent: "a77",
      path: machine.path(join(session.session, "subagents", "agent-a77.jsonl")),
    })
    agent.turn("Name the limit.", [limit.edit("const limit = 5", "const limit = 6 // <b>six</b>")]).flush()
    limit.content = `${limit.content}\nexport const byHand = true\nconst token = "${TOKEN}"\n`
    limit.save()
    writeFileSync(outside, "what is there now\n")
    writeFileSync(path("bytes.bin"), new Uint8Array([0xff, 0xfe, 0, 1]))
    writeFileSync(path("large.txt"), "a line of text\n".repeat(80_000))
    writeFileSync(path("long.txt"), "a\n".repeat(20_001))
    symlinkSync(outside, path("link.txt"))
    mkdirSync(path("folder"))
    expect(await cli("import")).toMatchObject({ code: 0 })
    expect(await cli("open", "--output", folder)).toMatchObject({ code: 0, stderr: "" })
  })
  afterAll(() => machine[Symbol.dispose]())

  test("a line leads to the turn that wrote it, on its session's page; one that nobody wrote says so", () => {
    const runs = runsIn(page("src/limit.ts"))
    const told = runs.map(({ from, text, label }) => ({ from, text, label: label.replace(/^[\d-]+ /, "") }))
    expect(told).toEqual([
      { from: 1, text: "const limit = 6 // <b>six</b>\n", label: "Name the limit." },
      {
        from: 2,
        text: "\nexport function allowed(n) {\n  return n <= limit\n",
        label: "Write the limiter.",
      },
      { from: 5, text: "}\n\n", label: "" },
      {
        from: 7,
        text: `export const byHand = true\nconst token = "${"*".repeat(TOKEN.length)}"\n`,
        label: "not from an archived session",
      },
    ])
    for (const { address } of runs.slice(0, 2)) {
      const [, file, anchor] = /^(.+)#(ctx-\w+)$/.exec(address!)!
      expect(readFileSync(join(folder, file!), "utf8")).toContain(`id="${anchor}"`)
    }
    expect(runs[3]!.address).toBeUndefined()
    expect(page("src/limit.ts")).toContain("<strong>five</strong>")
  })
  test("a file that is gone, or lies elsewhere, is shown as a session last knew it, and nothing else of the disk", () => {
    expect(page("src/gone.ts")).toContain("deleted; as a session last knew it, 2 Mar 2026")
    expect(runsIn(page("src/gone.ts")).map(({ text }) => text)).toEqual(["let gone = 2\n"])
    expect(page(outside)).toContain("outside the project; as a session last knew it")
    expect(runsIn(page(outside)).map(({ text }) => text)).toEqual(["what the session wrote\n"])
    const all = pages().map((name) => readFileSync(join(folder, name), "utf8"))
    expect(all.filter((one) => one.includes("what is there now"))).toEqual([])
    expect(all.filter((one) => one.includes(TOKEN))).toEqual([])
    expect(statSync(join(folder, pages()[0]!)).mode & 0o777).toBe(0o600)
  })

  test("what cannot be shown is listed with the reason, and its page says the same", () => {
    const [, list] = /<section class="files[^>]*>([\s\S]*?)<\/section>/.exec(
      readFileSync(join(folder, "index.html"), "utf8"),
    )!
    const rows = list!.match(/<a class="item file"[\s\S]*?<\/a>/g)!.map(plain)
    const reasons = {
      "bytes.bin": "it is not text",
      folder: "it is not a file",
      "large.txt": "it is larger than 1.0 MB",
      "link.txt": "it is a link that leads out of the project",
      "long.txt": "it has more than 20000 lines",
      "src/torn.ts": "it is deleted, and no session says what all of it was",
    }
    expect(
      rows.filter((row) => row.includes("not shown")).map((row) => row.split("1 turn")[0]!.trim()),
    ).toEqual(Object.entries(reasons).map(([name, reason]) => `${name}not shown: ${reason}`))
    expect(rows).toHaveLength(9)
    for (const [name, reason] of Object.entries(reasons)) {
      expect(page(name)).toContain(`<p>Not shown: ${reason}.</p>`)
      expect(runsIn(page(name))).toEqual([])
    }
  })

  test("a turn leads to the pages of the files that it changed", () => {
    const session = readdirSync(folder).find((name) => name.startsWith("5e55"))!
    const links = [
      ...readFileSync(join(folder, session), "utf8").matchAll(/<a href="(file-\w+\.html)"><code>([^<]*)</g),
    ].map(([, file, name]) => [name, file] as const)
    expect(links.map(([name]) => name)).toContain("src/gone.ts")
    for (const [name, file] of links)
      expect(readFileSync(join(folder, file!), "utf8")).toContain(`<title>${name}</title>`)
  })

  test("in the data folder a page is made again when the file or its turns have changed, and only then", async () => {
    expect(await cli("open")).toMatchObject({ code: 0 })
    const kept = join(machine.dataHome, "pages")
    const made = () =>
      new Map(
        readdirSync(kept)
          .filter((name) => /^file-.*html$/.test(name))
          .map((name) => [name, statSync(join(kept, name), { bigint: true }).mtimeNs]),
      )
    const changed = (before: Map<string, bigint>) =>
      [...made()].filter(([name, time]) => before.get(name) !== time)
    const first = made()
    expect(first.size).toBe(9)
    await cli("open")
    expect(changed(first)).toEqual([])
    writeFileSync(path("src/gone.ts"), "let again = 1\n")
    await cli("open")
    expect(changed(first)).toHaveLength(1)
    expect(readFileSync(join(kept, changed(first)[0]![0]), "utf8")).toContain("let again = 1")
    rmSync(path("src/gone.ts"))
  })

  test("--no-files leaves them out, and leads nowhere", async () => {
    const bare = join(machine.root, "bare")
    expect(await cli("open", "--no-files", "--output", bare)).toMatchObject({ code: 0 })
    expect(readdirSync(bare).filter((name) => name.startsWith("file-"))).toEqual([])
    for (const name of readdirSync(bare).filter((one) => one.endsWith(".html")))
      expect(readFileSync(join(bare, name), "utf8")).not.toMatch(/file-\w+\.html|changed file/)
  })
})
