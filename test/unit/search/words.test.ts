import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { stem } from "../../../src/util/stem.ts"
import { nameAround, namesIn, wordSet } from "../../../src/util/words.ts"

const words = (text: string): string[] => [...wordSet(text)].sort()

describe("words", () => {
  test("a name in code gives the same words in every spelling", () => {
    for (const name of ["getUserName", "get_user_name", "get-user-name", "GetUserName", "GET_USER_NAME"]) {
      expect(words(name)).toEqual(["get", "getusername", "nam", "user"])
    }
  })

  test("acronyms, digits, paths and options are split into parts", () => {
    expect(words("parseJSONLine2")).toEqual(["json", "line2", "pars", "parsejsonline2"])
    expect(words("src/search/query.test.ts")).toEqual(["queri", "querytestts", "search", "src", "test", "ts"])
    expect(words("--no-verify")).toEqual(["no", "noverify", "verifi"])
    expect(words("sha256")).toEqual(["sha256"])
  })

  test("forms of a word share a stem", () => {
    for (const forms of ["cache caches cached caching", "run runs running", "study studies studied"]) {
      expect(new Set(forms.split(" ").map(stem)).size).toBe(1)
    }
    expect(new Set(["create", "created", "creates", "creation", "creating"].map(stem)).size).toBe(1)
  })

  test("accents are ignored, and scripts without spaces are found by any two characters", () => {
    expect(words("Café naïve")).toEqual(words("cafe naive"))
    const text = wordSet("検索エンジンの設計")
    for (const word of wordSet("エンジン")) expect(text.has(word)).toBe(true)
    expect(wordSet("索").size).toBe(1)
  })

  test("what is too long for a name is data and gives no words", () => {
    expect(words("x".repeat(65))).toEqual([])
    expect(words("x".repeat(64))).toHaveLength(1)
  })

  test("for any text, words are single runs of letters and digits, and names are where they are reported", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), (text) => {
        for (const word of wordSet(text)) expect(word).toMatch(/^[\p{L}\p{M}\p{N}]+$/u)
        let end = 0
        for (const { at, length } of namesIn(text)) {
          expect(at).toBeGreaterThanOrEqual(end)
          expect(length).toBeGreaterThan(0)
          end = at + length
        }
        expect(end).toBeLessThanOrEqual(text.length)
      }),
    )
  })
})

test("the name around a place is the one that scanning the text finds there", () => {
  const piece = fc.constantFrom("a", "Zq", "_", "9", ".", "-", " ", "é", "日", "(", "getUser", "x".repeat(30))
  const text = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(""))
  fc.assert(
    fc.property(text, (whole) => {
      for (const name of [...namesIn(whole)].filter(({ length }) => length <= 64)) {
        for (let at = name.at; at < name.at + name.length; at++) {
          if (/[.-]/.test(whole[at]!)) continue
          expect(nameAround(whole, at)).toEqual(name)
        }
      }
    }),
    { numRuns: 1000 },
  )
})
