import { describe, expect, test } from "bun:test"
import { renderTable } from "../../../src/cli/block.ts"
import { createStyle, fit, safe } from "../../../src/cli/style.ts"

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
