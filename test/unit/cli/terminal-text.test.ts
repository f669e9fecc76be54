/** What is done to text before a terminal shows it. */
import { describe, expect, test } from "bun:test"
import { markdownLines } from "../../../src/cli/commands/show.ts"
import { inAscii } from "../../../src/cli/output.ts"
import { type ProgressAt, progressLine } from "../../../src/cli/progress.ts"
import { wrapped, wrappedIn } from "../../../src/cli/screen.ts"
import { fileUrl, shortPath } from "../../../src/cli/shown-path.ts"
import { pagerCommand, speaksUtf8 } from "../../../src/config/load.ts"

describe("the locale", () => {
  test.each([
    ["de_DE.UTF-8", "linux", true],
    ["C.utf8", "linux", true],
    ["C", "linux", false],
    ["POSIX", "darwin", false],
    ["en_US.ISO-8859-1", "linux", false],
    [undefined, "linux", false],
    [undefined, "darwin", true],
    [undefined, "win32", true],
  ])("%p on %s", (locale, platform, speaks) => expect(speaksUtf8(locale, platform)).toBe(speaks))

  test("our signs become as wide ones, and dots where there is room", () => {
    expect(inAscii("── a · b → c ──", 80)).toBe("-- a - b > c --")
    expect(inAscii("cut…", 6)).toBe("cut...")
    expect(inAscii("cut…", 5)).toBe("cut~")
    expect(inAscii("größe 語", 80)).toBe("größe 語")
  })
})

describe("wrapping", () => {
  test("is at words, and text hangs under its list's mark", () => {
    expect(wrapped("  - one two three four", 15)).toEqual(["  - one two", "    three four"])
    expect(wrapped("12. one two three", 14)).toEqual(["12. one two", "    three"])
    expect(wrappedIn("  ", "one two three", 12)).toEqual(["  one two", "  three"])
  })

  test("counts columns, and leaves what fits as it is", () => {
    expect(wrapped("語言語言語言", 10)).toEqual(["語言語言語", "言"])
    expect(wrapped("e\u0301e\u0301e\u0301", 3)).toEqual(["e\u0301e\u0301e\u0301"])
    expect(wrapped("a   b", 5)).toEqual(["a   b"])
  })

  test("keeps colours, breaks what has no words, and takes an endless line", () => {
    const red = (text: string): string => `\x1b[31m${text}\x1b[39m`
    expect(wrapped(red("one two three four"), 10)).toEqual([red("one two"), red("three four")])
    expect(wrapped("abcdefghijklmno", 10)).toEqual(["abcdefghij", "klmno"])
    expect(wrapped("x".repeat(1_000_000), 100).every((line) => line.length <= 100)).toBe(true)
  })
})

describe("Markdown", () => {
  const look = { columns: 40, color: false, links: false }

  test("is laid out", () => {
    expect(markdownLines("**a** `b`\n\n- c\n", look)).toEqual(["a b", "  * c"])
  })

  test("writes no escape that is not ours, whatever it decodes", () => {
    const text = "a&#x202e;b &#27;[2J \u001b[2J &#x9b;2J"
    expect(markdownLines(text, look)).toEqual(["a\ufffdb [2J 2J"])
  })

  test("links lead to pages only", () => {
    const linked = (text: string) => markdownLines(text, { columns: 40, color: true, links: true }).join("\n")
    expect(linked("[a](https://b.test/ü)")).toContain("\x1b]8;;https://b.test/%C3%BC\x1b\\")
    expect(linked("[a](javascript:b)")).not.toContain("javascript")
  })

  test("is left as it is where it would take too long", () => {
    expect(markdownLines(`# ${"y".repeat(20_000)}`, look)[0]).toStartWith("# y")
  })
})

describe("paths", () => {
  const place = { cwd: "/home/me/src/app", home: "/home/me" }

  test.each([
    ["/home/me/src/app/a/b.ts", "a/b.ts"],
    ["/home/me/src/app", "."],
    ["/home/me/src/apple", "~/src/apple"],
    ["/home/me", "~"],
    ["/home/men", "/home/men"],
    ["relative.ts", "relative.ts"],
  ])("%s is %s", (path, shown) => expect(shortPath(path, place)).toBe(shown))

  test("as an address, everything is encoded that is no name", () => {
    expect(fileUrl("/a b/\u001b\\ü?#", "host")).toBe("file://host/a%20b/%1B%5C%C3%BC%3F%23")
  })
})

describe("progress", () => {
  const at: ProgressAt = {
    label: "archiving",
    done: 250_000_000,
    total: 1_000_000_000,
    unit: "bytes",
    began: 0,
    elapsed: 10_000,
    columns: 80,
  }

  test("says bytes and the time left, as far as there is room", () => {
    expect(progressLine(at)).toBe("archiving [======                  ] 25%  250 MB of 1.0 GB  30 s left")
    expect(progressLine({ ...at, columns: 40 })).toBe("archiving [===         ] 25%  30 s left")
    expect(progressLine({ ...at, columns: 20 })).toBe("archiving [=  ] 25%")
    expect(progressLine({ ...at, columns: 10 })).toHaveLength(9)
  })

  test("guesses no time left at first, nor from what was done before", () => {
    expect(progressLine({ ...at, elapsed: 1000 })).not.toContain("left")
    expect(progressLine({ ...at, began: 249_000_000 })).not.toContain("left")
    expect(progressLine({ ...at, began: 150_000_000, elapsed: 60_000 })).toContain("8 min left")
    expect(progressLine({ ...at, unit: "items", done: 1, total: 3, elapsed: 0 })).toBe(
      "archiving [========                ] 33%",
    )
  })
})

test.each([
  [{}, "less -R"],
  [{ PAGER: "most" }, "most"],
  [{ PAGER: "most", CTXBRIDGE_PAGER: "less -S" }, "less -S"],
  [{ PAGER: "most", CTXBRIDGE_PAGER: "" }, undefined],
  [{ PAGER: "cat" }, undefined],
  [{ TERM: "dumb" }, undefined],
])("%#: the pager that the environment names", (env, pager) => expect(pagerCommand(env)).toBe(pager))
