/**
 * `ctxbridge open` of the compiled binary: at a terminal it opens the page with what the system opens pages with, without
 * a shell; what has not changed is not made again; what is forgotten is in no file of it.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { binary, run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { noTmux, TmuxScreen } from "../support/tmux-screen.ts"

setDefaultTimeout(limit(120_000))

const cannot = process.platform === "linux" ? noTmux : "xdg-open is of Linux"

test.skipIf(cannot !== undefined)(`a terminal opens the browser${cannot ? ` (${cannot})` : ""}`, async () => {
  using machine = new Machine()
  const session = machine.session().turn("A zebra; with `stripes`").flush()
  await run(["import"], { env: machine.env, cwd: machine.cwd })
  const bin = join(machine.root, "bin; touch x")
  mkdirSync(bin)
  const opener = join(bin, "xdg-open")
  const opened = join(machine.root, "opened")
  const lines = (): string[] =>
    existsSync(opened) ? readFileSync(opened, "utf8").split("\n").slice(0, -1) : []
  using screen = new TmuxScreen(machine, { cols: 120 }, { PATH: `${bin}:/usr/bin:/bin` })
  const typed = (words: string): Promise<string> => screen.ran(`${binary()} ${words}; echo "exit $?"`)
  const kept = join(machine.dataHome, "pages")
  const list = (): string => join(kept, readdirSync(kept).find((name) => /^project-\w+\.html$/.test(name))!)

  writeFileSync(opener, "#!/bin/sh\nexit 3\n")
  chmodSync(opener, 0o755)
  const failed = await typed("open")
  expect(failed).toContain("xdg-open cannot open the page: exit 3")
  expect(failed).toContain("exit 1")

  writeFileSync(opener, `#!/bin/sh\nprintf '%s %s\\n' "$#" "$1" >> '${opened}'\n`)
  expect(await typed("open")).toContain("exit 0")
  expect(lines()).toEqual([`1 ${pathToFileURL(list()).href}`])
  const [, handle] = /id="ctx-(\w+)"/.exec(readFileSync(join(kept, `${session.session}.html`), "utf8"))!
  // As it was called before.
  expect(await typed(`view ctx:${handle}`)).toContain("exit 0")
  const page = pathToFileURL(join(kept, `${session.session}.html`)).href
  expect(lines().slice(1)).toEqual([`1 ${page}#ctx-${handle}`])

  for (const words of ["open --no-open", `open ${session.session} -o one.html`, "open -o all", "open --json"])
    expect(await typed(words)).toContain("exit 0")
  expect(await run(["open"], { env: { ...machine.env, PATH: bin }, cwd: machine.cwd })).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining(`${list()}\n1 session, `),
  })
  expect(lines()).toHaveLength(2)
})

describe("pages in the data folder", () => {
  test("are made again only where a session has changed, and so is what they are searched by", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const sessions = Array.from({ length: 12 }, (_, n) =>
      machine.session().turn(`Animal number ${n}`).flush(),
    )
    await cli("import")
    const kept = join(machine.dataHome, "pages")
    const times = (): Record<string, number> =>
      Object.fromEntries(
        ["", "search"].flatMap((folder) =>
          readdirSync(join(kept, folder))
            .filter((name) => /\.(?:js|html)$/.test(name) && !name.startsWith("project-"))
            .map((name) => [name, statSync(join(kept, folder, name)).mtimeMs]),
        ),
      )
    expect(await cli("open")).toMatchObject({ code: 0, stderr: "" })
    const first = times()
    expect(Object.keys(first).filter((name) => name.startsWith("d-"))).toHaveLength(12)
    expect(await cli("open")).toMatchObject({ code: 0, stderr: "" })
    expect(times()).toEqual(first)
    sessions[3]!.turn("And an okapi").flush()
    await cli("import")
    const report = JSON.parse((await cli("open", "--json")).stdout)
    expect(report.pages).toHaveLength(12)
    const second = times()
    const changed = Object.keys(second).filter((name) => second[name] !== first[name])
    const name = sessions[3]!.session
    expect(changed.toSorted()).toEqual(
      [`${name}.html`, `d-${name}.js`, "c-now.js", "c-b2.js", "t-b2-0.js"].toSorted(),
    )
    expect(readFileSync(join(kept, "search", "t-b2-0.js"), "utf8")).toContain("okapi")
    // The large segment stays as it was.
    expect(Object.keys(second)).toContain("c-a1.js")
    // One that is named alone is kept, too, and found later.
    sessions[5]!.turn("And a numbat").flush()
    await cli("import")
    expect(await cli("open", sessions[5]!.session)).toMatchObject({ code: 0, stderr: "" })
    expect(await cli("open")).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(join(kept, "search", "t-b3-0.js"), "utf8")).toMatch(/numbat.*okapi/)
  })

  test("what is forgotten is in none of them, and does not come back", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const secret = machine.session().turn("The quokka is a secret").flush()
    machine.session().turn("The wombat is none").flush()
    await cli("import")
    const kept = join(machine.dataHome, "pages")
    const holding = (word: string): string[] =>
      ["", "search"].flatMap((folder) =>
        existsSync(join(kept, folder))
          ? readdirSync(join(kept, folder)).filter(
              (name) =>
                statSync(join(kept, folder, name)).isFile() &&
                readFileSync(join(kept, folder, name), "utf8").includes(word),
            )
          : [],
      )
    await cli("open")
    expect(holding("quokka").length).toBeGreaterThanOrEqual(4)
    expect(await cli("forget", secret.session, "--yes")).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(kept)).toBe(false)
    expect(await cli("open")).toMatchObject({ code: 0, stderr: "" })
    expect(holding("quokka")).toEqual([])
    expect(holding("wombat").length).toBeGreaterThanOrEqual(4)
  })

  test("a fork's first turns are counted once, and a session's page tells its cost at list prices", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const origin = machine.session().turn("A tapir").turn("Another tapir").flush()
    const fork = machine.session()
    const text = readFileSync(origin.path, "utf8")
    fork.discard()
    writeFileSync(fork.path, text.replaceAll(origin.session, fork.session))
    await cli("import")
    const { turns, total } = JSON.parse((await cli("stats", "--json")).stdout)
    const { index } = JSON.parse((await cli("open", "--json")).stdout)
    const head = readFileSync(index, "utf8").split("</header>")[0]!
    expect(turns).toBe(2)
    expect(head).toContain("<li>2 sessions</li><li>2 turns</li>")
    expect(total.cost).toBeGreaterThan(0)
    const kept = join(machine.dataHome, "pages")
    expect(await cli("open", origin.session, "-o", "one.html")).toMatchObject({ code: 0 })
    const pages = [join(kept, `${origin.session}.html`), join(machine.cwd, "one.html")]
    const [page, alone] = pages.map((path) => readFileSync(path, "utf8").split("</header>")[0]!)
    expect(page).toMatch(/>about \$\d+\.\d\d at list prices</)
    expect(alone).toMatch(/>about \$\d+\.\d\d at list prices</)
  })

  test("pages that go while they are made: it says that the archive was changed", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const session = machine.session().turn("A takin").flush()
    await cli("import")
    const kept = join(machine.dataHome, "pages")
    mkdirSync(kept, { recursive: true })
    // To write it fails as it does where its folder has just been removed.
    symlinkSync(join(machine.root, "gone", "page.html"), join(kept, `${session.session}.html`))
    expect(await cli("open")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "ctxbridge: the archive was changed while the pages were made\nhint: run it again\n",
    })
  })

  test("where no pages can be kept, it says so, and where else they can be", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    machine.session().turn("A takin").flush()
    await cli("import")
    writeFileSync(join(machine.dataHome, "pages"), "in the way")
    const { code, stdout, stderr } = await cli("open")
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(
      /^ctxbridge: cannot use \S+: E[A-Z]+: .*pages.*\nhint: .*; --output DIR writes the pages elsewhere\n$/,
    )
    expect(await cli("open", "--output", join(machine.root, "pages/"))).toMatchObject({ code: 0, stderr: "" })
  })

  /** Files of a site's own `search` folder were deleted for their names, also through a link. */
  test("a folder of the user's own keeps its files, and what is behind its links", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    machine.session().turn("A quokka").flush()
    await cli("import")
    const own = join(machine.cwd, "web/search/d-utils.js")
    mkdirSync(join(machine.cwd, "web/search"), { recursive: true })
    writeFileSync(own, "mine")
    expect(await cli("open", "-o", "web")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/web\/search exists\nhint: --force replaces it\n$/),
    })
    expect((await cli("open", "-o", "web", "--force")).code).toBe(0)
    expect(readFileSync(own, "utf8")).toBe("mine")
    mkdirSync(join(machine.home, "precious"))
    mkdirSync(join(machine.cwd, "site"))
    symlinkSync(join(machine.home, "precious"), join(machine.cwd, "site/search"))
    expect(await cli("open", "-o", "site", "--force")).toMatchObject({ code: 1, stdout: "" })
    expect(readdirSync(join(machine.home, "precious"))).toEqual([])
    await until(() => machine.processes().length === 0, 60_000, "the job to end")
  })

  test("--since, --agent and what belongs to lists alone", async () => {
    using machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    const session = machine.session().turn("A kite").flush()
    await cli("import")
    expect(await cli("open", "--since", "2100-01-01")).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringMatching(/^ctxbridge: no archived session of .* was active since then\nhint: /),
    })
    expect(JSON.parse((await cli("open", "--since", "2020-01-01", "--json")).stdout).pages).toHaveLength(1)
    for (const option of [["--since", "1d"], ["--agent", "codex"], ["-a"], ["-p", "."]])
      expect(await cli("open", session.session, ...option)).toMatchObject({ code: 64, stdout: "" })
    await until(() => machine.processes().length === 0, 60_000, "the job to end")
  })
})
