/** `stats` in real terminals of three widths, with colour and without, in the C locale and in one of UTF-8. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { localDate } from "../../src/base/local-time.ts"
import { renderFriction, renderStats, type StatsScreen } from "../../src/cli/commands/stats.ts"
import { inAscii } from "../../src/cli/output.ts"
import type { Stats } from "../../src/cli/stats/stats.ts"
import { createStyle } from "../../src/cli/style.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(limit(120_000))

const LOOKS = [60, 80, 120].flatMap((cols) =>
  [true, false].flatMap((color) => ["C", "en_US.UTF-8"].map((locale) => ({ cols, color, locale }))),
)

/** Of the archive's own words: beyond ASCII, and meant to steer. */
const HOSTILE = "\u001b]0;owned\u0007\u009b2J\u202e"

let machine: Machine
let stats: Stats

beforeAll(async () => {
  machine = new Machine()
  machine.env["TZ"] = "UTC"
  // Noon, so that it is the same day everywhere.
  const session = machine.session({ start: Date.UTC(2026, 2, 2, 12) })
  const fails = (n: number) => ({
    tool: `mcp__kiln${HOSTILE}__fire`,
    input: { command: "fire" },
    output: `Error: the kiln ${HOSTILE} is at ${n} degrees, which is more than this small and old one can stand for long`,
    isError: true,
  })
  const edit = {
    tool: "Edit",
    input: { file_path: `/p/${HOSTILE}kiln.ts`, old_string: "1", new_string: "2" },
    output: "ok",
  }
  session.turn("Fire the kiln", [fails(1), edit, fails(2)]).turn("Again", [fails(3)])
  session.block({ type: "text", text: "Fired." }, {}, { id: "msg_x", model: `kiln-model${HOSTILE}` })
  session.boundary().summary("They fired the kiln.").turn("Go on")
  const imported = await run(["import", session.flush().path], machine)
  expect(imported).toMatchObject({ code: 0, stderr: "" })
  const { stdout } = await run(["stats", "--json"], machine)
  stats = JSON.parse(stdout)
  expect(stats.friction.errors).toHaveLength(1)
})

afterAll(() => machine[Symbol.dispose]())

describe.each(LOOKS)("$cols columns, colour $color, locale $locale", ({ cols, color, locale }) => {
  const env = { LC_ALL: locale, ...(color ? {} : { NO_COLOR: "1" }) }
  const screen = (now: number): StatsScreen => ({
    ...{ columns: cols, style: createStyle(color), unicode: locale !== "C", now },
    today: localDate(now),
  })

  test("shows what test/golden/stats has such screens of", async () => {
    const now = Date.now()
    const [whole, friction] = await Promise.all(
      [[], ["friction"]].map((part) => runAtTerminal(machine, ["stats", ...part], { cols, env })),
    )
    // Before the first line, the bar of the compactions is drawn and erased.
    const lines = (text: string): string[] => text.split("\r\n").map((line) => line.split("\r").at(-1)!)
    const shown = { project: undefined, limit: 14 }
    expect(whole).toMatchObject({ code: 0 })
    const fitted = (drawn: readonly string[]): string[] =>
      locale === "C" ? drawn.map((line) => inAscii(line, cols)) : [...drawn]
    expect(lines(whole!.text)).toEqual([...fitted(renderStats(stats, shown, screen(now))), ""])
    expect(friction).toMatchObject({ code: 0 })
    expect(lines(friction!.text)).toEqual([...fitted(renderFriction(stats.friction, shown, screen(now))), ""])
    for (const { text } of [whole!, friction!]) {
      for (const line of lines(text)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(cols)
      // Nothing but colours.
      expect(text.replace(/\x1b\[\d{1,2}m/g, "")).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]/)
      if (!color) expect(text).not.toContain("\x1b")
      if (locale === "C") expect(text).not.toMatch(/[^\0-\x7f]/)
    }
  })
})
