import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { candidatesOf } from "../../../src/find/candidates.ts"

const term = (word: string) => ({ word, typed: word, isPrefix: false })

/** More than are read of one word. */
const MESSAGES = 6000
const OLD = 10

/** Every message has the common word, one of the oldest the rare one. */
function archive(): Database {
  const db = new Database(":memory:")
  db.run("CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, tokenize = 'ascii')")
  const add = db.query("INSERT INTO words (rowid, text) VALUES (?, ?)")
  db.transaction(() => {
    for (let id = 1; id <= MESSAGES; id++) add.run(id, id === OLD ? "common rare" : "common")
  })()
  return db
}

test("a bound on ids is only used to continue a list", () => {
  const db = archive()
  const asked: string[] = []
  const heard = new Proxy(db, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name)
      return (sql: string) => {
        asked.push(sql)
        return target.query(sql)
      }
    },
  })
  const filter = { expression: undefined, condition: undefined }
  const { terms, masks, ids } = candidatesOf(
    heard,
    [term("common"), term("rare")],
    filter,
    MESSAGES,
    new Set(),
  )
  // The newest of each, then what is older of the common one, beside the rare one.
  expect(asked.map((sql) => sql.includes("< ?"))).toEqual([false, false, true])
  expect(terms.map(({ word }) => word)).toEqual(["rare", "common"])
  expect([masks[OLD], masks[OLD + 1], masks[MESSAGES]]).toEqual([0b11, 0, 0b10])
  expect(ids.slice(0, 3)).toEqual([OLD, MESSAGES, MESSAGES - 1])
  expect(ids.length).toBe(5001)
  db.close()
})

test("a word around a question's subject weighs less than another one that is as rare", () => {
  const db = archive()
  db.run("INSERT INTO words (rowid, text) VALUES (?, 'anybodi tusk')", [MESSAGES + 1])
  const filter = { expression: undefined, condition: undefined }
  const asked = [{ word: "anybodi", typed: "Anybody", isPrefix: false }, term("tusk")]
  const { terms } = candidatesOf(db, asked, filter, MESSAGES + 1, new Set())
  const [filler, subject] = terms.map(({ weight }) => weight)
  expect(terms.map(({ word }) => word)).toEqual(["anybodi", "tusk"])
  expect(filler! / subject!).toBeCloseTo(0.6)
  db.close()
})
