/** What people read of ways of pruning. */
import { describe, expect, test } from "bun:test"
import { renderPruneReport, renderRecommendation } from "../../../src/cli/commands/prune.ts"
import { createStyle } from "../../../src/cli/style.ts"
import type { WayState } from "../../../src/prune/way.ts"
import type { ClientWays, PruneReport } from "../../../src/prune/ways.ts"
import { pickWay } from "../../../src/prune/ways.ts"

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

const session = (title: string, tokens: number, native: number | undefined) => ({
  session: "s",
  title,
  tokens,
  saved: { native, plugin: undefined, proxy: 500, patch: 0 },
})

const report = (more: Partial<PruneReport> = {}): PruneReport => ({
  isArchiving: true,
  clients: [client(NATIVE, PATCH)],
  sessions: [],
  ...more,
})

const shown = (one: PruneReport): string => renderPruneReport(one, screen).join("\n")

describe("status", () => {
  test("says of each way whether it is on, off or impossible, and why", () => {
    const problem = { ...NATIVE, isActive: true, detail: "set here", problem: "but broken" }
    const text = shown(report({ clients: [client(problem, PATCH)] }))
    expect(text).toContain("Claude Code 2.1.330 (native), /usr/local/bin/claude")
    expect(text).toMatch(/^ {2}native {2}on: set here; but broken$/m)
    expect(text).toMatch(/^ {2}patch {3}not here: it is no script$/m)
  })

  test("shows what would have been saved, and nothing where it is not known", () => {
    const text = shown(
      report({ sessions: [session("One\u001b[31m", 10_000, 2500), session("Two", 2000, undefined)] }),
    )
    expect(text).toMatch(/^One +10\.0K +2\.5K +500 +0$/m)
    expect(text).toMatch(/^Two +2\.0K +500 +0$/m)
    expect(text).toMatch(/^together +25% +8% +0%$/m)
    for (const line of text.split("\n").filter((one) => /^(One|Two|session)/.test(one)))
      expect(line.length).toBeLessThanOrEqual(80)
  })

  test("says what is missing", () => {
    expect(shown(report({ clients: [] }))).toContain("Claude Code was not found")
    expect(shown(report())).toContain("No session is archived yet")
    expect(shown(report({ isArchiving: false }))).toContain("Run `ctxbridge install` first")
  })
})

describe("a recommendation", () => {
  const told = (one: ClientWays, more: Partial<PruneReport> = {}): string =>
    renderRecommendation(report(more), one, pickWay(one)).join("\n")

  test("has a command to start it, and one to undo it", () => {
    const text = told(client(NATIVE, PATCH), { sessions: [session("One", 10_000, 2500)] })
    expect(text).toContain("It would have saved 25% of the tokens")
    expect(text).toContain(
      "Start it with `ctxbridge prune native`, undo it with `ctxbridge prune native --revert`.",
    )
    expect(told(client({ ...NATIVE, isActive: true }))).toContain("It is on.")
  })

  test("says why no safer way works, or none at all", () => {
    const text = told(
      client({ ...NATIVE, unsupported: "2.0.76 is too old" }, { way: "proxy", isActive: false }),
    )
    expect(text).toContain("native would be safer, but does not work here: 2.0.76 is too old.")
    expect(told(client(PATCH))).toContain("None of them works.")
  })
})
