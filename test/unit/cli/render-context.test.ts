import { expect, test } from "bun:test"
import { renderContext } from "../../../src/cli/render-status.ts"
import { createStyle } from "../../../src/cli/style.ts"
import type { ContextReport } from "../../../src/restore/window/context-report.ts"

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
