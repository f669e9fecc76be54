import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import fc from "fast-check"
import { renderTable } from "../../../src/cli/block.ts"
import { turnMarkdown } from "../../../src/cli/commands/export.ts"
import { renderPruneReport, renderRecommendation } from "../../../src/cli/commands/prune.ts"
import { renderTurn } from "../../../src/cli/commands/show.ts"
import { type AnyHit, renderScreen, shownSnippet } from "../../../src/cli/render-hits.ts"
import { renderReceipt } from "../../../src/cli/render-receipts.ts"
import { renderContext } from "../../../src/cli/render-status.ts"
import { documentFormatter } from "../../../src/cli/row-format.ts"
import { ageOf, ago, dated, period } from "../../../src/cli/screen.ts"
import { createStyle, fit, safe, safeJson } from "../../../src/cli/style.ts"
import type { HitLines } from "../../../src/find/hit.ts"
import { type PlayedWays, settingsOn, wayVerdicts } from "../../../src/prune/savings.ts"
import type { WayState } from "../../../src/prune/way.ts"
import { type ClientWays, type PruneReport, pickWay } from "../../../src/prune/ways.ts"
import type { Part } from "../../../src/record/types.ts"
import { HELD_KINDS, type Receipt } from "../../../src/restore/receipt.ts"
import type { ContextReport } from "../../../src/restore/window/context-report.ts"
import { inputText } from "../../../src/views/part-text.ts"
import type { WholeTurn } from "../../../src/views/turn.ts"

describe("render context", () => {
  const KINDS = [
    ["system, tools and memory", 61.8],
    ["Read", 11.3],
    ["Bash", 8.5],
    ["Grep", 5.6],
    ["Edit", 5.3],
    ["answers", 4.2],
    ["Write", 3.3],
  ] as const
  const FILES = [
    ["(no file)", 81.8],
    [`/srv/${"kiln/".repeat(20)}oven/temperature.ts`, 11.3],
    ["/srv/kiln/door/hinge.ts", 6.9],
  ] as const

  const fillings = (all: readonly (readonly [string, number])[]) =>
    all.map(([name, percent]) => ({ name, percent, tokens: percent * 200 }))

  const context: ContextReport = {
    session: "s1",
    model: null,
    tokens: 20_000,
    window: 200_000,
    share: 0.1,
    compactsAt: 167_000,
    compacts: "automatic",
    learnt: false,
    pressure: 0.12,
    zone: "ok",
    estimated: false,
    turns: 2,
    compactions: 0,
    trend: null,
    runway: null,
    fill: { kinds: fillings(KINDS), files: fillings(FILES) },
  }

  const filled = (columns: number): string[] =>
    renderContext(context, { columns, style: createStyle(false), now: 0 }).filter((line) =>
      /^f(?:illed by|iles) /.test(line),
    )

  test("what is shown of the window sums to 100 %, however narrow the terminal", () => {
    for (let columns = 60; columns <= 200; columns++) {
      for (const line of filled(columns)) {
        expect(line.length).toBeLessThanOrEqual(columns)
        const shares = [...line.matchAll(/ ([\d.]+)%/g)].map(([, share]) => Number(share))
        expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100)
      }
    }
    expect(filled(80)).toEqual([
      "filled by    system, tools and memory 61.8%, Read 11.3%, others 26.9%",
      "files        (no file) 81.8%, …iln/oven/temperature.ts 11.3%, others 6.9%",
    ])
  })

  test("where the host compacts, if it does so by itself", () => {
    const told = (more: Partial<ContextReport>): string[] =>
      renderContext({ ...context, ...more }, { columns: 100, style: createStyle(false), now: 0 }).slice(1, 3)
    expect(told({})[0]).toStartWith("compacts at  167.0K tokens, by Claude Code's formula")
    expect(told({ compacts: "manual", compactsAt: 177_000 })).toEqual([
      "compacts   only on /compact: automatic compaction is switched off",
      "full at    177.0K tokens; 12.0% of that is used",
    ])
    expect(told({ compacts: "never" })[0]).toBe("compacts   never: DISABLE_COMPACT is set")
  })
})

/** What people read of ways of pruning. */
describe("render prune", () => {
  const screen = { columns: 80, style: createStyle(false), now: 0 }

  const client = (...ways: WayState[]): ClientWays => ({
    path: "/usr/local/bin/claude",
    file: "/opt/claude",
    kind: "native",
    version: "2.1.330",
    ways,
  })

  const NATIVE: WayState = { way: "native", isActive: false }
  const PATCH: WayState = { way: "patch", isActive: false, unsupported: "it is no script" }

  const spent = (relative: number, broken = 0) => ({
    requests: 100,
    compactions: 0,
    sent: 5_000_000 * relative,
    largest: 90_000,
    prefixChanges: 3,
    dollars: 10 * relative,
    broken,
    relative,
  })

  /** Whose price the proxy would have made so much of; `native` costs as much at best, and twice as much at worst. */
  const session = (share: number, tokens = 90_000): PlayedWays => ({
    session: "s",
    title: "One",
    tokens,
    none: spent(1),
    ways: { native: [spent(1), spent(2, 4)], plugin: [spent(1)], proxy: [spent(share)], patch: [spent(1)] },
    others: [spent(0.75)],
  })

  const OTHER = {
    setting: "prune.keep 1",
    options: { keep: 1, threshold: 0, step: 0, maxChars: 0, results: true },
  }

  const report = (sessions: readonly PlayedWays[] = [], more: Partial<PruneReport> = {}): PruneReport => ({
    isArchiving: true,
    clients: [client(NATIVE, PATCH)],
    sessions,
    verdicts: wayVerdicts(sessions),
    settings: settingsOn(sessions, { rule: OTHER.options, proxy: OTHER.options, others: [OTHER] }),
    ...more,
  })

  const shown = (one: PruneReport): string => renderPruneReport(one, screen).join("\n")

  describe("status", () => {
    test("says of each way whether it is on, off or impossible, and why", () => {
      const problem = { ...NATIVE, isActive: true, detail: "set here", problem: "but broken" }
      const text = shown(report([], { clients: [client(problem, PATCH)] }))
      expect(text).toContain("Claude Code 2.1.330 (native), /usr/local/bin/claude")
      expect(text).toMatch(/^ {2}native {2}on: set here; but broken$/m)
      expect(text).toMatch(/^ {2}patch {3}not here: it is no script$/m)
    })

    test("shows what each way would have sent and cost, beside doing nothing, and what follows", () => {
      const lines = shown(report([session(0.5), session(0.9)])).split("\n")
      const cells = (way: string): string[] => lines.find((line) => line.startsWith(way))!.split(/ {2,}/)
      expect(cells("none")).toEqual(["none", "10.00M", "$20.00"])
      expect(cells("native, worst")).toEqual(["native, worst", "20.00M", "$40.00", "$8.00", "200%", "200%"])
      expect(cells("proxy")).toEqual(["proxy", "7.00M", "$14.00", "$0.00", "70%", "90%"])
      expect(lines).toContain("Would have paid: proxy.")
    })

    /** Wherever the terminal breaks its lines. */
    const unbroken = (one: PruneReport): string => shown(one).replace(/\n +|\n/g, " ")

    test("says that doing nothing is best where it is, and what would change that", () => {
      const text = unbroken(report([session(1), session(1)]))
      expect(text).toContain("Doing nothing is best: no way made the median session cheaper and none dearer.")
      expect(text).toContain(
        "What would change that: with `ctxbridge config set prune.keep 1`, proxy would have paid (75% in the median).",
      )
      const long = [session(0.8, 300_000), session(0.7, 200_000), session(1), session(1), session(1)]
      expect(unbroken(report(long, { settings: [] }))).toContain(
        "What would change that: proxy made each session of 200.0K tokens and more cheaper.",
      )
      expect(unbroken(report([session(1)], { settings: [] }))).toContain(
        "no setting that was tried would have paid",
      )
    })

    test("says what is missing", () => {
      expect(unbroken(report([], { clients: [] }))).toContain("Claude Code was not found")
      expect(unbroken(report())).toContain("No session of at least 50.0K tokens is archived yet")
      expect(unbroken(report([], { isArchiving: false }))).toContain("Run `ctxbridge install` first")
    })
  })

  describe("a recommendation", () => {
    const PROXY: WayState = { way: "proxy", isActive: false }
    const told = (one: ClientWays, sessions: readonly PlayedWays[] = []): string => {
      const all = report(sessions)
      return renderRecommendation(all, one, pickWay(one, all.verdicts)).join("\n")
    }

    test("has what it would have saved, a command to start it, and how to undo it", () => {
      const text = told(client(NATIVE, PROXY), [session(0.5), session(0.9)])
      expect(text).toContain("2 of 2 sessions would have been cheaper: 70% in the median, 90% at most.")
      // Of 100 requests each, as many again, and a ninth of them.
      expect(text).toContain("The saving is worth 55 requests in the median session.")
      expect(text).toContain("Not native, which would be safer: it would not have paid.")
      expect(text).toContain(
        "Start it with `ctxbridge proxy -- claude`. To undo it, end it, and Claude Code with it.",
      )
      expect(told(client({ ...PROXY, isActive: true }), [session(0.5)])).toContain("It is on.")
    })

    test("is to do nothing where nothing pays, and to undo what is on", () => {
      const text = told(client({ ...NATIVE, isActive: true }, PROXY), [session(1)])
      expect(text).toContain(
        "Do nothing: no way that works here made the median session cheaper and none dearer.",
      )
      expect(text).toContain("native: 0 cheaper, 1 dearer, 200% at most.")
      expect(text).toContain("native is on. Undo it with `ctxbridge prune native --revert`.")
      expect(text).toContain("prune.keep 1")
      expect(text).not.toContain("Start it")
      expect(told(client(NATIVE), [session(1)])).not.toContain("prune.keep 1")
    })

    test("cannot be told without sessions, or where no way works", () => {
      expect(told(client(NATIVE))).toContain("Whether any way would pay cannot be told, so do nothing.")
      expect(told(client(PATCH))).toContain("None of them works.")
    })
  })
})

/** A turn as `show` prints it. */
describe("render turn", () => {
  const LINES = 1_000_000
  const WORTH = { confidence: null, importance: null, uses: 0, cold: false }
  const LOOK = {
    screen: { columns: 60, style: createStyle(false), now: 0 },
    ...{ color: false, links: false, isLaidOut: false, isFolded: true },
    showPath: (path: string, room = 100) => (path.length <= room ? path : `…${path.slice(1 - room)}`),
  }
  const turnOf = (parts: readonly unknown[], tools: readonly unknown[] = []): WholeTurn =>
    ({
      ...{ handle: "ctx:aaaaaa", session: "5e551011", seq: 1, via: "typed", started: null, ended: null },
      ...{ errors: 0, interrupted: false, takenBack: false, tools, usage: [], files: [], prompt: "Go" },
      messages: [{ role: "tool", time: null, sidechain: false, parts }],
    }) as unknown as WholeTurn
  const use = (id: string, name: string, input: unknown) => ({
    kind: "toolUse",
    id,
    name,
    input,
    origin: "assistant",
  })
  const result = (id: string, text: string, isError = false) => ({
    ...{ kind: "toolResult", id, text, isError, origin: "tool" },
  })

  test("a result of a million lines is shown, each of them", () => {
    const lines = renderTurn(turnOf([result("toolu_1", "x\n".repeat(LINES))]), WORTH, LOOK)
    expect(lines.filter((line) => line === "x")).toHaveLength(LINES)
  })

  const CALLS = turnOf(
    [
      { kind: "prompt", via: "typed", text: "Mend it", origin: "human" },
      use("1", "Bash", { command: "npm test" }),
      result("1", "Exit code 3\n\u001b[31mTypeError: stripes\n  at zebra", true),
      use("2", "Read", { file_path: "/src/zebra.ts" }),
      result("2", "1\n2\n3"),
      use("3", "Edit", { file_path: "/src/zebra.ts", old_string: "a\nold", new_string: "a\nnew" }),
      result("3", "done"),
      use("4", "Bash", { command: `echo ${"long ".repeat(40)}` }),
      result("9", "of a call in another turn"),
    ],
    [
      { id: "1", name: "Bash", target: "npm test", isError: true, exitCode: 3 },
      { id: "4", name: "Bash", target: `echo ${"long ".repeat(40)}`, isError: null, exitCode: null },
    ],
  )

  test("at a terminal a call is a line with its end; below it, why it failed or what it changed", () => {
    const lines = renderTurn(CALLS, WORTH, { ...LOOK, isLaidOut: true })
    expect(lines.slice(lines.indexOf("Mend it"))).toEqual([
      ...["Mend it", ""],
      ...["✗ Bash  npm test  exit 3", "  TypeError: stripes"],
      "✓ Read  /src/zebra.ts  3 lines",
      ...["✓ Edit  /src/zebra.ts  +1 −1", "    a", "  - old", "  + new"],
      "· Bash  echo long long long long long long long…  no answer",
      ...["", "── result of tool ──", "of a call in another turn", ""],
      "… all that the calls returned: ctxbridge show ctx:aaaaaa",
      "--full",
    ])
  })

  test("with --full all that went in and came out is there, as it is for programs", () => {
    for (const look of [
      { isLaidOut: true, isFolded: false },
      { isLaidOut: false, isFolded: true },
    ]) {
      const text = renderTurn(CALLS, WORTH, { ...LOOK, ...look }).join("\n")
      expect(text).toContain(
        "── result of Bash (error, exit 3) ──\nExit code 3\nTypeError: stripes\n  at zebra\n",
      )
      expect(text).toContain("\n1\n2\n3\n")
      expect(text).not.toMatch(/[✓✗]|--full/)
    }
  })
})

describe("table", () => {
  const plain = createStyle(false)

  describe("renderTable", () => {
    const head = [
      { title: "id" },
      { title: "size", align: "right", optional: true },
      { title: "text", flexible: true },
    ] as const
    const rows = [
      ["a", "1", "short"],
      ["bb", "22", "漢字 are two columns wide, and this line is long"],
    ]

    test.each([60, 40, 24])("no line is wider than %d columns", (columns) => {
      for (const line of renderTable(head, rows, columns, plain)) {
        expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
      }
    })

    test("numbers stand right, optional columns go first", () => {
      expect(renderTable(head, rows, 60, plain)[1]).toBe("a      1  short")
      expect(renderTable(head, rows, 26, plain)[0]).toBe("id  text")
      expect(renderTable(head, [], 60, plain)).toHaveLength(1)
    })
  })

  describe("what may stand below the rest of its row", () => {
    const head = [
      { title: "id" },
      { title: "project", below: true },
      { title: "tokens", align: "right", optional: true },
      { title: "title", flexible: true, below: true },
    ] as const
    const rows = [
      ["a", "shop", "1.2K", "Why does the upload of avatars time out?"],
      ["bb", "", "17.0K", "hm"],
    ]

    test("does so as soon as something else would be left out", () => {
      expect(renderTable(head, rows, 70, plain)).toEqual([
        "id  project  tokens  title",
        "a   shop       1.2K  Why does the upload of avatars time out?",
        "bb            17.0K  hm",
      ])
      expect(renderTable(head, rows, 41, plain)).toHaveLength(3)
      expect(renderTable(head, rows, 40, plain)).toEqual([
        "id  tokens",
        "  project · title",
        "a     1.2K",
        "  shop · Why does the upload of avatars…",
        "bb   17.0K",
        "  hm",
      ])
    })

    test("no line is wider than the terminal", () => {
      for (const columns of [80, 40, 20])
        for (const line of renderTable(head, rows, columns, plain))
          expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
    })

    test("short titles need no line of their own", () => {
      const short = rows.map(([id, project, tokens]) => [id!, project!, tokens!, "hm"])
      expect(renderTable(head, short, 28, plain)).toHaveLength(3)
    })
  })

  describe("text from the archive", () => {
    test("cannot steer the terminal", () => {
      expect(safe("a\x1b[31mb\x1b[0m\x1b]0;title\x07c\x85d\r\ne\tf\u202eg\0")).toBe(
        "abc\ufffdd\ne\tf\ufffdg\ufffd",
      )
      expect(safe("50%\rdone")).toBe("50%\ufffddone")
    })

    test("fits into a number of columns", () => {
      expect(fit("one\n two", 20)).toBe("one two")
      expect(fit("漢字漢字", 5)).toBe("漢字…")
      expect(fit("👩‍👩‍👧‍👦 family", 4)).toBe("👩‍👩‍👧‍👦…")
      expect(fit("abc", 0)).toBe("")
    })
  })
})

/** What is printed at a terminal, or for programs, from words that anyone may have written. */
describe("style", () => {
  /** Reorders a line: left-to-right and right-to-left marks, embeddings, overrides, isolates. */
  const REORDERING = [
    0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
  ]
  /** Shows nothing: zero-width space, word joiner, byte order mark, fillers, tags, annotations. */
  const UNSEEN = [
    0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x2060, 0x2064, 0x3164, 0xfeff, 0xfffa, 0xe0001, 0xe0041, 0xe007f,
  ]
  const CONTROLS = [0, 7, 8, 0x0b, 0x0d, 0x1b, 0x7f, 0x80, 0x9b, 0x9d]

  const shown = (code: number): string => String.fromCodePoint(code)

  describe("at a terminal", () => {
    test.each(REORDERING)("what reorders a line is seen: %d", (code) => {
      expect(safe(`a${shown(code)}b`)).toBe("a\ufffdb")
    })

    test.each(UNSEEN)("what is not seen is not there: %d", (code) => {
      expect(safe(`a${shown(code)}b`)).toBe("ab")
      expect(fit(`a${shown(code)}b`, 10)).toBe("ab")
    })

    test.each(CONTROLS)("nothing controls it: %d", (code) => {
      expect(safe(`a${shown(code)} b`)).not.toContain(shown(code))
    })

    test("joiners and selectors stay where letters need them, and only there", () => {
      for (const text of ["👩‍💻 ❤️", "می‌خواهم", "größer\tthan\nbefore"]) expect(safe(text)).toBe(text)
      expect(safe("pass\u200dword\u200c, a\ufe0f\u{e0101}b")).toBe("password, ab")
    })
  })

  test("in JSON all of them are escaped, and the text is the same", () => {
    const text = [...REORDERING, ...UNSEEN, ...CONTROLS, 0x200d, 0xfe0f]
      .map((code) => `x${shown(code)}`)
      .join("")
    const json = safeJson({ text: `${text}🛡️ größer` })
    expect(json).toMatch(/^[ -~ößÿ-\u{1ffff}]*$/u)
    for (const code of [...REORDERING, ...UNSEEN]) expect(json).not.toContain(shown(code))
    expect(JSON.parse(json)).toEqual({ text: `${text}🛡️ größer` })
  })
})

/** How a terminal shows what was found. */
describe("shown snippet", () => {
  const hit = (
    snippet: string,
    found: string,
    tool: string | null = "Edit",
    project: string | null = "/p/app",
  ) => {
    const at = snippet.lastIndexOf(found)
    return { snippet, marks: [[at, at + found.length] as const], tool, project }
  }

  /** With what was found in brackets. */
  function shown(given: ReturnType<typeof hit>): string {
    const { text, marks } = shownSnippet(given)
    return marks.reduceRight(
      (done, [from, to]) => `${done.slice(0, from)}[${done.slice(from, to)}]${done.slice(to)}`,
      text,
    )
  }

  test.each([
    [
      "a call's file, from its project on",
      hit("Edit: /p/app/src/dates.ts | a", "dates"),
      "Edit: src/[dates].ts | a",
    ],
    ["of another project, whole", hit("Edit: /p/apple/dates.ts", "dates"), "Edit: /p/apple/[dates].ts"],
    [
      "what was found in the project's name, too",
      hit("Edit: /p/app/dates.ts", "app"),
      "Edit: /p/[app]/dates.ts",
    ],
    ["a command, as it was run", hit("Bash: /p/app/run dates", "dates", "Bash"), "Bash: /p/app/run [dates]"],
    ["words", hit("/p/app/dates.ts is wrong", "wrong", null), "/p/app/dates.ts is [wrong]"],
    ["without a project", hit("Read: /p/app/dates.ts", "dates", "Read", null), "Read: /p/app/[dates].ts"],
  ])("%s", (_, given, expected) => {
    expect(shown(given)).toBe(expected)
  })
})

/** What a search prints, on one screen. */
describe("render screen", () => {
  const hitOf = (n: number): AnyHit => ({
    ...{
      handle: `ctx:aaaaa${n}`,
      session: "5e551011",
      seq: n,
      uuid: null,
      project: "/p/app",
      role: "assistant",
    },
    ...{ time: "2026-03-02T08:00:00Z", tool: null, score: 1, why: [], snippet: "", marks: [], also: [] },
    ...{ prompt: null, answer: null, title: "語言 of the 🛡️ session, שלום, with a title that is rather long" },
  })
  const lineOf = (text: string, found: string, more: object = {}): HitLines["lines"][number] => {
    const at = text.indexOf(found)
    const marks = at < 0 || found === "" ? [] : [[at, at + found.length] as const]
    return { text, marks, part: 0, isProse: true, at: 0, end: text.length, ...more }
  }
  const shown = (
    all: readonly HitLines[],
    columns: number,
    more: Partial<Parameters<typeof renderScreen>[0]> = {},
  ) =>
    renderScreen(
      {
        ...{ hits: all.map((_, n) => hitOf(n)), observations: [], above: [], below: [], nameOf: undefined },
        linesOf: ({ handle }) => all[Number(handle!.slice(-1))]!,
        ...more,
      },
      { columns, style: createStyle(false), now: Date.parse("2026-03-02T12:00:00Z") },
    )
  const hits = (count: number, ...lines: HitLines["lines"]): HitLines[] =>
    Array.from({ length: count }, () => ({ file: undefined, lines }))

  test("ten hits: a headline and a line each, the best one more, and what is said around them", () => {
    const long = lineOf(`${"so it was ".repeat(40)}`, "")
    const more = { above: ["No hit has most of the words."], below: ["More with --limit 30."] }
    const lines = shown(hits(10, long), 80, more)
    expect(lines).toHaveLength(23)
    expect(lines[0]).toBe("No hit has most of the words.")
    expect(lines.at(-1)).toBe("More with --limit 30.")
    expect(lines.filter((line) => line.startsWith("ctx:"))).toHaveLength(10)
    const rows = lines.map((line) => (line.startsWith("ctx:") ? "head" : "said"))
    expect(rows.slice(1, 7)).toEqual(["head", "said", "said", "head", "said", "head"])
  })

  test("a line is cut outside of what was found and of the reason", () => {
    const text = `It rained all day and nobody came. ${"Nothing else. ".repeat(4)}We fired the kiln twice because the glaze was dull, and went home. ${"Later more. ".repeat(9)}`
    const line = shown(hits(10, lineOf(text, "kiln")), 80).at(-1)
    expect(line!.length).toBeLessThanOrEqual(80)
    expect(line).toMatch(/^ {2}….*kiln twice because the glaze was dull.*…$/)
  })

  test("of a change each line stands by itself, prose goes on in the same row", () => {
    const change = [
      lineOf("- const a = 1", "", { isProse: false, at: 0, end: 14 }),
      lineOf("+ const a = 2", "", { isProse: false, at: 14, end: 28 }),
      lineOf("Done.", "", { part: 2, at: 0, end: 5 }),
      lineOf("It is two.", "", { part: 2, at: 5, end: 16 }),
    ]
    const [head, ...lines] = shown([{ file: "/p/app/src/a.ts", lines: change }], 80)
    expect(head).toEndWith(" · 4 h ago · Claude src/a.ts")
    expect(lines).toEqual(["  - const a = 1", "  + const a = 2", "  answer: Done. It is two."])
  })

  test("a verdict comes first after the time, and that files changed since last, at any width", () => {
    const label = {
      ...{ tags: ["release"], pinned: true, verdict: "rejected", by: null, note: "too slow on ARM" },
      ...{ judged: null, byUser: true },
    } as const
    const hit = { ...hitOf(0), label, changedSince: { files: 5, changed: 3 } } as AnyHit
    const head = (columns: number): string =>
      shown([{ file: "/p/app/src/a.ts", lines: [lineOf("It is two.", "")] }], columns, { hits: [hit] })[0]!
    const all = "4 h ago · rejected: too slow on ARM · pinned · #release · Claude src/a.ts"
    expect(head(160)).toEndWith(` · ${all} · 3 of its 5 files changed since`)
    for (const columns of [72, 80, 120]) {
      expect(head(columns)).toContain(" · 4 h ago · rejected: too slow on ARM")
      expect(Bun.stringWidth(head(columns))).toBeLessThanOrEqual(columns)
    }
  })

  test("in 40 columns the time is whole, and what follows is whole or left out", () => {
    const [head] = shown(hits(1, lineOf("It is two.", "")), 40, { nameOf: () => "client/app" })
    expect(head).toMatch(/^ctx:aaaaa0 {2}語言 of the .*… · 4 h ago$/u)
    const wide = shown(hits(1, lineOf("It is two.", "")), 60, { nameOf: () => "client/app" })[0]
    expect(wide).toEndWith(" · 4 h ago · Claude · client/app")
  })

  test("few hits get more rows, with a gap between them", () => {
    const lines = shown(
      hits(
        3,
        ...Array.from({ length: 9 }, (_, n) => lineOf(`line ${n}`, "", { isProse: false, at: n, end: n })),
      ),
      80,
    )
    expect(lines.filter((line) => line === "")).toHaveLength(2)
    expect(lines).toHaveLength(23)
  })

  const PATHS_ALONE = Array.from({ length: 7 }, () => [
    { words: ["/a-folder".repeat(9), "é"], part: 3, isProse: false },
  ])

  test("for any hits at any terminal: no more rows than the screen has, none wider, and no half of a character", () => {
    const word = fc.constantFrom(
      "kiln",
      "because it was dull",
      "語言",
      "👩‍👩‍👧‍👦",
      "שלום",
      "x".repeat(70),
      "/a-folder".repeat(9),
      "a.",
      "e\u0301",
      "\u202e\u0007",
      "…",
    )
    const line = fc.record({
      words: fc.array(word, { minLength: 1, maxLength: 30 }),
      part: fc.integer({ min: 0, max: 4 }),
      isProse: fc.boolean(),
    })
    const hit = fc.array(line, { maxLength: 6 })
    const all = fc.array(hit, { minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(all, fc.integer({ min: 30, max: 160 }), fc.boolean(), (some, columns, isMore) => {
        const told = some.map((lines) => ({
          file: undefined,
          lines: lines.map(({ words, ...fields }, n) =>
            lineOf(words.join(" "), "kiln", { ...fields, at: n, end: n }),
          ),
        }))
        const below = isMore ? ["More with --limit 30."] : []
        const rows = shown(told, columns, { below })
        expect(shown(told, columns, { below })).toEqual(rows)
        expect(rows.length).toBeLessThanOrEqual(23)
        for (const row of rows) {
          expect(Bun.stringWidth(row)).toBeLessThanOrEqual(columns)
          expect(row.isWellFormed()).toBe(true)
          expect(row).not.toMatch(/[\u202e\u0007]/)
        }
        for (const [n, lines] of some.entries()) {
          const at = rows.findIndex((row) => row.startsWith(`ctx:aaaaa${n}`))
          expect(at).toBeGreaterThanOrEqual(0)
          if (lines.length > 0) expect(rows[at + 1]).toStartWith("  ")
        }
      }),
      // A path ends its row early, and the only line of a hit has one row.
      { examples: [[PATHS_ALONE, 32, true]] },
    )
  })
})

/** `--format`: rows for scripts. */
describe("row format", () => {
  const ROWS = { list: "found", columns: ["name", "turns"], others: ["tokens", "takenBack"] }
  const document = {
    found: [
      { name: "a\tb\nc\\d\u001b[2J\u202e", turns: 3, tokens: { input: 5 } },
      { name: null, turns: 0, tokens: null },
    ],
  }

  const printed = (format: string): string[] => documentFormatter(format, ROWS)(document)

  test("tsv: the columns, without a head, each row on a line", () => {
    expect(printed("tsv")).toEqual(["a\\tb\\nc\\\\d\\u001b[2J\\u202e\t3", "\t0"])
  })

  test("a template: fields and their parts, tabs and line breaks", () => {
    expect(printed("{turns}:{tokens.input}\\t{takenBack}|{tokens}\\n")).toEqual([
      '3:5\t|{"input":5}\n',
      "0:\t|\n",
    ])
  })

  test.each([
    ["{nam}", "there is no field {nam}", "did you mean {name}? fields: name, turns, tokens, takenBack"],
    ["{constructor}", "there is no field {constructor}", "fields: name, turns, tokens, takenBack"],
    ["csv", '--format names no field: "csv"', "tsv, or '{name}'; fields: name, turns, tokens, takenBack"],
  ])("%s is refused", (format, message, hint) => {
    expect(() => printed(format)).toThrow(expect.objectContaining({ message, hint, exit: 64 }))
  })
})

/** What output asks the terminal for. */
describe("output", () => {
  const PROGRAM = `
const asked = []
for (const name of ["stdout", "stderr"]) Object.defineProperty(process, name, { get: () => void asked.push(name) })
const { createOutput } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/cli/output.ts"))})
const out = createOutput({ json: false, color: () => false })
out.print("done")
out.progress("working", 1, 2)
out.flush()
out.print(JSON.stringify(asked))
out.flush()
`

  /** Every command that writes for people asked Node's stream for stderr whether it is a terminal: 3 ms, a fifth of a search. */
  test("who is told nothing on stderr is not asked for", () => {
    const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM])
    expect({ stdout: stdout.toString(), stderr: stderr.toString(), exitCode }).toEqual({
      stdout: "done\n[]\n",
      stderr: "",
      exitCode: 0,
    })
  })
})

describe("when", () => {
  const now = Date.parse("2026-03-10T12:00:00Z")

  test.each([
    ["2026-03-10T11:59:30Z", "just now"],
    ["2026-03-10T11:55:00Z", "5 min ago"],
    ["2026-03-10T06:59:00Z", "5 h ago"],
    ["2026-03-10T00:00:00Z", "12 h ago"],
    ["2026-03-09T23:59:00Z", "yesterday 23:59"],
    ["2026-03-08T23:59:00Z", "2 days ago"],
    ["2026-03-04T00:00:00Z", "6 days ago"],
    ["2026-03-03T11:00:00Z", "3 Mar 11:00"],
    ["2025-12-31T23:05:00Z", "31 Dec 2025 23:05"],
    ["2026-03-11T11:00:00Z", "11 Mar 11:00"],
    ["nonsense", "unknown"],
    [null, "unknown"],
  ])("%p was %s", (time, said) => expect(ago(time, now)).toBe(said))

  test("half an hour before is not yesterday, after midnight", () => {
    const midnight = Date.parse("2026-03-10T00:10:00Z")
    expect(ago("2026-03-09T23:40:00Z", midnight)).toBe("30 min ago")
  })

  test("a period names its day once", () => {
    expect(period("2026-03-02T08:05:09Z", "2026-03-02T09:10:00Z", now)).toBe("2 Mar 08:05 to 09:10")
    expect(period("2025-03-02T08:05:09Z", "2026-03-02T09:10:00Z", now)).toBe(
      "2 Mar 2025 08:05 to 2 Mar 09:10",
    )
    expect(period("2026-03-02T08:05:09Z", null, now)).toBe("2 Mar 08:05")
    expect(dated(null, now)).toBe("unknown")
  })

  test.each([
    ["36h", 36],
    ["90d", 90 * 24],
    ["2w", 14 * 24],
    ["1y", 365 * 24],
  ])("%p is an age", (word, hours) => expect(ageOf(word)).toBe(hours * 3_600_000))

  test.each(["", "90", "d", "-1d", "1.5d", "1m", "90 d", "9999999d"])("%p is no age", (word) => {
    expect(ageOf(word)).toBeUndefined()
  })
})

describe("session markdown", () => {
  const turn = (...parts: Part[]): string => shown(parts)
  const turnHead = (fields: Partial<WholeTurn>): string => shown([], fields).trimEnd().split("\n").at(-1)!

  const shown = (parts: readonly Part[], fields: Partial<WholeTurn> = {}): string =>
    [
      ...turnMarkdown({
        handle: "ctx:abcdef",
        session: "s",
        seq: 3,
        via: "typed",
        started: "2026-03-02T08:00:00Z",
        ended: null,
        interrupted: false,
        tools: [{ id: "t1", name: "Bash", target: "ls", isError: true, exitCode: 2 }],
        errors: 1,
        files: [],
        usage: [],
        prompt: "Fix *this*\n# now",
        messages: [
          {
            role: "assistant",
            time: null,
            sidechain: false,
            parts: parts.map((part) => ({ ...part, origin: "host" })),
          },
        ],
        ...fields,
      } satisfies WholeTurn),
    ].join("")

  test("a turn's heading is one line of plain text", () => {
    expect(turn()).toBe("\n## 3. Fix \\*this\\* \\# now\n\n`ctx:abcdef`, 2026-03-02T08:00:00Z\n")
  })

  test("a time that is none is text like the others", () => {
    expect(turnHead({ started: "<b>now\n# soon" })).toBe("`ctx:abcdef`, \\<b\\>now \\# soon")
  })

  test("a fence is longer than any in the text", () => {
    const text = turn({ kind: "toolResult", id: "t1", text: "a\n````\nb\n", isError: true })
    expect(text).toContain("**result of Bash (error, exit 2)**\n\n`````\na\n````\nb\n`````\n")
  })

  test("prompts are quoted, answers stand as they are", () => {
    expect(turn({ kind: "prompt", via: "typed", text: "a\n\nb" })).toContain("\n> a\n> \n> b\n")
    expect(turn({ kind: "text", text: "| a |\n|---|\n" })).toContain("**answer**\n\n| a |\n|---|\n")
    expect(turn({ kind: "title", text: "x" })).toBe(turn())
  })

  test("an open fence is closed, unless it ends with its list", () => {
    const answer = (text: string): string => turn({ kind: "text", text }).split("**answer**\n\n")[1]!
    expect(answer("````md\n```\n")).toBe("````md\n```\n````\n")
    expect(answer("```\na\n  ```\nb")).toBe("```\na\n  ```\nb\n")
    expect(answer("``` is `a` fence ```")).toBe("``` is `a` fence ```\n")
    expect(answer("1. so:\n   ```\n   a\n\nb")).toBe("1. so:\n   ```\n   a\n\nb\n")
  })

  test("inputs: a command as typed, other fields one below the other", () => {
    expect(inputText("Bash", { command: "ls\npwd", timeout: 5 })).toBe("$ ls\npwd\ntimeout: 5")
    expect(inputText("Edit", { file_path: "/a", old: "x\ny", all: true })).toBe(
      "file_path: /a\nold:\n    x\n    y\nall: true",
    )
    expect(inputText("X", null)).toBe("null")
    expect(inputText("X", undefined)).toBe("")
  })
})

test("names and numbers that a compaction lost are counted, so that what is told adds up", () => {
  const lost = Object.fromEntries(HELD_KINDS.map((kind) => [kind, { before: 2, kept: 0, given: 0, lost: 2 }]))
  const items = Object.fromEntries(HELD_KINDS.map((kind) => [kind, { lost: ["x"], given: [] }]))
  const receipt = {
    ...{ session: "5e551011", time: null, trigger: "auto", preTokens: null },
    ...{ characters: 0, delivery: "nothing-given", kinds: lost, items },
  }
  const screen = { columns: 80, style: createStyle(false), now: 0 }
  const lines = renderReceipt(receipt as unknown as Receipt, screen, (path) => path)
  expect(lines).toContain("  and          2 names, 2 numbers")
})
