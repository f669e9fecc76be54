/** What is printed at a terminal, or for programs, from words that anyone may have written. */
import { describe, expect, test } from "bun:test"
import { fit, safe, safeJson } from "../../../src/cli/style.ts"

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
