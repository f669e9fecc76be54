import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { nameAround, namesIn, stem, wordSet } from "../../../src/base/words.ts"

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
    expect(words("検索エンジン")).toEqual(["検索", "索エ", "エン", "ンシ", "シン", "ン"].sort())
    expect(words("サーバー")).toEqual(["サー", "ーハ", "ハー", "ー"].sort())
    expect(words("索")).toEqual(["索"])
    expect(words("getUserNameを呼ぶ")).toEqual([...words("getUserName"), "を呼", "呼ふ", "ふ"].sort())
  })

  test("what is too long for a name is data and gives no words", () => {
    expect(words("x".repeat(65))).toEqual([])
    expect(words("x".repeat(64))).toHaveLength(1)
    expect(words(`${"x".repeat(65)}-ledger`)).toEqual(["ledger"])
    expect(words("a-b2C-ledger_v2.".repeat(20))).toEqual([])
  })

  test("a long name is found by its words only", () => {
    const name = "org.example.warehouse.inventory.reconciliation.jobs.NightlyStockReconciler"
    expect(words(name)).toEqual([...new Set(name.split(".").flatMap(words))].sort())
    const at = name.indexOf("inventory")
    expect(namesIn(name)).toContainEqual({ words: ["inventori"], at, length: 9 })
    expect(nameAround(`see ${name}`, at + 6)).toEqual({ words: ["inventori"], at: at + 4, length: 9 })
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
