import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import {
  renderBlocks,
  renderFriction,
  renderStats,
  type StatsScreen,
} from "../../../src/cli/commands/stats.ts"
import { inAscii } from "../../../src/cli/output.ts"
import { yearCard } from "../../../src/cli/pages/cards.ts"
import { statsHtml } from "../../../src/cli/pages/stats-html.ts"
import { gridOf } from "../../../src/cli/stats/activity-grid.ts"
import { errorSums } from "../../../src/cli/stats/session-sums.ts"
import {
  gatherStats,
  PERIODS,
  type Period,
  recurringErrors,
  type SpentRow,
  type Stats,
} from "../../../src/cli/stats/stats.ts"
import { createStyle } from "../../../src/cli/style.ts"
import { resolveOptions } from "../../../src/config/options.ts"
import { parseBudget } from "../../../src/restore/window/budget-use.ts"
import { gatherUses, type UseBlock } from "../../../src/restore/window/spending.ts"
import { keptFile, removePages } from "../../../src/views/kept-pages.ts"
import { priceKey, priceList, requestCost } from "../../../src/views/prices.ts"
import { useOfProject } from "../../../src/views/queries/token-use.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"
import { MADE_NOW, MADE_TODAY, madeBlocks, madeStats } from "../../support/made-stats.ts"
import type { Transcript } from "../../support/transcript.ts"

const HOSTILE = `</td><script>alert(1)</script><img src=x onerror=alert(1)>"'&\x1b[2J\u202e</style>`

/** `stats` as it is typed: parts, options, prices of one's own, pages, and what it says when there is nothing. */
describe("stats", () => {
  let machine: Inside

  const elsewhere = (): string => join(machine.root, "elsewhere")
  const stats = (words: readonly string[], env: Record<string, string> = {}) =>
    run(["stats", ...words], { cwd: machine.cwd, env: { ...machine.env, ...env } })

  async function figures(...words: readonly string[]) {
    const { code, stdout, stderr } = await stats([...words, "--json"])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout)
  }

  beforeAll(async () => {
    machine = new Inside()
    const fails = {
      tool: "Bash",
      input: { command: "make" },
      output: "Exit code 2\nmake: *** [all] Error 2",
      isError: true,
    }
    const fires = { tool: "Bash", input: { command: "npm run fire -- --hot" }, output: "Fired." }
    const first = machine.session().turn("Build", [fails, fails]).turn("Again", [fails, fires])
    first.boundary().summary("They built.").turn("Go on")
    mkdirSync(elsewhere())
    const second = machine.session({ cwd: elsewhere() }).turn("Something else")
    for (const one of [first, second])
      expect(await run(["import", one.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
  })

  afterAll(() => machine[Symbol.dispose]())

  test("every project by default, one by --project", async () => {
    expect(await figures()).toMatchObject({
      project: null,
      sessions: 2,
      turns: 4,
      compactions: { examined: 1, more: false },
    })
    expect(await figures("-p", ".")).toMatchObject({ project: machine.cwd, sessions: 1, turns: 3 })
    expect(await figures("--by", "project")).toMatchObject({
      by: "project",
      rows: [
        { key: machine.cwd, turns: 3 },
        { key: elsewhere(), turns: 1 },
      ],
    })
  })

  test("sessions have their titles, else their first prompts", async () => {
    const { rows } = await figures("--by", "session")
    expect(rows.map(({ title }: SpentRow) => title).toSorted()).toEqual(["Build", "Something else"])
    const { stdout } = await stats(["--by", "session"])
    expect(stdout).toMatch(/^session\s.*cost\n {2}title\n5e551011\S*\s+3 .*\n {2}Build\n/m)
    expect((await figures())["rows"][0]).not.toHaveProperty("title")
    expect((await stats(["--by", "session", "--html"])).stdout).toMatch(
      /<td>Build <span class="under">5e551011-[^<]*<\/span>/,
    )
  })

  test("friction alone, for programs and for people", async () => {
    expect(await figures("friction")).toEqual({
      ...{ project: null, since: null, interrupted: 0, takenBack: 0 },
      failuresByHour: Array.from({ length: 24 }, (_, hour) => (hour === 8 ? 3 : 0)),
      tools: [{ name: "Bash", calls: 4, failed: 3 }],
      files: [],
      errors: [
        expect.objectContaining({
          error: "make: *** [all] Error 2",
          times: 3,
          turns: 2,
          tool: "Bash",
          solvedIn: null,
        }),
      ],
    })
    const { stdout } = await stats(["friction"])
    expect(stdout).toContain("make: *** [all] Error 2\n  3 times in 2 turns, Bash, last 2 Mar 08:00 in ctx:")
  })

  test("for people: what Claude Code's summary kept stands in the headline", async () => {
    const { code, stdout, stderr } = await stats([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toStartWith("Every project, 2026-03-02 to 2026-03-02\nsessions  2 with 4 turns\n")
    // Nothing could be restored then, so that 0% would say nothing.
    expect(stdout).toContain("Summaries kept 0% of your commands.\n")
    expect(stdout).toContain("1 compaction from before the archive: ctxbridge receipts has each.")
  })

  describe("--blocks", () => {
    const DAY = Date.UTC(2026, 2, 2)
    const at = (hours: number): string => new Date(DAY + hours * 3_600_000).toISOString()

    async function blocksOf(starts: readonly number[], ...words: string[]) {
      using other = new Inside()
      for (const start of starts) {
        const session = other.session({ start }).turn("Fire the kiln")
        expect(await run(["import", session.flush().path], other)).toMatchObject({ code: 0, stderr: "" })
      }
      const { code, stdout, stderr } = await run(["stats", "--blocks", "--json", ...words], other)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const { stdout: shown } = await run(["stats", "--blocks", ...words], other)
      const total = JSON.parse((await run(["stats", "--json"], other)).stdout).total
      return { shown, total, blocks: JSON.parse(stdout).blocks }
    }

    const HOURS = [8.7, 12.9, 13, 40.2].map((hours) => DAY + hours * 3_600_000)

    test("begin at the full hour of the first request after the last has ended, and hold every token once", async () => {
      const { blocks, total, shown } = await blocksOf(HOURS)
      expect(blocks).toMatchObject([
        { program: "claude", start: at(40), end: at(45), minutesLeft: null },
        { start: at(13), end: at(18) },
        { start: at(8), end: at(13) },
      ])
      const sum = (of: (block: UseBlock) => number): number =>
        blocks.map(of).reduce((a: number, b: number) => a + b)
      expect(sum(({ requests }) => requests)).toBe(total.requests)
      expect(sum(({ tokens }) => tokens.output)).toBe(total.tokens.output)
      expect(sum(({ cost }) => cost)).toBeCloseTo(total.cost)
      expect(blocks[2].requests).toBe(2 * blocks[1].requests)
      expect(shown).toContain("none is live")
      expect(shown).not.toContain(", live")
    })

    test("--since leaves out those that had ended, and cuts none in two", async () => {
      const { blocks } = await blocksOf(HOURS, "--since", at(14))
      expect(blocks.map(({ start }: { start: string }) => start)).toEqual([at(40), at(13)])
      expect(blocks[1].requests).toBe(blocks[0].requests)
    })

    test("the present one is live, and says how long it lasts", async () => {
      const { blocks, shown } = await blocksOf([...HOURS, Date.now() - 60_000])
      const [{ start, end, minutesLeft }] = blocks
      expect(Date.parse(end) - Date.parse(start)).toBe(5 * 3_600_000)
      expect(minutesLeft).toBeGreaterThan(238)
      expect(minutesLeft).toBeLessThanOrEqual(300)
      expect(shown).toMatch(/live until \d\d:\d\d, [345] h \d\d min left: /)
      expect(shown.match(/, live /g)).toHaveLength(1)
      expect(shown).toMatch(/2 Mar(?: 2026)? 13:00 to 18:00 /)
    })
  })

  describe("prices of one's own", () => {
    const PRICE = "claude-sonnet-4-6 1000 1000 1000 1000"

    test("count in the user's file", async () => {
      const file = join(machine.root, "prices.toml")
      writeFileSync(file, `[stats]\nprices = ["${PRICE}"]\n`)
      const { stdout } = await stats(["--json"], { CTXBRIDGE_CONFIG: file })
      const { total } = JSON.parse(stdout)
      const { input, output, cacheCreation, cacheRead } = total.tokens
      expect(total.cost).toBeCloseTo((input + output + cacheCreation + cacheRead) / 1000)
    })

    test("do not count in a project's", async () => {
      const before = await figures()
      writeFileSync(join(machine.cwd, ".ctxbridge.toml"), `[stats]\nprices = ["${PRICE}"]\n`)
      expect((await figures()).total).toEqual(before.total)
      const { stdout } = await run(["config", "get", "stats.prices", "--json"], machine)
      expect(JSON.parse(stdout)).toMatchObject({
        value: [],
        origin: "default",
        problems: [{ origin: "project" }],
      })
    })

    test.each(["claude-opus-4-5", "claude-opus-4-5 5", "claude-opus-4-5 five 25", "5 25", "m -1 2"])(
      "%s is none",
      async (line) => {
        const file = join(machine.root, "wrong.toml")
        writeFileSync(file, `[stats]\nprices = [${JSON.stringify(line)}]\n`)
        const { stdout } = await run(["config", "get", "stats.prices", "--json"], {
          cwd: elsewhere(),
          env: { ...machine.env, CTXBRIDGE_CONFIG: file },
        })
        expect(JSON.parse(stdout)).toMatchObject({ value: [], problems: [{ isValue: true }] })
      },
    )
  })

  describe("a page for browsers", () => {
    test("goes to stdout, or into a file of one's own that is not overwritten unasked", async () => {
      const printed = await stats(["--html"])
      expect(printed).toMatchObject({ code: 0, stderr: "" })
      expect(printed.stdout).toStartWith("<!doctype html>\n")
      const file = join(machine.root, "stats.html")
      const written = await stats(["--html", "-o", file, "--json"])
      expect(written).toMatchObject({ code: 0, stderr: "" })
      expect(JSON.parse(written.stdout)).toEqual({ file, bytes: statSync(file).size })
      expect(readFileSync(file, "utf8")).toBe(printed.stdout)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const again = await stats(["--html", "-o", file])
      expect(again).toMatchObject({ code: 1, stdout: "" })
      expect(again.stderr).toContain("hint: --force replaces it")
      expect(await stats(["--html", "-o", file, "--force"])).toMatchObject({ code: 0, stderr: "" })
    })

    test("is of everything", async () => {
      const file = join(machine.root, "none.html")
      for (const words of [
        ["friction", "--html"],
        ["-o", file],
      ])
        expect(await stats(words)).toMatchObject({ code: 64, stdout: "" })
      const { code, stdout } = await stats(["--html", "--json"])
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 64, error: { code: "usage" } })
      expect(existsSync(file)).toBe(false)
    })
  })

  describe("a card to share", () => {
    const isOpened = /<(?:rect|text|svg)[ >]/g
    const isClosed = /\/>|<\/(?:text|svg)>/g

    test("is a picture that says nothing of what was worked on, unless names are asked for", async () => {
      const file = join(machine.root, "year.svg")
      const made = await stats(["--card", "-o", file])
      expect(made).toMatchObject({ code: 0, stderr: "" })
      const svg = readFileSync(file, "utf8")
      expect(svg).toStartWith("<svg ")
      expect(svg.match(isOpened)!.length).toBe(svg.match(isClosed)!.length)
      for (const shown of ["My year with Claude Code", "2", "sessions", "4", "active day", "Bash", "1 day"])
        expect(svg).toContain(`>${shown}<`)
      for (const own of ["elsewhere", basename(machine.cwd), machine.root, "Build", "make", "5e551011"])
        expect(svg).not.toContain(own)
      const named = await stats(["--card", "--names"])
      expect(named.stdout).toContain(">elsewhere<")
      expect(named.stdout).toContain(`>${basename(machine.cwd)}<`)
      expect((await stats(["--card", "-p", "."])).stdout).not.toContain(basename(machine.cwd))
      expect((await stats(["--card", "-p", ".", "--names"])).stdout).toContain(
        `>${basename(machine.cwd)} with Claude Code<`,
      )
    })

    test("replaces no file unasked, reports as JSON, and is of what other options choose", async () => {
      const file = join(machine.root, "card.svg")
      const { stdout } = await stats(["--card", "-o", file, "--json"])
      expect(JSON.parse(stdout)).toEqual({ file, bytes: statSync(file).size })
      expect(await stats(["--card", "-o", file])).toMatchObject({ code: 1, stdout: "" })
      for (const words of [["-o", file], [file], [`--card=${file}`]])
        expect(await stats(["--card", ...words, "--force"])).toMatchObject({ code: 0, stderr: "" })
      expect((await stats(["--card", "--since", "2026-03-01"])).stdout).toContain(
        ">My work with Claude Code<",
      )
      for (const words of [
        ["--card", "--html"],
        ["--card", "friction"],
        ["--card", "--by", "day"],
        ["--names"],
      ])
        expect(await stats(words)).toMatchObject({ code: 64, stdout: "" })
    })

    test("the one in the docs is of this program", () => {
      const days = Array.from({ length: 371 }, (_, n) => ({
        day: new Date(Date.UTC(2025, 2, 10 + n)).toISOString().slice(0, 10),
        turns: n % 7 > 4 && n % 3 > 0 ? 0 : (n * n * 7 + n) % 29,
      })).filter(({ day, turns }) => turns > 6 && day <= MADE_TODAY)
      const made = { ...madeStats(HOSTILE), days, first: days[0]!.day, last: days.at(-1)!.day }
      const card = {
        today: MADE_TODAY,
        agent: "Claude Code",
        isNamed: false,
        project: undefined,
        isWhole: true,
      }
      const svg = Buffer.from(yearCard(made, card)).toString()
      expect(svg).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]|kiln|pottery/)
      const file = join(import.meta.dir, "../../../docs/images/card.svg")
      if (process.env["CTXBRIDGE_TEST_GOLDEN"] === "write") writeFileSync(file, svg)
      expect(svg).toBe(readFileSync(file, "utf8"))
    })

    test("names of projects and tools cannot leave their place in the picture", () => {
      const [row] = madeStats().rows
      const rows = [{ ...row!, key: `/p/<b>&"${HOSTILE}` }]
      const card = { today: MADE_TODAY, agent: undefined, isNamed: true, isWhole: true }
      for (const project of [undefined, `/p/<script>${HOSTILE}`]) {
        const svg = Buffer.from(yearCard({ ...madeStats(HOSTILE), rows }, { ...card, project })).toString()
        expect(svg).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]|<b>|<script/)
        expect(svg.match(isOpened)!.length).toBe(svg.match(isClosed)!.length)
      }
    })
  })

  describe("what cannot be answered", () => {
    test.each([
      [["fricton"], 64, "unknown part: fricton", "did you mean friction?"],
      [
        ["--by", "hour"],
        64,
        "--by must be one of day, week, month, project, agent, model, session",
        "such as --by day",
      ],
      [["friction", "--by", "week"], 64, "--by is about tokens and cost", ""],
      [["friction", "--blocks"], 64, "--blocks is a table of its own", ""],
      [["--blocks", "--by", "week"], 64, "--blocks is a table of its own", ""],
      [["--blocks", "--html"], 64, "--blocks is a table of its own", ""],
      [["--blocks", "--since", "2026-03-03"], 3, "there is nothing to sum up here", "leave out --since"],
      [["--since", "soon"], 64, "--since needs a date or an age", ""],
      [["--since", "2026-03-03"], 3, "there is nothing to sum up here", "leave out --since"],
    ])("%p", async (words, code, message, hint) => {
      const ran = await stats(words)
      expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" })
      expect(ran.stderr).toContain(message)
      expect(ran.stderr).toContain(hint)
    })

    test("an empty archive", async () => {
      using other = new Inside()
      const ran = await run(["stats"], other)
      expect(ran).toMatchObject({ code: 3, stdout: "" })
      expect(ran.stderr).toContain("ctxbridge import")
    })
  })
})

/** The page of `stats --html`: it loads nothing, runs nothing, and holds the archive's words as text alone. */
describe("stats html", () => {
  interface Seen {
    readonly tags: Set<string>
    readonly attributes: Set<string>
    readonly texts: string[]
  }

  /** As a parser of HTML sees it. */
  async function seen(page: string): Promise<Seen> {
    const tags = new Set<string>()
    const attributes = new Set<string>()
    const texts: string[] = []
    const rewriter = new HTMLRewriter().on("*", {
      element(element) {
        tags.add(element.tagName)
        for (const [name] of element.attributes) attributes.add(name)
        if (["td", "dd", "li", "p"].includes(element.tagName)) texts.push("")
      },
      text({ text }) {
        if (texts.length > 0) texts.push(texts.pop()! + text)
      },
    })
    await rewriter.transform(new Response(page)).text()
    return { tags, attributes, texts }
  }

  test("only harmless tags and attributes, whatever the archive says", async () => {
    const page = statsHtml(madeStats(HOSTILE), {
      project: `/p/${HOSTILE}/.git`,
      today: MADE_TODAY,
      version: "1.2.3",
    })
    const { tags, attributes } = await seen(page)
    expect([...tags].sort()).toEqual(
      `body button dd div dl dt figcaption figure footer h1 h2 head header html input li main meta p path rect script
       section span style svg symbol table tbody td text th thead title tr ul`
        .split(/\s+/)
        .toSorted(),
    )
    // Nothing that acts, and nothing that leads or loads anywhere.
    expect([...attributes].filter((name) => /^on|^(?:src|href|action|formaction|style)$/.test(name))).toEqual(
      [],
    )
    expect(page).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]/)
    expect(page.replace(/<script>.*?<\/script>/s, "")).not.toMatch(/https?:|url\(|@import/)
  })

  test("the policy allows this one style and script, and nothing else", () => {
    const page = statsHtml(madeStats(), { project: undefined, today: MADE_TODAY, version: "1.2.3" })
    const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page)![1]!
    const hashOf = (tag: string): string => {
      const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)![1]!
      return `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`
    }
    expect(policy).toStartWith("default-src 'none'; ")
    expect(policy).toContain(`style-src ${hashOf("style")};`)
    expect(policy).toContain(`script-src ${hashOf("script")};`)
    expect(policy).toEndWith("; base-uri 'none'; form-action 'none'")
    expect(page).toContain("Made by ctxbridge 1.2.3 ")
  })

  test("the same figures as at a terminal", async () => {
    const stats = madeStats()
    const { texts } = await seen(
      statsHtml(stats, { project: undefined, today: MADE_TODAY, version: "1.2.3" }),
    )
    const all = texts.map((text) => text.trim())
    for (const figure of ["41 sessions", "ctx:cd34eg", "2,210", "9%"]) expect(all).toContain(figure)
    for (const figure of [
      ...["1203 turns", "$1,234.50 at list prices", "$310.20 of 9 sessions"],
      ...["842,000,000 read from cache", "local-model (1,200 tokens)"],
    ])
      expect(texts.join("\n")).toContain(figure)
    for (const { key } of stats.rows) expect(texts.join("\n")).toContain(key)
  })
})

/**
 * The screens of `stats`, in terminals of three widths, with colour and without, in a locale with UTF-8 and without:
 * test/golden/stats. `CTXBRIDGE_TEST_GOLDEN=write` writes them anew.
 */
describe("render stats", () => {
  const GOLDEN = join(import.meta.dir, "../../golden/stats")
  const WIDTHS = [60, 80, 120] as const

  const screen = (columns: number, color: boolean, unicode: boolean): StatsScreen => ({
    ...{ columns, unicode, style: createStyle(color), now: MADE_NOW, today: MADE_TODAY },
  })

  test.each([40, 80, 120])("budgets are bars that fit in %i columns", (columns) => {
    const of = { from: "2026-03-14T00:00:00Z", until: "2026-03-14T14:00:00.000Z" }
    const budgets = [
      { ...of, period: "block" as const, unit: "dollars" as const, limit: 20, used: 16.4, share: 0.82 },
      { ...of, period: "day" as const, unit: "tokens" as const, limit: 5e6, used: 61e6, share: 12.2 },
      { ...of, period: "month" as const, unit: "dollars" as const, limit: 1e5, used: 0, share: 0 },
    ]
    const lines = renderStats(
      madeStats(),
      { project: undefined, limit: 1, budgets },
      screen(columns, false, true),
    )
    const at = lines.indexOf("Budgets")
    const bars = lines.slice(at + 1, at + 4)
    for (const line of bars) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
    expect(bars[0]).toMatch(/^block {2}█+░+ {2}82% {2}\$16\.40 of \$20\.00/)
    expect(bars[0]!.includes(" until ")).toBe(columns > 40)
    expect(bars[1]).toMatch(/^day {4}█+ 1220% {2}61\.0M of 5\.0M tokens$/)
    expect(bars[2]).toMatch(/^month {2}░+ {3}0% {2}\$0\.00 of \$100,?000\.00$/)
  })

  const SHOWN = { project: undefined, limit: 5 }

  const whole = (at: StatsScreen, hostile = ""): string[] => {
    const stats = madeStats(hostile)
    const lines = [
      ...[...renderStats(stats, SHOWN, at), "", ...renderFriction(stats.friction, SHOWN, at)],
      ...["", ...renderBlocks(madeBlocks(), { ...SHOWN, limit: 2 }, at)],
    ]
    return at.unicode ? lines : lines.map((line) => inAscii(line, at.columns))
  }

  const LOOKS = WIDTHS.flatMap((columns) =>
    [true, false].flatMap((color) => [true, false].map((unicode) => ({ columns, color, unicode }))),
  )

  describe.each(LOOKS)("$columns columns, colour $color, UTF-8 $unicode", ({ columns, color, unicode }) => {
    const lines = whole(screen(columns, color, unicode))

    test("as it was", () => {
      const file = join(GOLDEN, `${columns}-${color ? "colour" : "plain"}-${unicode ? "utf8" : "c"}.txt`)
      const text = `${lines.join("\n")}\n`
      if (process.env["CTXBRIDGE_TEST_GOLDEN"] === "write") writeFileSync(file, text)
      expect({ file, exists: existsSync(file) }).toEqual({ file, exists: true })
      expect(text).toBe(readFileSync(file, "utf8"))
    })

    test("no line is wider than the terminal, nor has what it cannot show", () => {
      for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
      if (!unicode) expect(lines.join("")).not.toMatch(/[^\0-\x7f]/)
      if (!color) expect(lines.join("")).not.toContain("\x1b")
    })
  })

  test("projects are told by what they are called", () => {
    const [row] = madeStats().rows
    const titles = ["client/app", "server/app", "shop"]
    const rows = titles.map((title) => ({ ...row!, key: `/w/${title}/.git`, title }))
    const lines = renderStats({ ...madeStats(), by: "project", rows }, SHOWN, screen(80, false, true))
    expect(lines.flatMap((line) => /^(\S*(?:app|shop))\s/.exec(line)?.[1] ?? [])).toEqual([...titles])
  })

  test.each(WIDTHS)("nor do ids and titles of sessions, in %d columns", (columns) => {
    const title = `\x1b[31m\n${"Fire the kiln ".repeat(9)}`
    const rows = madeStats().rows.map((row) => ({ ...row, title, key: `\x1b[31m${row.key}` }))
    const lines = renderStats({ ...madeStats(), by: "session", rows }, SHOWN, screen(columns, false, true))
    expect(lines.join("")).not.toMatch(/[\x1b\n]/)
    expect(lines.join("")).toContain("Fire the")
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
  })

  /** Names of models, tools and files, and errors, are anybody's words. */
  test.each(WIDTHS)("in %d columns nothing of the archive steers the terminal", (columns) => {
    const hostile = "\x1b]0;owned\x07\x9b2J\u202e\r\n\x1b[31m\u{e0041}"
    const lines = whole(screen(columns, false, true), hostile)
    expect(lines.join("")).not.toMatch(/[\0-\x1f\x7f-\x9f\u202e\u{e0041}]/u)
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
    expect(lines).toHaveLength(whole(screen(columns, false, true)).length)
  })
})

/** The grid of weeks: which days, and how dark. */
describe("activity grid", () => {
  // A Wednesday.
  const TODAY = "2026-03-04"

  test("from the first week with activity until today", () => {
    const grid = gridOf([{ day: "2026-02-21", turns: 1 }], TODAY, 53, 4)
    expect(grid.map(({ days }) => days[0]!.day)).toEqual(["2026-02-16", "2026-02-23", "2026-03-02"])
    expect(grid.map(({ days }) => days.length)).toEqual([7, 7, 3])
    expect(grid.map(({ month }) => month)).toEqual([undefined, 3, undefined])
  })

  test("as many weeks as fit; the darkest day of those is the darkest shade", () => {
    const days = [
      { day: "2025-01-01", turns: 900 },
      { day: "2026-02-24", turns: 1 },
      { day: "2026-03-03", turns: 5 },
      { day: "2026-03-04", turns: 20 },
    ]
    const grid = gridOf(days, TODAY, 2, 4)
    const shades = new Map(grid.flatMap((week) => week.days.map(({ day, shade }) => [day, shade])))
    expect(shades.size).toBe(10)
    expect(["2026-02-24", "2026-02-25", "2026-03-03", "2026-03-04"].map((day) => shades.get(day))).toEqual([
      1, 0, 1, 4,
    ])
    expect(gridOf(days, TODAY, 99, 4)).toHaveLength(53)
  })

  test("a year's end and a leap day", () => {
    const grid = gridOf([{ day: "2027-12-27", turns: 1 }], "2028-03-01", 53, 4)
    expect(grid.flatMap(({ days }) => days.map(({ day }) => day)).slice(-4)).toEqual([
      ...["2028-02-27", "2028-02-28", "2028-02-29", "2028-03-01"],
    ])
    expect(grid.map(({ month }) => month).filter(Boolean)).toEqual([1, 2, 3])
  })
})

/** What tokens cost at list prices, and which models have none. */
describe("prices", () => {
  const MILLION = 1_000_000
  const none = { input: 0, output: 0, cacheCreation: 0, cacheRead: 0, cacheHour: 0 }

  test("each kind of token has its price", () => {
    const prices = priceList([])
    const cost = (tokens: Partial<typeof none>) =>
      requestCost(prices, "claude-opus-4-5", { ...none, ...tokens })
    expect(cost({ input: MILLION })).toBe(5)
    expect(cost({ output: MILLION })).toBe(25)
    expect(cost({ cacheRead: MILLION })).toBe(0.5)
    expect(cost({ cacheCreation: MILLION })).toBe(6.25)
    expect(cost({ cacheCreation: MILLION, cacheHour: MILLION })).toBe(10)
    expect(cost({ cacheCreation: MILLION, cacheHour: MILLION / 2 })).toBe(8.125)
  })

  test("a long prompt raises the price of all of its request, where a model has such a price", () => {
    const prices = priceList([])
    const cost = (model: string, cacheRead: number) =>
      requestCost(prices, model, { ...none, output: MILLION, cacheRead })
    expect(cost("claude-haiku-5-5", 100_000)).toBeCloseTo(0.501)
    expect(cost("claude-haiku-5-5", 100_001)).toBeCloseTo(2.505)
    expect(cost("claude-haiku-4-5", 150_000)).toBeCloseTo(5.015)
  })

  test("fast mode has prices of its own, which the user's replace; a model without them has none", () => {
    const each = { ...none, input: MILLION, output: MILLION, cacheRead: MILLION, cacheCreation: MILLION }
    const cost = (model: string, own: readonly string[] = []) =>
      requestCost(priceList(own), model, { ...each, fast: 1 })
    expect(cost("claude-opus-4-6")).toBe(30 + 150 + 3 + 37.5)
    expect(cost("anthropic/claude-opus-5[1m]")).toBe(10 + 50 + 1 + 12.5)
    expect(cost("claude-opus-5-5")).toBe(8 + 40 + 0.4 + 10)
    expect(cost("claude-fable-5-2")).toBeCloseTo(16 + 80 + 0.4 + 20)
    expect(cost("claude-opus-5-5", ["claude-opus-5-5 1 1"])).toBe(8 + 40 + 0.4 + 10)
    expect(cost("claude-opus-5-5", ["claude-opus-5-5-fast 1 1 1 1"])).toBe(4)
    expect(cost("claude-haiku-4-5")).toBeUndefined()
    expect(requestCost(priceList([]), "claude-opus-5", { ...each, fast: 0 })).toBe(5 + 25 + 0.5 + 6.25)
  })

  test.each([
    ["claude-opus-4-5-20251101", "claude-opus-4-5"],
    ["us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"],
    ["claude-opus-4-5@20251101", "claude-opus-4-5"],
    ["claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"],
    ["anthropic/claude-sonnet-4-6[1m]", "claude-sonnet-4-6"],
    ["claude-3-5-haiku-latest", "claude-3-5-haiku"],
    ["gpt-oss-120b", "gpt-oss-120b"],
    ["openai/gpt-5.4-2026-03-05", "gpt-5.4"],
    ["us.openai.gpt-6.1-sol", "gpt-6.1-sol"],
    ["codex-mini-latest", "codex-mini"],
  ])("%s is %s", (spelled, key) => {
    expect(priceKey(spelled, false)).toBe(key)
  })

  test("OpenAI's: the cache is free to write up to 5.5, and long prompts cost more", () => {
    const prices = priceList([])
    const cost = (model: string, tokens: Partial<typeof none>) =>
      requestCost(prices, model, { ...none, ...tokens })
    expect(cost("gpt-5.2-codex", { input: 100_000, cacheRead: 100_000, output: 100_000 })).toBeCloseTo(1.5925)
    expect(cost("gpt-5.4", { cacheCreation: 200_000 })).toBeCloseTo(0.5)
    expect(cost("gpt-6.1-sol", { cacheCreation: 200_000 })).toBeCloseTo(0.5)
    expect(cost("gpt-5.4", { input: 272_000, output: MILLION })).toBeCloseTo(15.68)
    expect(cost("gpt-5.4", { input: 272_001, output: MILLION })).toBeCloseTo(23.860005)
    expect(cost("codex-auto-review", { input: 1 })).toBeUndefined()
  })

  describe("a model that is not in the table", () => {
    test("has no price, however much its name is like another's", () => {
      for (const model of ["claude-opus-6", "claude-opus-4-55", "claude-opus", "<synthetic>", ""])
        expect(requestCost(priceList([]), model, { ...none, input: 1 })).toBeUndefined()
    })

    test("has the user's, before ours", () => {
      const prices = priceList(["my-model 1 3", "claude-opus-4-5 2 4 1 7 9"])
      expect(requestCost(prices, "my-model", { ...none, input: MILLION, cacheRead: MILLION })).toBeCloseTo(
        1.1,
      )
      expect(
        requestCost(prices, "claude-opus-4-5-20251101", {
          ...none,
          cacheRead: MILLION,
          cacheCreation: MILLION,
        }),
      ).toBe(8)
    })
  })
})

/** What somebody means to spend, as it is written. */
test.each([
  ["$20", { unit: "dollars", limit: 20 }],
  [" $ 0.50 ", { unit: "dollars", limit: 0.5 }],
  ["5M", { unit: "tokens", limit: 5_000_000 }],
  ["1.5b tokens", { unit: "tokens", limit: 1_500_000_000 }],
  ["20 tokens", { unit: "tokens", limit: 20 }],
  ["0.5k", { unit: "tokens", limit: 500 }],
  ["300000", { unit: "tokens", limit: 300_000 }],
  ["$0", undefined],
  ["", undefined],
])("a budget of %p", (text, budget) => {
  expect(parseBudget(text)).toEqual(budget as ReturnType<typeof parseBudget>)
  expect(resolveOptions({ user: { "budget.day": text } })).toMatchObject({
    config: { "budget.day": text },
    problems: [],
  })
})

test.each(["much", "20$", "$20M", "5 MB", "-1", "1e9", 5, "20", "999", "20.5", 20])(
  "%p is no budget",
  (value) => {
    const { config, problems } = resolveOptions({ user: { "budget.day": value } })
    expect({ value: config["budget.day"], problems: problems.length }).toEqual({ value: "", problems: 1 })
  },
)

test("a project's file sets no budget", () => {
  expect(resolveOptions({ project: { "budget.day": "$1" } }).config["budget.day"]).toBe("")
})

/** Which failed calls are the same error again. */
describe("recurring errors", () => {
  /** Of one session. */
  const recurring = (calls: Parameters<typeof errorSums>[0]) =>
    recurringErrors([Object.fromEntries(errorSums(calls))]).map(({ latest, ...error }) => ({
      ...error,
      message: latest.message,
    }))

  const failed = (error: string, handle: string, result: number, tool = "Bash") => ({
    ...{ tool, error, handle, result },
    time: `2026-03-0${result}T08:00:00Z`,
  })

  test("numbers, ids and folders do not make two errors of one; names do", () => {
    const found = recurring([
      failed("Exit code 1\n/home/a/src/kiln.ts:12:5: error: no heat after 30 ms", "aa", 1),
      failed("Exit code 1\n/srv/b/src/kiln.ts:7:1: error: no heat after 9 ms", "aa", 2),
      failed("Exit code 1\n/srv/b/src/glaze.ts:7:1: error: no heat after 9 ms", "bb", 3),
      failed("fatal: bad object 3f2a9c01be", "bb", 4),
      failed("fatal: bad object 9d00c1aa77", "cc", 5),
      failed("fatal: bad object 12345678ff", "cc", 6),
    ])
    expect(found).toEqual([
      {
        ...{
          error: "fatal: bad object 12345678ff",
          tool: "Bash",
          times: 3,
          turns: 2,
          handle: "ctx:cc",
          message: 6,
        },
        ...{ first: "2026-03-04T08:00:00Z", last: "2026-03-06T08:00:00Z" },
      },
      {
        ...{ error: "/srv/b/src/kiln.ts:7:1: error: no heat after 9 ms", tool: "Bash", times: 2, turns: 1 },
        ...{ handle: "ctx:aa", message: 2, first: "2026-03-01T08:00:00Z", last: "2026-03-02T08:00:00Z" },
      },
    ])
  })

  test("what a human refused is no error", () => {
    const refused = "The user doesn't want to proceed with this tool use."
    expect(recurring([failed(refused, "aa", 1), failed(refused, "bb", 2)])).toEqual([])
  })
})

/** What is summed up, and that nothing is summed up twice. */
describe("figures", () => {
  interface Wanted {
    readonly by?: Period
    readonly project?: string
    readonly since?: string
  }

  const statsOf = (archive: Archive, { by = "day", project, since }: Wanted = {}): Stats =>
    gatherStats(
      archive.db,
      archive.dataHome,
      { project, since, by, prices: priceList([]), most: 10 },
      () => undefined,
    )

  const usage = (output: number, more: Record<string, unknown> = {}) => ({
    input_tokens: 10,
    output_tokens: output,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    ...more,
  })

  /** An answer of the model at a time of its own. */
  function answer(
    transcript: Transcript,
    id: string,
    time: string,
    counts: unknown,
    model = "claude-opus-4-5",
  ): void {
    transcript.block(
      { type: "text", text: `answer ${id}` },
      { timestamp: time },
      { id, model, usage: counts },
    )
  }

  describe("tokens", () => {
    test("of a message that is written on several lines and in several transcripts count once", () => {
      using archive = new Archive()
      const origin = archive.session("s1").user("Begin", { uuid: "u1" })
      answer(origin, "msg_1", "2026-03-02T08:00:00Z", usage(100))
      answer(origin, "msg_1", "2026-03-02T08:00:01Z", usage(100))
      archive.follow(origin.flush())
      // A copy that nothing joins with its origin, made before the answer was whole.
      const copy = archive.session("s2").user("Begin elsewhere")
      answer(copy, "msg_1", "2026-03-02T08:00:00Z", usage(1))
      answer(copy, "msg_2", "2026-03-02T09:00:00Z", usage(5))
      archive.follow(copy.flush())
      expect(statsOf(archive).total).toMatchObject({ requests: 2, tokens: { input: 20, output: 105 } })
    })

    test("belong to the local day on which the answer began, turns to that of their prompt", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("Late", { timestamp: "2026-03-02T23:59:00Z" })
      answer(session, "msg_1", "2026-03-02T23:59:30Z", usage(1))
      answer(session, "msg_2", "2026-03-03T00:00:30Z", usage(2))
      archive.follow(session.flush())
      const { rows, days, hours } = statsOf(archive)
      expect(rows.map(({ key, turns, tokens }) => [key, turns, tokens.output])).toEqual([
        ["2026-03-03", 0, 2],
        ["2026-03-02", 1, 1],
      ])
      expect(days).toEqual([{ day: "2026-03-02", turns: 1 }])
      expect(hours.map((n, hour) => [hour, n]).filter(([, n]) => n! > 0)).toEqual([[23, 1]])
    })

    test("kept for an hour in the cache cost more than those kept for five minutes", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("Begin")
      const cached = (hour: number) =>
        usage(0, {
          input_tokens: 0,
          cache_creation_input_tokens: 1_000_000,
          cache_creation: { ephemeral_5m_input_tokens: 1_000_000 - hour, ephemeral_1h_input_tokens: hour },
        })
      answer(session, "msg_1", "2026-03-02T08:00:00Z", cached(0))
      answer(session, "msg_2", "2026-03-03T08:00:00Z", cached(1_000_000))
      archive.follow(session.flush())
      expect(statsOf(archive).rows.map(({ key, cost }) => [key, cost])).toEqual([
        ["2026-03-03", 10],
        ["2026-03-02", 6.25],
      ])
    })

    test("in fast mode are told apart from the same model's others, and cost what fast mode does", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("Begin")
      const asked = (speed: string) => usage(0, { input_tokens: 1_000_000, speed })
      answer(session, "msg_1", "2026-03-02T08:00:00Z", asked("standard"), "claude-opus-4-8")
      answer(session, "msg_2", "2026-03-02T09:00:00Z", asked("fast"), "claude-opus-4-8")
      archive.follow(session.flush())
      expect(statsOf(archive, { by: "model" }).rows.map(({ key, cost }) => [key, cost])).toEqual([
        ["claude-opus-4-8", 5],
        ["claude-opus-4-8-fast", 10],
      ])
      expect(statsOf(archive).rows.map(({ key, cost }) => [key, cost])).toEqual([["2026-03-02", 15]])
    })

    test("of a budget are those since its day, week, month or block began", () => {
      using archive = new Archive()
      // A Wednesday, long after midnight wherever that is.
      const now = new Date(2026, 2, 18, 23, 30).getTime()
      const hours = (ago: number): string => new Date(now - ago * 3_600_000).toISOString()
      const session = archive.session("s1").user("Begin")
      const million = usage(0, { input_tokens: 1_000_000 })
      for (const [n, ago] of [0.4, 1, 8, 30, 24 * 6, 24 * 16, 24 * 40].entries())
        answer(session, `msg_${n}`, hours(ago), million)
      archive.follow(session.flush())
      const uses = gatherUses(archive.db, priceList([]), now)
      const millions = Object.fromEntries(uses.map(({ period, tokens }) => [period, tokens / 1_000_000]))
      expect(millions).toEqual({ block: 2, day: 3, week: 4, month: 6 })
      expect(uses.map(({ cost }) => cost)).toEqual([10, 15, 20, 30])
      for (const { from, until } of uses) expect([from <= hours(0), hours(0) < until]).toEqual([true, true])
      // Five hours later the block has ended, and the day, too.
      const later = gatherUses(archive.db, priceList([]), now + 6 * 3_600_000)
      expect(later.map(({ period, tokens }) => [period, tokens / 1_000_000])).toEqual([
        ["day", 0],
        ["week", 4],
        ["month", 6],
      ])
    })

    test("of models without a price are counted and named, and cost nothing", () => {
      using archive = new Archive()
      const session = archive.session("s1").user("Begin")
      answer(session, "msg_1", "2026-03-02T08:00:00Z", usage(1_000_000, { input_tokens: 0 }))
      answer(session, "msg_2", "2026-03-02T08:01:00Z", usage(90), "claude-unheard-9-20300101")
      archive.follow(session.flush())
      const { total, unpriced } = statsOf(archive)
      expect(total).toMatchObject({ cost: 25, unpriced: 100, tokens: { output: 1_000_090 } })
      expect(unpriced).toEqual([{ model: "claude-unheard-9", tokens: 100 }])
    })
  })

  describe("a few projects, subagents and a fork", () => {
    /** @param look is called whenever there is more */
    const made = (look: (archive: Archive) => void = () => {}): Archive => {
      const archive = new Archive()
      const follow = (transcript: Pick<Transcript, "path">): void => {
        archive.follow(transcript)
        look(archive)
      }
      const origin = archive
        .session("s1")
        .turn("One", [{ tool: "Bash", input: { command: "ls" }, output: "a" }])
      const lines = origin.text
      follow(origin.flush())
      // The fork copies its origin's lines under its own name.
      const fork = archive.session("s2")
      for (const line of lines.trimEnd().split("\n")) {
        fork.raw(JSON.stringify({ ...JSON.parse(line), sessionId: "s2", forkedFrom: { sessionId: "s1" } }))
      }
      follow(fork.turn("Two").flush())
      follow(
        archive
          .session("agent-c0ffee", { agent: "c0ffee" })
          .user("A brief", { sessionId: "s1" })
          .say("Seen.")
          .flush(),
      )
      follow(archive.session("s3", { cwd: "/elsewhere" }).turn("Three").flush())
      return archive
    }

    test("sums that were kept say the same as those made anew, whatever has come since", () => {
      const all = (archive: Archive): Stats[] => PERIODS.map((by) => statsOf(archive, { by }))
      let looks = 0
      const look = (archive: Archive): void => {
        const kept = all(archive)
        expect(existsSync(keptFile(archive.dataHome, "sums"))).toBe(true)
        removePages(archive.dataHome)
        expect(kept).toEqual(all(archive))
        looks++
      }
      using archive = made(look)
      // Two sessions that hold the same message, and nobody says why: the fuller one counts.
      const counts = (id: string): number[] => {
        const { rows } = statsOf(archive, { by: "session" })
        return rows.flatMap(({ key, tokens }) => (key === id ? [tokens.output] : []))
      }
      for (const [id, output] of [
        ["s4", 5],
        ["s5", 900],
        ["s6", 70],
      ] as const) {
        const session = archive.session(id).user(`Begin ${id}`)
        answer(session, "msg_shared", "2026-03-02T08:00:00Z", usage(output))
        archive.follow(session.flush())
        look(archive)
      }
      expect([counts("s4"), counts("s5"), counts("s6")]).toEqual([[0], [900], [0]])
      expect(looks).toBe(7)
    })

    test("every way of parting them has the same total", () => {
      using archive = made()
      const { total, turns } = statsOf(archive)
      for (const by of PERIODS) {
        const { rows } = statsOf(archive, { by })
        const sum = (of: (row: (typeof rows)[number]) => number): number =>
          rows.reduce((n, row) => n + of(row), 0)
        expect([by, sum(({ requests }) => requests)]).toEqual([by, total.requests])
        expect([by, sum(({ tokens }) => tokens.cacheRead)]).toEqual([by, total.tokens.cacheRead])
        expect(sum(({ cost }) => cost)).toBeCloseTo(total.cost)
        expect([by, sum((row) => row.turns ?? 0)]).toEqual([by, by === "model" ? 0 : turns])
      }
    })

    test("a project's tokens are those that `status` tells", () => {
      using archive = made()
      const paths = archive.db.query<{ path: string }, []>("SELECT path FROM projects ORDER BY path").all()
      expect(paths).toHaveLength(2)
      for (const { path } of paths)
        expect(statsOf(archive, { project: path }).total.tokens).toEqual(
          useOfProject(archive.db, path).tokens,
        )
      expect(statsOf(archive, { project: "/nowhere" })).toMatchObject({ sessions: 0, turns: 0, rows: [] })
    })

    test("`since` leaves out what was before", () => {
      using archive = made()
      const { rows } = statsOf(archive)
      expect(rows.map(({ key }) => key)).toEqual(["2026-03-02"])
      expect(statsOf(archive, { since: "2026-03-03T00:00:00.000Z" })).toMatchObject({
        sessions: 0,
        turns: 0,
        rows: [],
      })
      expect(statsOf(archive, { since: "2026-03-02T00:00:00.000Z" }).rows).toEqual(rows)
    })
  })

  test("what Claude Code itself says of cost stands beside our own reckoning of the same sessions", () => {
    using archive = new Archive()
    const told = archive.session("s1", { version: "2.1.329" }).user("Begin")
    answer(told, "msg_1", "2026-03-02T08:00:00Z", usage(1_000_000, { input_tokens: 0 }))
    told.raw(JSON.stringify({ type: "cost-state", sessionId: "s1", startTime: 1, totalCostUSD: 24.5 }))
    archive.follow(told.flush())
    const silent = archive.session("s2").user("Begin")
    answer(silent, "msg_2", "2026-03-02T08:00:00Z", usage(1_000_000, { input_tokens: 0 }))
    archive.follow(silent.flush())
    const stats = statsOf(archive)
    expect(stats.total.cost).toBe(50)
    expect(stats.told).toEqual({ cost: 24.5, sessions: 1, estimated: 25 })
    expect(statsOf(archive, { since: "2026-03-01" }).told).toBeNull()
  })

  test("friction: errors that recur and whether they were solved, tools that fail, files edited again", () => {
    using archive = new Archive()
    const fails = {
      tool: "Bash",
      input: { command: "make" },
      output: "Exit code 2\nmake: *** [all] Error 2",
      isError: true,
    }
    const edit = {
      tool: "Edit",
      input: { file_path: "/p/a.ts", old_string: "1", new_string: "2" },
      output: "ok",
    }
    const session = archive.session("s1")
    session.turn("Build", [fails, edit, fails])
    session.turn("Again", [edit, { ...fails, output: "built", isError: false }])
    archive.follow(session.flush())
    const { friction } = statsOf(archive)
    expect(friction.errors).toMatchObject([
      { error: "make: *** [all] Error 2", times: 2, turns: 1, tool: "Bash" },
    ])
    expect(friction.errors[0]!.solvedIn).toMatch(/^ctx:/)
    expect(friction.errors[0]!.solvedIn).not.toBe(friction.errors[0]!.handle)
    expect(friction.tools).toEqual([
      { name: "Bash", calls: 3, failed: 2 },
      { name: "Edit", calls: 2, failed: 0 },
    ])
    expect(friction.files).toMatchObject([{ path: "/p/a.ts", edits: 2, turns: 2, failed: 0 }])
    expect(friction.failuresByHour[8]).toBe(2)
  })
})
