/** What the picker shows. */
import { describe, expect, test } from "bun:test"
import { pickerPicture, shortAge } from "../../../../src/cli/picker/picker-picture.ts"
import { lineWith } from "../../../../src/cli/picker/query-line.ts"
import { PicturePainter } from "../../../../src/cli/picker/run-picker.ts"
import { hit, NOW, nameOf, pickerState, plain, screen, TITLES } from "../../../support/picker.ts"

const HITS = [hit(1), hit(2, { role: "tool", tool: "Bash" }), hit(3)]

test("a selected turn, its passage, and where the cursor is", () => {
  const { lines, cursor } = pickerPicture(pickerState(HITS, { line: lineWith("parse") }), screen())
  const shown = lines.map(plain)
  expect(cursor).toEqual({ row: 0, column: 7 })
  expect(shown[0]).toMatch(/^> parse +3 $/)
  expect(shown[1]).toBe("  project all · role any · tool any · since any · errors any")
  expect(shown[2]).toMatch(
    /^▸ ❯ {2}1h Dates in invoices · app {4}│ ctx:turn1 {2}9 Mar 2026 \d\d:00 {2}app {2}turn 1 of$/,
  )
  expect(shown[3]).toMatch(/^ {4}please parse the dates of turn… *│ 5e551011$/)
  expect(shown.slice(2).join("\n")).toContain("Prompt")
  expect(lines[3]).toContain("\x1b[7;1;4mparse")
})

test("with colour and without", () => {
  const state = pickerState(HITS)
  const colored = pickerPicture(state, screen({ color: true })).lines
  const mono = pickerPicture(state, screen()).lines
  expect(colored.map(plain)).toEqual(mono.map(plain))
  expect(colored.join("")).toContain("\x1b[1;33mparse\x1b[0m")
  // Neither a colour nor a shade.
  expect(mono.join("")).not.toMatch(/\x1b\[[\d;]*\b(?:2|3\d|9\d)\b[\d;]*m/)
})

test("in a locale without Unicode everything is ASCII", () => {
  const odd = hit(1, { snippet: "größe 语言 🛡️ parse", marks: [[12, 17]] })
  const { lines } = pickerPicture(pickerState([odd, hit(2)]), screen({ unicode: false }))
  expect(lines.join("")).toMatch(/^[\x1b\x20-\x7e]*$/)
  expect(plain(lines[3]!)).toContain("gr??e ?? ?")
})

test("a word far behind is brought into sight", () => {
  const far = hit(1, { snippet: `${"word ".repeat(30)}needle and more`, marks: [[150, 156]] })
  expect(plain(pickerPicture(pickerState([far]), screen()).lines[3]!)).toStartWith(
    "    …word word needle and more     │",
  )
})

describe("where there is nothing", () => {
  test.each([
    [pickerState(undefined), "Opening the archive"],
    [pickerState([]), "Nothing to show"],
    [pickerState([], { line: lineWith("x") }), "Nothing matches"],
    [pickerState(undefined, { problem: ["Nothing is archived yet."] }), "Nothing is archived yet."],
    [pickerState([], { columns: 39 }), "It needs 40x10."],
    [pickerState([], { columns: 17 }), "Too small: 17x24.\nIt needs 40x10.\nEsc quits."],
    [pickerState([], { rows: 9 }), "Too small: 80x9."],
  ])("%#: %s", (state, expected) => {
    expect(pickerPicture(state, screen()).lines.map(plain).join("\n")).toContain(expected)
  })
})

describe("a turn's rows", () => {
  const rows = (given: object, found: object = {}, columns = 80): string[] => {
    const base = pickerState([hit(1, given)], { columns, rows: 12 })
    const { lines } = pickerPicture({ ...base, found: { ...base.found!, ...found } }, screen())
    return lines.slice(2, 4).map((line) => plain(line).split("│")[0]!.trimEnd())
  }

  test.each([
    [{}, "❯"],
    [{ role: "assistant" }, "❮"],
    [{ role: "assistant", tool: "Bash" }, "$"],
    [{ role: "tool", tool: "Bash" }, "$"],
    [{ role: "tool", tool: "Bash", failed: true }, "✗"],
    [{ role: "host" }, "#"],
  ])("%j is told by a sign", (given, sign) => {
    expect(rows(given)[0]).toBe(`▸ ${sign}  1h Dates in invoices · app`)
  })

  test("wide enough, it has one, in columns", () => {
    expect(rows({}, {}, 200)[0]).toMatch(
      /^▸ ❯ {2}1h Dates in invoices {8,}app {12,}please parse the dates of turn 1$/,
    )
  })

  test("a prompt that is the title is told once", () => {
    const titles = new Map([[hit(1).session, "please parse the dates of turn 1 and more"]])
    expect(rows({}, { titles })).toEqual(["▸ ❯  1h please parse the dat… · app", "    They are parsed."])
  })

  test("of the newest turns, prompts are shown, but none that says nothing", () => {
    const said = {
      prompt: "yes, go ahead",
      snippet: "Done with it.",
      role: "assistant",
      answer: null,
      marks: [],
    }
    expect(rows(said, { isNewest: true })[1]).toBe("    Done with it.")
    expect(rows({ ...said, prompt: "/review" }, { isNewest: true })[1]).toBe("    Done with it.")
    expect(rows({ ...said, prompt: "Fix it" }, { isNewest: true })).toEqual([
      "▸ ❯  1h Dates in invoices · app",
      "    Fix it",
    ])
  })
})

test("the smallest terminal has a list and no preview", () => {
  const shown = pickerPicture(pickerState(HITS, { columns: 40, rows: 10 }), screen()).lines.map(plain)
  expect(shown.slice(1, 4)).toEqual([
    "  no filters",
    "▸ ❯  1h Dates in invoices · app         ",
    "    please parse the dates of turn 1    ",
  ])
  expect(shown.join("\n")).not.toContain("Answer")
  expect(shown.at(-1)).toStartWith("  Enter open  Esc quit  F1 keys")
})

test("below 80 columns the preview is under the list", () => {
  const shown = pickerPicture(pickerState(HITS, { columns: 60, rows: 20 }), screen()).lines.map(plain)
  expect(shown.findIndex((line) => line.startsWith("────"))).toBe(10)
  expect(shown[11]).toStartWith("ctx:turn1")
})

test("the foot has what was told, else how it was found, else the keys", () => {
  const foot = (given: object): string =>
    plain(pickerPicture(pickerState(HITS, given), screen()).lines.at(-1)!)
  expect(foot({ told: "copied" })).toBe("  copied")
  expect(foot({ found: { hits: HITS, titles: TITLES, nameOf, more: false, note: "no exact match" } })).toBe(
    "  no exact match",
  )
  const note = "No match for “parsr”. Showing results for “parse”."
  expect(foot({ found: { hits: HITS, titles: TITLES, nameOf, more: false, note } })).toBe(`  ${note}`)
  expect(foot({ columns: 40, found: { hits: HITS, titles: TITLES, nameOf, more: false, note } })).toBe(
    "  Showing results for “parse”.",
  )
  expect(foot({})).toStartWith("  Enter open  Esc quit  F1 keys  Ctrl-O resume")
  expect(foot({ isPrinting: true })).toStartWith("  Enter handle  Esc quit")
})

test("what is marked has a sign, and is counted", () => {
  const state = pickerState(HITS, { marked: new Map([[HITS[1]!.handle, HITS[1]!]]) })
  const shown = pickerPicture(state, screen()).lines.map(plain)
  expect(shown[0]).toMatch(/ 1 marked, 3 $/)
  expect([shown[2], shown[4], shown[6]].map((line) => line!.slice(0, 3))).toEqual(["▸ ❯", " ✓$", "  ❯"])
  const ascii = pickerPicture(state, screen({ unicode: false })).lines.map(plain)
  expect([ascii[2], ascii[4]].map((line) => line!.slice(0, 3))).toEqual(["> >", " +$"])
})

test("only lines that differ are written", () => {
  const painter = new PicturePainter()
  const state = pickerState(HITS)
  const first = painter.paint(pickerPicture(state, screen()))
  const rows = (text: string): number => [...text.matchAll(/\x1b\[\d+;1H\x1b\[0m\x1b\[2K/g)].length
  expect(rows(first)).toBe(24)
  expect(rows(painter.paint(pickerPicture(state, screen())))).toBe(0)
  expect(rows(painter.paint(pickerPicture({ ...state, told: "x" }, screen())))).toBe(1)
  painter.forget()
  expect(rows(painter.paint(pickerPicture(state, screen())))).toBe(24)
})

test.each([
  [0, "now"],
  [-5, "?"],
  [5, "5m"],
  [59, "59m"],
  [60, "1h"],
  [23 * 60, "23h"],
  [6 * 24 * 60, "6d"],
  [300 * 24 * 60, "42w"],
  [800 * 24 * 60, "2y"],
])("%d minutes ago", (minutes, expected) => {
  const time = minutes < 0 ? null : new Date(NOW - minutes * 60_000).toISOString()
  expect(shortAge(time, NOW)).toBe(expected)
})
