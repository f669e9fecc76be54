/** Turns that have the words as they were typed come first, then those that have them in one place. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { search } from "../../../src/find/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

/** How a turn is found that says nothing else. */
function closeness(query: string, text: string) {
  using archive = new Archive()
  const transcript = archive.session("c105e000-0000-4000-8000-000000000002")
  archive.follow(transcript.turn("Go on.", [], text).flush())
  using readers = new CopyReaders()
  const { hits } = search(archive.db, archive.dataHome, { query, limit: 1 }, readers)
  return hits[0]?.by
}

const APART = "and so on, for a long time. ".repeat(20)

describe("how close a text has the words", () => {
  test.each([
    ["kiln door", "Open the kiln door."],
    ["kiln door", "The **Kiln**, door:"],
    ["a kiln not a door", "It is a kiln,\nnot a door."],
    ["kiln-door/v2", "See kiln_door v2."],
    ["élan vital", "Élan vital"],
    ["窯の扉 開く", "窯の扉、開く"],
  ])("%j as it was typed in %j", (query, text) => {
    expect(closeness(query, text)).toBe("phrase")
  })

  test.each([
    ["kiln door", "The door of the kiln."],
    ["kiln doors", "a kiln door"],
    ["kiln door", "kilndoor, kiln indoors, door"],
    ["firing the kiln doors", "It fired; the door of the kiln glows."],
  ])("%j in one place in %j", (query, text) => {
    expect(closeness(query, text)).toBe("together")
  })

  test.each([
    ["kiln door", `The kiln ${APART} the door.`],
    ["kiln door", `The kiln, the kiln, the kiln ${APART} a door.`],
    ["kiln", "A kiln."],
    ["kiln door", "A kiln."],
    ["conf* door", "config door"],
  ])("%j not so in %j", (query, text) => {
    expect(closeness(query, text)).toBe("words")
  })
})

describe("the order of turns", () => {
  let archive: Archive
  beforeAll(() => {
    archive = new Archive()
    const transcript = archive.session("c105e000-0000-4000-8000-000000000001")
    const talk = (n: number) => `Nothing of it here ${n}. `.repeat(12)
    transcript.turn("One.", [], `The forge has a kiln for tiles. ${talk(1)}`)
    transcript.turn("Two.", [], `${talk(2)} It is a kiln, not a forge. ${talk(2).repeat(4)}`)
    transcript.turn("Three.", [], `A forge ${talk(3).repeat(2)} and the kiln.`)
    for (let n = 4; n < 9; n++) transcript.turn("More.", [], `Forge. Kiln? Kiln forge kiln ${n}.`)
    archive.follow(transcript.flush())
  })
  afterAll(() => archive[Symbol.dispose]())

  const found = (query: string, more: object = {}) => {
    using readers = new CopyReaders()
    const { hits } = search(archive.db, archive.dataHome, { query, limit: 10, ...more }, readers)
    return hits.map(({ seq, by, score }) => ({ seq, by, score }))
  }

  test("words in their literal order count as one, wherever else the words are", () => {
    const hits = found("kiln not a forge")
    expect(hits[0]).toMatchObject({ seq: 2, by: "phrase" })
    expect(hits.find(({ seq }) => seq === 1)).toMatchObject({ by: "together" })
    expect(hits.find(({ seq }) => seq === 3)).toMatchObject({ by: "words" })
    // What comes first is not worse.
    expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a))
  })

  test("the hit shows the message that has them so", () => {
    using readers = new CopyReaders()
    const { hits } = search(archive.db, archive.dataHome, { query: "kiln not a forge", limit: 1 }, readers)
    expect(hits[0]!.snippet).toContain("a kiln, not a forge")
  })

  test("who wants no further texts read gets them as the index ranks them", () => {
    const hits = found("kiln not a forge", { tellsPartial: false })
    expect(hits[0]!.seq).not.toBe(2)
    expect(new Set(hits.map(({ by }) => by))).toEqual(new Set(["words"]))
  })

  test("quotation marks demand it, and the newest were not looked for", () => {
    expect(found('"kiln, not a forge"')).toMatchObject([{ seq: 2, by: "phrase" }])
    expect(found("")[0]).toMatchObject({ seq: 8, by: undefined })
  })
})
