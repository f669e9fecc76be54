import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, realpathSync, symlinkSync } from "node:fs"
import { basename, join, relative } from "node:path"
import type { Command } from "../../../src/cli/command.ts"
import { ALIASES, COMMANDS, GROUPS, PLUMBING } from "../../../src/cli/commands.ts"
import { overview, wholeOverview } from "../../../src/cli/overview.ts"
import { commandMeant } from "../../../src/cli/router.ts"
import { stretchAround } from "../../../src/cli/server/hit-passages.ts"
import { createStyle } from "../../../src/cli/style.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import { Machine } from "../../support/machine.ts"
import { hitsIn } from "../../support/mcp.ts"

/** `sessions`: those that are wanted, in the order in which they are. */
describe("sessions wanted", () => {
  const DAY = 86_400_000
  const NOW = Date.now()

  let machine: Inside

  beforeAll(async () => {
    machine = new Inside()
    const session = (n: number, daysAgo: number) =>
      machine.session({ id: `${n}e551011-0000-4000-8000-00000000000${n}`, start: NOW - daysAgo * DAY })
    const failing = { tool: "Bash", input: { command: "x" }, output: "Exit code 1", isError: true }
    const one = session(1, 30).turn("Mend the walrus parser", [failing, failing], "Done.")
    const two = session(2, 20)
      .turn("Übersetze 100% of the docs", [], "x".repeat(5000))
      .turn("More", [], "y")
      .turn("z", [], "z")
    two.line({ type: "ai-title", aiTitle: "Docs in German", sessionId: two.session })
    const three = session(3, 10).turn("A parser for dates", [], "Done.")
    three.line({
      type: "user",
      gitBranch: "feature/x",
      message: { role: "user", content: "on the branch" },
      uuid: "u3",
    })
    for (const each of [one, two, three]) await machine.hook("stop", each.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  /** First digits of their ids. */
  async function listed(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(["sessions", "--json", ...words], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout)
      .sessions.map(({ id }: { id: string }) => id[0])
      .join("")
  }

  test.each([
    [[], "321"],
    [["--grep", "PARSER"], "31"],
    [["--grep", "parser  mend"], "1"],
    [["--grep", "german docs"], "2"],
    [["--grep", "100%"], "2"],
    [["--since", "25d"], "32"],
    [["--since", "25d", "--until", "15d"], "2"],
    [["--branch", "feature/x"], "3"],
    [["--sort", "first"], "321"],
    [["--sort", "turns"], "231"],
    [["--sort", "errors"], "132"],
    [["--sort", "size"], "213"],
    [["--sort", "title"], "321"],
    [["--sort", "tokens"], "213"],
    [["--sort", "tokens", "--limit", "1"], "2"],
    [["--sort", "cost"], "213"],
    [["--sort", "cost", "--limit", "2"], "21"],
    [["--sort", "last", "--limit", "2", "--grep", "the"], "21"],
  ])("%p", async (words, ids) => expect(await listed(...words)).toBe(ids))

  test("by cost: what each is at list prices is shown", async () => {
    const { code, stdout } = await run(["sessions", "--sort", "cost"], machine)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^session .* list price /)
    expect(stdout).toMatch(/^2e551011 .* \$0\.\d\d /m)
  })

  test("none: exit 3, and where else to look; an unknown order is named", async () => {
    expect(await run(["sessions", "--grep", "nowhere"], machine)).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("hint: ctxbridge search finds sessions by all that was said in them"),
    })
    expect(await run(["sessions", "--sort", "sise"], machine)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("did you mean --sort size?"),
    })
  })
})

/** Which project `--project` means. */
describe("project wanted", () => {
  /** Prints which project is meant, and what of Node was loaded to tell. */
  const program = (project: string): string => `
const loaded = []
const own = process.getBuiltinModule
process.getBuiltinModule = (name) => (loaded.push(name), own(name))
const { projectWanted } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/cli/project-wanted.ts"))})
const project = projectWanted({ args: { project: ${JSON.stringify(project)} }, env: { cwd: process.cwd() } })
console.log(JSON.stringify({ project, loaded }))
`

  /** `search --project <folder>` loaded node:path, and node:fs where the folder is there, which took an eighth of its time. */
  test.if(process.platform === "linux").each(["there", "link", "gone", "/gone/too"])(
    "which project %s is, the C library tells",
    (name) => {
      using machine = new Machine()
      const cwd = realpathSync(machine.cwd)
      mkdirSync(join(cwd, "there"))
      symlinkSync("there", join(cwd, "link"))
      const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", program(name)], { cwd })
      const project = name.startsWith("/") ? name : join(cwd, name === "link" ? "there" : name)
      expect({ stdout: JSON.parse(stdout.toString()), stderr: stderr.toString(), exitCode }).toEqual({
        stdout: { project, loaded: [] },
        stderr: "",
        exitCode: 0,
      })
    },
  )
})

/** What projects are called: the same everywhere, and taken back by `--project`. */
describe("names of projects", () => {
  const FOLDERS = ["client/app", "server/app", "shop/3", "kiln"]
  let machine: Inside

  const ok = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args, machine)
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
    return stdout
  }
  const folderOfAll = async (...args: readonly string[]): Promise<string[]> => {
    const { sessions } = JSON.parse(await ok("sessions", "--json", ...args))
    return sessions.map(({ cwd }: { cwd: string }) => relative(machine.root, cwd)).toSorted()
  }
  const refused = async (project: string) => {
    const { code, stdout } = await run(["sessions", "--json", "--project", project], machine)
    expect(code).toBe(3)
    return JSON.parse(stdout).error
  }

  beforeAll(async () => {
    machine = new Inside()
    for (const folder of FOLDERS) {
      const cwd = join(machine.root, folder)
      mkdirSync(cwd, { recursive: true })
      const session = machine
        .session({ cwd })
        .turn(`Fire the clay of ${folder.replace("/", " ")}`)
        .flush()
      await machine.hook("stop", session)
      await ok("tag", session.session, "clay")
    }
    // A folder of the same name as a project is another thing.
    mkdirSync(join(machine.cwd, "kiln"))
  })
  afterAll(() => machine[Symbol.dispose]())

  test.each([
    "search clay -a",
    "sessions -a",
    "stats --by project",
    "tag -a",
    "forget --older-than 1h --dry-run",
  ])("%s prints each as it may be typed", async (command) => {
    const printed = await ok(...command.split(" "))
    for (const name of FOLDERS) expect(printed).toMatch(new RegExp(`(?<![\\w/])${name}(?![\\w/])`))
  })

  test.each(FOLDERS)("%s means that project, wherever one is", async (name) => {
    expect(await folderOfAll("--project", name)).toEqual([name])
    expect(await folderOfAll("-p", join(machine.root, name))).toEqual([name])
    expect(JSON.parse(await ok("search", "clay", "-p", name, "--json")).hits).toHaveLength(1)
    expect(JSON.parse(await ok("stats", "-p", name, "--json")).sessions).toBe(1)
  })

  test("a name in a list of some is the same as in one of all", async () => {
    expect(await ok("search", "client", "-a")).toContain("client/app")
  })

  test("a name that was cut for a narrow screen, and more of a path than tells it apart", async () => {
    expect(await folderOfAll("-p", "client/a…")).toEqual(["client/app"])
    expect(await folderOfAll("-p", "3")).toEqual(["shop/3"])
    expect(await folderOfAll("-p", `${basename(machine.root)}/kiln`)).toEqual(["kiln"])
  })

  test("a wrong one is told the nearest", async () => {
    expect(await refused("app")).toMatchObject({
      message: "--project app is neither a project's name nor a folder",
      hint: "did you mean client/app or server/app?",
    })
    expect((await refused("clent/app")).hint).toBe("did you mean client/app?")
    expect((await refused("/gone/kil")).hint).toBe("did you mean kiln?")
    expect((await refused("zzqqy")).hint).toBe("ctxbridge sessions --all-projects lists the projects")
  })
})

/** Options that one list has and another had not. */
describe("lists", () => {
  const LISTS = ["sessions", "search", "files", "how", "fix", "blame", "tag", "notes", "receipts"] as const

  test.each([...LISTS])("%s takes what every list takes", async (name) => {
    const { args, rows } = (await COMMANDS[name]!()).default as Command
    const every = ["project", "all-projects", "agent", "since", "limit"]
    expect(Object.keys(args!)).toEqual(expect.arrayContaining(every))
    expect(rows).toBeDefined()
  })

  test("turns of a session, so many on a page; one agent's sessions", async () => {
    using machine = new Inside()
    const session = machine.session().turn("Fire the kiln")
    for (const n of [2, 3, 4, 5]) session.turn(`Turn ${n}`)
    await machine.hook("stop", session.flush())
    const cli = async (...args: string[]) => await run(args, machine)
    const printed = async (...args: string[]) => (await cli(...args)).stdout
    const page = await printed("show", session.session, "-n", "2", "--page", "2")
    expect(page).toMatch(/^turn .*\n(?:ctx:.*\n){2}\npage 2 of 3, next: ctxbridge show \S+ -n 2 --page 3\n$/)
    const { turns } = JSON.parse(await printed("show", session.session, "--limit", "2", "--json"))
    expect(turns).toHaveLength(2)
    expect(await cli("show", turns[0].handle, "-n", "2")).toMatchObject({ code: 64, stdout: "" })
    const meant = ["resume", "kiln", "--print"]
    expect(await cli(...meant, "--agent", "claude")).toMatchObject({ code: 0 })
    for (const narrow of [
      ["--agent", "codex"],
      ["--since", "1h"],
    ])
      expect(await cli(...meant, ...narrow)).toMatchObject({ code: 3, stdout: "" })
  })
})

/** Which command a word means, and that every command is in the overview. */
describe("command name", () => {
  const NAMES = Object.keys(COMMANDS)

  test.each([
    ["search", "search"],
    ["stat", "status"],
    ["sess", "sessions"],
    ["ls", "sessions"],
    ["grep", "search"],
    ["cat", "show"],
    ["log", "sessions"],
  ])("%s means %s", (word, name) => {
    const names = word === "stat" ? NAMES.filter((one) => one !== "stats") : NAMES
    expect(commandMeant(word, names)).toBe(name)
  })

  test.each([
    ["re", "re could be receipts, "],
    ["s", "unknown command: s"],
    ["constructor", "unknown command: constructor"],
    ["--force", "no command before --force"],
    ["opt", "optimize"],
  ])("%s: %s", (word, told) => {
    let said = ""
    try {
      said = commandMeant(word, NAMES)
    } catch (error) {
      said = String((error as Error).message)
    }
    // Programs call the plumbing by its whole name.
    expect(said).toStartWith(told)
  })

  test.each([
    ["what", ["was", "that"], "did you mean why? ctxbridge search 'what was that' looks for it"],
    ["rate", ["limit"], "ctxbridge search 'rate limit' looks for it; ctxbridge --help lists the commands"],
    ["serch", ["docker"], "did you mean search?"],
    ["xyzzyplugh", ["--json"], "ctxbridge --help lists the commands"],
  ])("%s %j: %s", (word, others, hint) => {
    expect(() => commandMeant(word, NAMES, others)).toThrow(
      expect.objectContaining({ message: `unknown command: ${word}`, hint }),
    )
  })

  test("every command is in the overview once, and every alias means one", () => {
    const shown = [...GROUPS.flatMap(({ commands, also = [] }) => [...commands, ...also]), ...PLUMBING]
    expect(shown.toSorted()).toEqual(NAMES.toSorted())
    for (const [alias, name] of Object.entries(ALIASES)) {
      expect(NAMES).toContain(name.split(" ")[0]!)
      expect(NAMES).not.toContain(alias)
    }
  })

  test("the help fits 80 columns and 24 rows, with the next prompt below it", async () => {
    const lines = (await overview(createStyle(false))).split("\n")
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    const whole = (await wholeOverview(createStyle(false))).split("\n")
    expect(Math.max(...whole.map((line) => line.length))).toBeLessThanOrEqual(100)
    for (const name of NAMES) expect(whole.some((line) => line.startsWith(`  ${name} `))).toBe(true)
  })
})

/** A session's id is the name of a file, so it may be anything: what is printed with it can be read, and pasted. */
describe("hostile id", () => {
  const ID = "5e55\x1b[31m $(touch pwned)"
  /** It is archived under the SHA-256 of its name, which a shell takes for one word. */
  const ARCHIVED = new Bun.CryptoHasher("sha256").update(ID).digest("hex")

  test("the command for the next page names a session so that a shell takes it for one word, whatever its transcript is called", async () => {
    using machine = new Inside()
    const session = machine.session({ id: ID })
    for (let n = 0; n < 51; n++) session.turn(`Turn ${n}`)
    session.flush()
    expect(await run(["import"], machine)).toMatchObject({ code: 0 })
    const { stdout, stderr } = await run(["show", ID], machine)
    expect(stderr).toBe("")
    expect(stdout).toContain(`page 1 of 2, next: ctxbridge show ${ARCHIVED} --page 2\n`)
    expect(stdout).not.toContain("\x1b")
    const { page } = JSON.parse((await run(["show", ID, "--json", "--page", "1"], machine)).stdout)
    expect(page.next).toBe(`ctxbridge show ${ARCHIVED} --page 2`)
  })
})

/** Which lines of a turn are shown around a match. */
describe("turn stretch", () => {
  const linesOf = (...sizes: readonly number[]) =>
    sizes.map((size, message) => ({ text: "x".repeat(size - 1), message, title: "", isAnswer: false }))

  /** A long line was left out, and only the heading before it was shown. */
  test("the line of the match is always shown, however long it is", () => {
    const lines = linesOf(100, 10, 900, 10, 10)
    for (const room of [50, 200, 910, 1000, 5000]) {
      const { from, to } = stretchAround(lines, 2, room)
      expect({ room, isShown: from <= 2 && to > 2 }).toEqual({ room, isShown: true })
    }
    expect(stretchAround(lines, 2, 200)).toEqual({ from: 2, to: 3 })
  })

  test("lines before it take a quarter of the room, if it fits beside them", () => {
    expect(stretchAround(linesOf(10, 10, 10, 10, 10, 10, 10, 10), 4, 40)).toEqual({ from: 3, to: 7 })
  })
})

/** What `get` shows of a turn that is longer than a page. */
describe("long turns", () => {
  let machine: Inside
  let handle: string
  let line: number

  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text, isError } = await peer.call(name, args)
    expect({ text, isError }).toMatchObject({ isError: false })
    return text
  }

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    const steps = [...Array(60).keys()].map((n) => ({
      tool: "Bash",
      input: { command: `step ${n}` },
      output:
        n === 30
          ? `${"row\n".repeat(200)}the walrus is in cage seven\n${"row\n".repeat(200)}`
          : "row\n".repeat(80),
      isError: n === 45,
    }))
    session.turn("Where do the animals live?", steps, "In the end: all of them live in the aquarium.").flush()
    await machine.hook("stop", session)
    const [hit] = hitsIn(await call("search", { query: "walrus cage" }))
    handle = hit!.handle
    line = hit!.line!
  })

  afterAll(() => machine[Symbol.dispose]())

  describe("a long turn", () => {
    test("opens at the match with the handle as search gives it, and says how it began and ended", async () => {
      const text = await call("get", { handle: `${handle}@${line}` })
      expect(text).toContain("\n> the walrus is in cage seven\n")
      expect(text).toContain('\nAsked: "Where do the animals live?"\nresult of Bash: (continued)\n> row\n')
      expect(text).toMatch(/\nlast answer \(line \d+\):\n> In the end: all of them live in the aquarium\.\n/)
      expect(text).toMatch(/\n\nMore before: get ctx:\w+@-\d+; after: get ctx:\w+@\d+-\.$/)
      expect(text.length).toBeLessThanOrEqual(2400)
    })

    test("opens at other words of a query, and says when it has none of them", async () => {
      const text = await call("get", { handle: `${handle}@1`, query: "cage walrus" })
      expect(text).toContain("\n> the walrus is in cage seven\n")
      const none = await call("get", { handle, query: "giraffe" })
      expect(none).toContain('\nNone of the words of "giraffe" is in it.\nprompt:\n')
    })

    test("where the match is far into the last answer, shows how that begins", async () => {
      using other = new Inside()
      const session = other.session()
      const long = "Nothing of note happened on that day either.\n".repeat(80)
      const answer = `The lid was too tight.\n${long}The walrus is in cage seven.\n${long}`
      session.turn("Where do they live?", [], answer).flush()
      await other.hook("stop", session)
      await using peer = await Peer.connect(other.cwd, other.env)
      const [hit] = hitsIn((await peer.call("search", { query: "walrus cage" })).text)
      const { text } = await peer.call("get", { handle: `${hit!.handle}@${hit!.line}` })
      expect(text).toMatch(
        /\nlast answer \(line \d+\):\n> The lid was too tight\.\n(?:> Nothing .*\n)+> …\n\nanswer: \(continued\)\n> Nothing/,
      )
      expect(text).toContain("\n> The walrus is in cage seven.\n")
      expect(text.length).toBeLessThanOrEqual(2400)
    })

    test("without a place: prompt, outline, last answer", async () => {
      const text = await call("get", { handle })
      expect(text).toMatch(/; \d+ lines\. Quoted from the archive/)
      expect(text).toContain("\nprompt:\n> Where do the animals live?\n")
      expect(text).toMatch(/\n@\d+ result of Bash \(error.*\): "row"/)
      expect(text).toMatch(/\nlast answer \(line \d+\):\n> In the end/)
      expect(text.length).toBeLessThanOrEqual(2400)
    })

    test("is read on from any line in both directions, without a gap", async () => {
      const first = await call("get", { handle: `${handle}@100-`, size: 1000 })
      const [, to] = /; lines 100 to (\d+) of/.exec(first)!
      expect(first).toContain(`after: get ${handle}@${Number(to) + 1}-.`)
      const back = await call("get", { handle: `${handle}@-${to}`, size: 1000 })
      expect(back).toContain(` to ${to} of `)
      expect(first.length).toBeLessThanOrEqual(1000)
      const end = await call("get", { handle: `${handle}@${Number(to) + 1}-`, size: 20_000 })
      expect(end).toContain(`; lines ${Number(to) + 1} to `)
    })
  })
})
