/**
 * The screens of `stats`, in terminals of three widths, with colour and without, in a locale with UTF-8 and without:
 * test/golden/stats. `CTXBRIDGE_TEST_GOLDEN=write` writes them anew.
 */
import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { renderFriction, renderStats, type StatsScreen } from "../../../src/cli/commands/stats.ts"
import { inAscii } from "../../../src/cli/output.ts"
import { createStyle } from "../../../src/cli/style.ts"
import { MADE_NOW, MADE_TODAY, madeStats } from "../../support/made-stats.ts"

const GOLDEN = join(import.meta.dir, "../../golden/stats")
const WIDTHS = [60, 80, 120] as const

const screen = (columns: number, color: boolean, unicode: boolean): StatsScreen => ({
  ...{ columns, unicode, style: createStyle(color), now: MADE_NOW, today: MADE_TODAY },
})

const SHOWN = { project: undefined, limit: 5 }

const whole = (at: StatsScreen, hostile = ""): string[] => {
  const stats = madeStats(hostile)
  const lines = [...renderStats(stats, SHOWN, at), "", ...renderFriction(stats.friction, SHOWN, at)]
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

test("nor do the ids of sessions", () => {
  const rows = madeStats().rows.map((row) => ({ ...row, key: `\x1b[31m${row.key}` }))
  const lines = renderStats({ ...madeStats(), by: "session", rows }, SHOWN, screen(80, false, true))
  expect(lines.join("\n")).not.toContain("\x1b")
})

/** Names of models, tools and files, and errors, are anybody's words. */
test.each(WIDTHS)("in %d columns nothing of the archive steers the terminal", (columns) => {
  const hostile = "\x1b]0;owned\x07\x9b2J\u202e\r\n\x1b[31m\u{e0041}"
  const lines = whole(screen(columns, false, true), hostile)
  expect(lines.join("")).not.toMatch(/[\0-\x1f\x7f-\x9f\u202e\u{e0041}]/u)
  for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns)
  expect(lines).toHaveLength(whole(screen(columns, false, true)).length)
})
