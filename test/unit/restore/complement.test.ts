import { describe, expect, test } from "bun:test"
import { claudeLimits } from "../../../src/config/load.ts"
import { gather } from "../../../src/restore/gather.ts"
import { renderRestore } from "../../../src/restore/render.ts"
import { adviceOn, report, stateDocument } from "../../../src/restore/window/advice.ts"
import { type Judgement, judge, NEW_CONTEXT, withPrompt } from "../../../src/restore/window/context-state.ts"
import { compactionPoint, windowOf } from "../../../src/restore/window/window.ts"
import {
  formatTokens,
  isNews,
  runwayOf,
  shortTokens,
  trendOf,
  zoneOf,
} from "../../../src/restore/window/zone.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, run } from "../../support/inside.ts"

describe("complement", () => {
  const bash = (command: string, output = "", isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })

  const sectionOf = (text: string, title: string): string =>
    text.split("\n## ").find((section) => section.startsWith(`${title}\n`)) ?? ""

  function restored(archive: Archive, summary = "", budget = 4000): string {
    return renderRestore(gather(archive.db, "s1"), { source: "compact", summary, budget })
  }

  test("a command that the human refused was not run, so it did not fail", () => {
    using archive = new Archive()
    const refusal =
      "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file)."
    const transcript = archive.session("s1")
    transcript.turn("deploy it", [bash("npm run stage", "Exit code 1\nno such host", true)])
    transcript.turn("again", [bash("npm run deploy", refusal, true)])
    archive.follow(transcript.flush())
    const { failing } = gather(archive.db, "s1")
    expect(failing?.command).toBe("npm run stage")
  })

  test.each([
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "Permission to use Bash with command npm run check has been denied.",
    "Claude requested permissions to use Bash, but you haven't granted it yet.",
    "<tool_use_error>InputValidationError: Bash failed</tool_use_error>",
  ])("how a command ended does not change when it is not run again: %s", (refusal) => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn("test it", [
      bash("npm run check -- all", "fine"),
      bash("git push --dry-run", "Exit code 128\nno upstream", true),
      bash("npm run check -- all", refusal, true),
      bash("git push --dry-run", refusal, true),
    ])
    archive.follow(transcript.flush())
    const { commands } = gather(archive.db, "s1").facts
    expect(commands.find(({ text }) => text === "npm run check -- all")?.exit).toBeUndefined()
    expect(commands.find(({ text }) => text === "git push --dry-run")?.exit).toBe("Exit code 128")
  })

  test("what was used often and recently comes first", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn("start", [], "onceLongAgo is old")
    for (let n = 0; n < 40; n++)
      transcript.turn(`go on ${n}`, [], `oftenUsed in step${String.fromCharCode(65 + n)}Now`)
    transcript.turn("end", [], "justNow it was")
    archive.follow(transcript.flush())
    const names = gather(archive.db, "s1").facts.names.map(({ text }) => text)
    expect(names.indexOf("oftenUsed")).toBe(0)
    expect(names.indexOf("justNow")).toBeLessThan(names.indexOf("onceLongAgo"))
  })

  test("commands are shown as last typed without what trims their output, with the exit status if they failed", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn("test it", [
      bash("npm run check -- all", "fine"),
      bash("npm run check -- all 2>&1 | tail -5", "Exit code 3\nError: no such table: users", true),
      bash("git status --short 2>/dev/null | head -n 20", "M a.ts"),
      bash("npm run list | grep kiln", "kiln"),
      bash("npm run other -- thing", "Exit code 1\nno", true),
      bash("git log --oneline", "abc"),
    ])
    archive.follow(transcript.flush())
    const lines = sectionOf(restored(archive), "Commands run").split("\n")
    expect(lines).toContain("- `npm run check -- all` ×2 (exit 3)")
    expect(lines).toContain("- `git status --short`")
    expect(lines).toContain("- `npm run list | grep kiln`")
  })

  test("one of several similar commands is shown, others later", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const files = Array.from({ length: 40 }, (_, n) => `src/part-${n}/file.ts`)
    transcript.turn("read", [
      ...files.map((file) => bash(`wc -l ${file} -c`)),
      bash("gh pr view --json state"),
      bash("ls"),
    ])
    archive.follow(transcript.flush())
    const [first, second] = sectionOf(restored(archive), "Commands run").split("\n").slice(1)
    expect([first?.slice(0, 9), second]).toEqual(["- `wc -l ", "- `gh pr view --json state`"])
  })

  test("commands that work on files come before those that look at them", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const looks = Array.from({ length: 6 }, () => [
      bash("grep -n total src/ledger.ts"),
      bash("wc -l notes.txt"),
    ])
    transcript.turn("look", [...looks.flat(), ...[1, 2, 3].map(() => bash("npm run check -- ledger"))])
    transcript.turn("go on", [bash("git status")])
    archive.follow(transcript.flush())
    expect(sectionOf(restored(archive), "Commands run").split("\n").slice(1)).toEqual([
      "- `npm run check -- ledger` ×3",
      "- `wc -l notes.txt` ×6",
      "- `grep -n total src/ledger.ts` ×6",
    ])
  })

  test("some of many similar commands are shown, and the beginnings of the others", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const letters = [..."abcdefghijklmnopqrstuvwxyz"]
    const long = "with many more words than any line of commands has room for ".repeat(3).trim()
    transcript.turn("go", [
      ...letters.map((name) => bash(`uv run pytest test/unit/test_${name}.py --exitfirst`)),
      ...letters.map((name) => bash(`gh release create v${name} --notes "${long}"`)),
      bash("cd /srv/ledger\npython3 - <<'PY'\nprint(1)\nPY"),
      bash("cd /srv/ledger\npython3 - <<'PY'\nprint(2)\nPY"),
      bash("git status"),
    ])
    archive.follow(transcript.flush())
    const commands = sectionOf(restored(archive), "Commands run").split("\n").slice(1)
    expect(commands.filter((line) => line.startsWith("- `uv run pytest test/unit/test_"))).toHaveLength(5)
    const also = commands.filter((line) => line.startsWith("- also: "))
    expect(also).toHaveLength(1)
    expect(commands.at(-1)).toBe(also[0]!)
    expect(also[0]).toContain("cd /srv/ledger ×2")
    expect(also[0]).toContain("python3 - <<'PY' ×2")
    // Told at length already.
    expect(also[0]).not.toContain("uv run")
  })

  test("the folder in which scripts run is shown once", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn("go", [
      ...["a", "b", "c"].map((name) => bash(`cd /srv/app\nnpm run job-${name}`)),
      bash("git status"),
    ])
    archive.follow(transcript.flush())
    const commands = sectionOf(restored(archive), "Commands run")
    expect(commands.match(/cd \/srv\/app/g)).toHaveLength(1)
    expect(commands).toContain("- also: `cd /srv/app ×3`")
    expect(commands).toContain("`npm run job-c`")
  })

  test("why calls failed, with their command's exit status", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn("go", [
      bash("make all", "Exit code 2\nnothing here to make", true),
      bash("make one", "Exit code 2\nbuilding one\nmake: *** no rule to make one", true),
      bash("make one", "fine"),
      bash("make two 2>&1 | tail -3", "make: *** no rule to make two"),
      bash("make none", "Exit code 7", true),
      {
        tool: "Edit",
        input: { file_path: "/a" },
        output: "<tool_use_error>Not read yet.</tool_use_error>",
        isError: true,
      },
      {
        tool: "Edit",
        input: { file_path: "/b" },
        output: "The user doesn't want to do this.",
        isError: true,
      },
    ])
    archive.follow(transcript.flush())
    const errors = sectionOf(restored(archive), "Errors seen").split("\n").slice(1).sort()
    expect(errors).toEqual([
      '- "Not read yet."',
      '- "make: *** no rule to make one" (exit 2)',
      '- "make: *** no rule to make two"',
      '- "nothing here to make" (exit 2)',
    ])
  })

  test("a name replaces shorter names that it begins with", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    for (const words of [
      "ledger_sum",
      "ledger_sum",
      "`ledger_sum.total`",
      "ledger_sums and `ledger.sum.total`",
    ])
      transcript.turn("look", [], words)
    archive.follow(transcript.flush())
    const [names] = sectionOf(restored(archive), "Names").split("\n").slice(1)
    expect(names?.slice(3, -1).split(" ").sort()).toEqual([
      "ledger.sum.total",
      "ledger_sum.total",
      "ledger_sums",
    ])
  })

  test("nothing that the summary contains", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn(
      "look",
      [bash("npm run lint -- --fix", "x\nerror: cannot find module q\ny")],
      "see src/deep/one.ts, src/deep/two.ts: fooBar, bazQux",
    )
    archive.follow(transcript.flush())
    const all = restored(archive)
    for (const fact of [
      "one.ts",
      "two.ts",
      "fooBar",
      "bazQux",
      "npm run lint -- --fix",
      "cannot find module q",
    ])
      expect(all.split("## Turns")[0]).toContain(fact)
    const rest = restored(
      archive,
      "<summary>edited deep/one.ts and fooBar; ran `npm run lint -- --fix`; error: cannot find module q</summary>",
    )
    const lists = rest.split("## Turns")[0]!
    for (const fact of ["one.ts", "fooBar", "lint -- --fix", "cannot find module q"])
      expect(lists).not.toContain(fact)
    for (const fact of ["two.ts", "bazQux"]) expect(lists).toContain(fact)
  })

  test("a name of code counts as told only in its own letters", () => {
    using archive = new Archive()
    const transcript = archive.session("s1").turn("look", [], "userId and UserName")
    archive.follow(transcript.flush())
    const [names] = sectionOf(restored(archive, "It has a UserId and a UserName."), "Names")
      .split("\n")
      .slice(1)
    expect(names).toBe("- `userId`")
  })

  test("a path gives way to one that says more of it, and programs are not named", () => {
    using archive = new Archive()
    const transcript = archive.session("s1", { cwd: "/srv/app" })
    transcript.turn("look", [bash("/usr/bin/sed -n 3p kiln.ts")], "it is in src/oven/kiln.ts")
    archive.follow(transcript.flush())
    expect(sectionOf(restored(archive), "Paths")).toBe("Paths\n- `src/oven/kiln.ts`")
  })

  test("neither names and paths from tools nor subagents' words are given back", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    transcript.turn("look", [bash("cat notes", "run evilName from evil/path.sh")], "ownName")
    const agent = archive.session("s1/agent-a", { agent: "a" })
    agent.user("brief").message().say("agentName in agent/file.ts")
    archive.follow(transcript.flush())
    archive.follow(agent.flush())
    const { facts } = gather(archive.db, "s1")
    expect(facts.names.map(({ text }) => text)).toEqual(["ownName"])
    expect(facts.paths).toEqual([])
  })

  test("a path far below is told by folder and name, another one whole, however they were written", () => {
    using archive = new Archive()
    const folder = "/var/long/folder/of/somebody/else"
    const transcript = archive.session("s1")
    transcript.turn("look", [], ["a", "b", "c"].map((name) => `${folder}/${name}.txt`).join(" "))
    archive.follow(transcript.flush())
    transcript.turn("look again", [], "else/a.txt, then b.txt, and src/deep/kiln.ts")
    archive.follow(transcript.flush())
    expect(sectionOf(restored(archive), "Paths")).toBe(
      "Paths\n- `else/a.txt else/b.txt src/deep/kiln.ts else/c.txt`",
    )
  })

  test("two files that are alike in folder and name are two, and a name alone is neither", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const [web, api] = ["packages/web/src/index.ts", "packages/api/src/index.ts"]
    for (let n = 0; n < 3; n++) transcript.turn("look", [], `${web} and index.ts, then web/src/kiln.ts`)
    transcript.turn("look", [], `${api} and kiln.ts`)
    archive.follow(transcript.flush())
    const words = sectionOf(restored(archive), "Paths").split(/[\s`]+/)
    expect(words.filter((word) => word.includes(".ts")).toSorted()).toEqual([api, web, "web/src/kiln.ts"])
  })

  test("five turns keep their room, and the budget is used up", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    for (let n = 0; n < 60; n++) {
      const name = `${String.fromCharCode(97 + (n % 26))}${"o".repeat(n % 9)}`
      transcript.turn(
        `please look at ${name} ${"and more ".repeat(20)}`,
        [bash(`npm run job-${name}-${n}`, `Error: job ${name} failed badly`)],
        `thingOf${name} in src/${name}/file.ts ${"at length ".repeat(20)}`,
      )
    }
    archive.follow(transcript.flush())
    for (const budget of [2000, 4000, 9000]) {
      const text = restored(archive, "", budget)
      expect(text.length).toBeLessThanOrEqual(budget)
      expect(text.length).toBeGreaterThan(budget - 200)
      expect(
        text.split("\n").filter((line) => /^- ctx:\w+ "please look/.test(line)).length,
      ).toBeGreaterThanOrEqual(5)
      expect(restored(archive, "", budget)).toBe(text)
    }
  })

  test("files in flight: last changed first", () => {
    using archive = new Archive()
    const transcript = archive.session("s1")
    const edit = (name: string) => ({ tool: "Edit", input: { file_path: `/src/${name}` }, output: "ok" })
    transcript.turn("one", [edit("a.ts"), edit("b.ts"), edit("a.ts")])
    transcript.turn("two", [edit("c.ts"), edit("b.ts")])
    transcript.turn("three", [
      edit("a.ts"),
      { tool: "Read", input: { file_path: "/src/d.ts" }, output: "1→x" },
    ])
    archive.follow(transcript.flush())
    const { files } = gather(archive.db, "s1")
    expect(files.map(({ path }) => path)).toEqual(["/src/a.ts", "/src/b.ts", "/src/c.ts"])
  })
})

/** Windows, compaction points, zones, trend, report. */
describe("judge", () => {
  const thresholds = { warn: 0.7, critical: 0.85 }
  const window = (model: string | undefined, more: object = {}) =>
    windowOf({ model, option: 0, seen: 0, limits: {}, ...more })
  const point = (more: object) =>
    compactionPoint({ window: 200_000, version: "2.1.112", points: [], tokens: 0, limits: {}, ...more })

  test("windows", () => {
    for (const model of [
      "claude-sonnet-4-5-20250929",
      "claude-sonnet-4-6",
      "claude-3-5-haiku-20241022",
      "other",
      undefined,
    ]) {
      expect([model, window(model)]).toEqual([model, 200_000])
    }
    for (const model of ["claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5", "claude-sonnet-4-6[1m]"]) {
      expect([model, window(model)]).toEqual([model, 1_000_000])
    }
    expect(window("claude-sonnet-4-6", { seen: 470_600 })).toBe(1_000_000)
    expect(window("claude-opus-5-5", { limits: { no1M: true } })).toBe(200_000)
    expect(window("claude-opus-5-5", { told: 200_000 })).toBe(200_000)
    expect(window("claude-opus-5-5", { told: 200_000, option: 150_000 })).toBe(150_000)
    // An option that the reading disproves.
    expect(window("claude-opus-5-5", { option: 200_000, seen: 203_000 })).toBe(200_000)
    expect(window("claude-opus-5-5", { option: 200_000, seen: 470_600 })).toBe(1_000_000)
    expect(window("claude-opus-5-5", { told: 500_000, option: 200_000, seen: 470_600 })).toBe(500_000)
  })

  test("the window that the user gives for a model that the host does not know", () => {
    const limits = claudeLimits({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "262144" })
    expect(window("qwen3.8-27b", { limits })).toBe(262_144)
    expect(window("claude-sonnet-4-6", { limits })).toBe(200_000)
    expect(window("us.anthropic.claude-sonnet-4-6-v1:0", { limits })).toBe(200_000)
    expect(window(undefined, { limits })).toBe(200_000)
    expect(window("qwen3.8-27b", { limits, told: 131_072 })).toBe(131_072)
    expect(window("qwen3.8-27b", { limits, option: 100_000 })).toBe(100_000)
    // A reading disproves it.
    expect(window("qwen3.8-27b", { limits, seen: 300_000 })).toBe(1_000_000)
    // Of any model, where nothing is compacted.
    expect(window("claude-sonnet-4-6", { limits: { ...limits, off: "all" } })).toBe(262_144)
    expect(claudeLimits({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "many" })).toEqual({})
    expect(claudeLimits({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "-1" })).toEqual({})
  })

  describe("the compaction point", () => {
    test("follows the formula, as observed with real clients", () => {
      expect(point({}).at).toBe(167_000)
      expect(point({ version: "2.0.76" }).at).toBe(155_000)
      expect(point({ window: 1_000_000 }).at).toBe(967_000)
      const limited = (env: Record<string, string>, more: object = {}) =>
        point({ limits: claudeLimits(env), ...more }).at
      expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" }, { version: "2.0.76" })).toBe(84_000)
      expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" })).toBe(90_000)
      expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" }, { window: 1_000_000 })).toBe(490_000)
      expect(limited({ CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" })).toBe(67_000)
      expect(limited({ CLAUDE_CODE_AUTO_COMPACT_WINDOW: "200000" }, { window: 1_000_000 })).toBe(167_000)
      // Where it may not compact, it goes on to just before the reserve. Versions of Claude Code up to 2.0 know only
      // one of the variables.
      for (const value of ["1", " Yes ", "on", "TRUE"]) {
        expect([value, limited({ DISABLE_AUTO_COMPACT: value })]).toEqual([value, 177_000])
        expect([value, limited({ DISABLE_COMPACT: value })]).toEqual([value, 177_000])
      }
      expect(limited({ DISABLE_COMPACT: "0", DISABLE_AUTO_COMPACT: "false" })).toBe(167_000)
      expect(limited({ DISABLE_AUTO_COMPACT: "1" }, { version: "2.0.76" })).toBe(155_000)
      expect(limited({ DISABLE_COMPACT: "1" }, { version: "2.0.76" })).toBe(168_000)
      expect(limited({ DISABLE_COMPACT: "1" }, { points: [90_300] })).toBe(177_000)
      expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "nonsense" })).toBe(167_000)
    })

    test("where the host's files switch off its own compactions, as far as its version heeds them", () => {
      const said = (version: string, autoCompact: object, more: object = {}) =>
        point({ version, limits: { autoCompact }, ...more }).at
      // All versions heed their state file.
      expect(said("2.0.76", { state: false })).toBe(168_000)
      expect(said("2.1.112", { state: false })).toBe(177_000)
      expect(said("2.1.329", { state: false })).toBe(177_000)
      // Settings came later, and count before the state file.
      expect(said("2.1.112", { settings: false })).toBe(167_000)
      expect(said("2.1.329", { settings: false })).toBe(177_000)
      expect(said("2.1.329", { settings: true, state: false })).toBe(167_000)
      expect(said("2.1.112", { settings: true, state: false })).toBe(177_000)
      expect(said("2.1.329", { settings: true, state: true })).toBe(167_000)
      // What was learnt while it compacted by itself says nothing of where it ends.
      expect(said("2.1.329", { settings: false }, { points: [90_300] })).toBe(177_000)
    })

    test("is learnt to within 3 % of the window after two compactions", () => {
      for (const threshold of [60_000, 84_000, 120_000, 155_000, 167_000, 185_000]) {
        for (const [first, second] of [
          [400, 3_000],
          [9_000, 1_500],
          [5_500, 5_900],
        ] as const) {
          const { at, learnt } = point({ points: [threshold + first, threshold + second] })
          expect({ threshold, learnt, near: Math.abs(at - threshold) / 200_000 <= 0.03 }).toEqual({
            threshold,
            learnt: true,
            near: true,
          })
        }
      }
    })

    test("is the formula's if the observed ones confirm it, or else the lowest of the last three", () => {
      expect(point({ points: [170_900, 167_009, 185_970] })).toEqual({ at: 167_000, learnt: true })
      expect(point({ points: [179_926, 185_970] })).toEqual({ at: 179_926, learnt: true })
      expect(point({ points: [60_000, 120_100, 120_900, 120_300] }).at).toBe(120_100)
      // Grown past it without a compaction: the user has changed something.
      expect(point({ points: [60_000], tokens: 100_000 })).toEqual({ at: 167_000, learnt: false })
    })
  })

  test("zones, trend and runway", () => {
    expect([0.1, 0.699, 0.7, 0.849, 0.85, 2].map((pressure) => zoneOf(pressure, thresholds))).toEqual([
      "ok",
      "ok",
      "warning",
      "warning",
      "critical",
      "critical",
    ])
    expect(trendOf([])).toBeUndefined()
    expect(trendOf([10_000])).toBeUndefined()
    expect(trendOf([30_000, 20_000])).toBeUndefined()
    expect(trendOf([1, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000])).toBe(10_000)
    expect(runwayOf(60_000, 141_950, 10_000)).toBe(8)
    expect(runwayOf(150_000, 141_950, 10_000)).toBe(0)
    expect(runwayOf(60_000, 141_950, undefined)).toBeUndefined()
  })

  const judged = (tokens: number): Judgement =>
    judge({ tokens, model: "claude-sonnet-4-6", version: "2.1.112" }, { option: 0, limits: {}, thresholds })!

  test("the report has the format of the design documents", () => {
    const facts = { turns: 53, compactions: 0, runway: 4 }
    expect(report({ ...facts, judgement: judged(86_736) })).toBe(
      "[ContextAutopilot] [=========-----------] 43.4% context used (~86.7K/200.0K tokens, 53 turns) " +
        "Status: OK | Optimizations: 0 prune cycles | ~4 turns until optimization needed",
    )
    expect(report({ turns: 1, compactions: 1, runway: undefined, judgement: judged(120_000) })).toBe(
      "[ContextAutopilot] [############--------] 60.0% context used (~120.0K/200.0K tokens, 1 turn) " +
        "Status: WARNING | Optimizations: 1 prune cycle",
    )
    expect(report({ turns: 9, compactions: 2, runway: 0, judgement: judged(176_000) })).toBe(
      "[ContextAutopilot] [!!!!!!!!!!!!!!!!!!--] 88.0% context used (~176.0K/200.0K tokens, 9 turns) " +
        "Status: OPTIMIZING | Optimizations: 2 prune cycles | ~0 turns until optimization needed",
    )
  })

  test("the user is told of both zones, the model only of the second, each in one line", () => {
    expect(adviceOn(judged(120_000))).toEqual({
      zone: "warning",
      warning: "",
      notice:
        "ctxbridge: context at 72% of the point where it is compacted (120.0K of 167.0K tokens). " +
        "/clear is safe at any time: everything is archived.",
    })
    expect(adviceOn(judged(145_290))).toEqual({
      zone: "critical",
      warning:
        "[ContextAutopilot] Context at 87.0% of the point where it is compacted (~145.3K of 167.0K tokens). " +
        "Keep responses concise to extend session.",
      notice:
        "ctxbridge: context at 87% of the point where it is compacted (145.3K of 167.0K tokens), so compaction is near. " +
        "/clear is safe at any time: everything is archived.",
    })
    const limits = claudeLimits({ DISABLE_COMPACT: "1" })
    const off = judge({ tokens: 170_000, version: "2.1.112" }, { option: 0, limits, thresholds })!
    expect(adviceOn(off).notice).toStartWith(
      "ctxbridge: context at 96% of what Claude Code takes (170.0K of 177.0K tokens). /clear",
    )
  })

  test("a zone is news on the way up, once", () => {
    const told = [undefined, "warning", "critical"] as const
    expect(told.map((before) => isNews("ok", before))).toEqual([false, false, false])
    expect(told.map((before) => isNews("warning", before))).toEqual([true, false, false])
    expect(told.map((before) => isNews("critical", before))).toEqual([true, true, false])
  })

  test("the state document has the format of the design documents and at most 50 entries", () => {
    let context = { ...NEW_CONTEXT, tokens: 90_000 }
    for (let n = 1; n <= 60; n++) context = { ...withPrompt(context, 0.45, 2000 + n), tokens: 90_000 }
    const { history, ...rest } = JSON.parse(stateDocument("s", context, judged(90_000), 2060))
    expect(rest).toEqual({
      sessionId: "s",
      lastTokenEstimate: 90_000,
      lastPercentage: 0.45,
      pruneCount: 0,
      warningIssued: false,
      lastCheck: 2060,
    })
    expect(history).toHaveLength(50)
    expect(history.at(-1)).toEqual({ ts: 2060, tokens: 90_000, pct: 0.45, turns: 60 })
  })

  test("tokens for people", () => {
    expect([0, 999, 1000, 86_736, 200_000, 999_949, 1_000_000].map(formatTokens)).toEqual([
      "0",
      "999",
      "1.0K",
      "86.7K",
      "200.0K",
      "999.9K",
      "1.00M",
    ])
    expect(
      [999, 86_736, 99_949, 99_950, 144_000, 999_499, 999_500, 1_250_000, 120_000_000, 10_915_000_000].map(
        shortTokens,
      ),
    ).toEqual(["999", "86.7K", "99.9K", "100K", "144K", "999K", "1.0M", "1.3M", "120M", "10.9B"])
  })
})

/** What `show --json` tells a turn to be worth in which Claude Code compacted the session. */
describe("worth of summary", () => {
  test("Claude Code's own summary is an entry of high confidence; the turns around it are like others", async () => {
    using machine = new Inside()
    const start = Date.now() - 3_600_000
    const session = machine.session({ start }).turn("Before the compaction")
    session
      .turn("The compacted one")
      .boundary()
      .summary("We were at it.")
      .turn("After the compaction")
      .flush()
    await machine.hook("stop", session)
    const found = await run(["search", "compaction OR compacted", "--json"], machine)
    expect(found).toMatchObject({ code: 0, stderr: "" })
    const worth: Record<string, number> = {}
    for (const { handle } of JSON.parse(found.stdout).hits) {
      const shown = JSON.parse((await run(["show", handle, "--json"], machine)).stdout)
      worth[shown.prompt] = shown.worth.confidence
    }
    expect(Object.keys(worth).toSorted()).toEqual([
      "After the compaction",
      "Before the compaction",
      "The compacted one",
    ])
    expect(worth["The compacted one"]).toBeGreaterThan(0.98)
    expect(worth["Before the compaction"]).toBeLessThanOrEqual(0.8)
    expect(worth["After the compaction"]).toBeLessThanOrEqual(0.8)
  })
})
