/** When a search says that its hits may be about something else. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { doubtNote, isDoubtful } from "../../../src/find/doubt.ts"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

const words = (many: number): string[] => Array.from({ length: many }, (_, n) => `w${n}`)

test.each([
  // asked, unsaid, lacking: doubted in a line of words, and in a sentence
  [2, 1, 1, true, true],
  [4, 1, 1, true, true],
  [5, 1, 1, true, false],
  [6, 2, 2, false, false],
  [5, 0, 2, false, false],
  [5, 0, 3, true, true],
  [4, 0, 2, false, false],
  [4, 0, 3, true, true],
  [6, 3, 4, false, false],
  [6, 0, 5, true, true],
  [9, 6, 6, false, false],
])(
  "of %d words, %d unsaid and %d lacking: %p, in a sentence %p",
  (asked, unsaid, lacking, line, sentence) => {
    const doubt = { unsaid: words(unsaid), lacking: words(lacking) }
    expect([isDoubtful(doubt, asked, false), isDoubtful(doubt, asked, true)]).toEqual([line, sentence])
  },
)

test.each([
  [1, 2, "No message has “w0”: these may not be about it."],
  [2, 2, "No message has “w0” or “w1”: these may not be about it."],
  [0, 1, "No hit has most of the words: the nearest lacks “w0”."],
  [0, 3, "No hit has most of the words: the nearest lacks “w0”, “w1” and “w2”."],
])("%d unsaid, %d lacking", (unsaid, lacking, note) => {
  expect(doubtNote({ unsaid: words(unsaid), lacking: words(lacking) })).toBe(note)
})

test("numbers apart", () => {
  expect(doubtNote({ unsaid: [], lacking: [], apart: ["137"] })).toBe(
    "No hit has “137” near the other words: these may not be about it.",
  )
})

/** Of what had never happened, a search showed what had one of its words, and nothing told. */
describe("the command", () => {
  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    session.turn("Retry the queue of the worker", [], "It waits for raise zipfile.BadZipFile(…) now.")
    session.turn("Neden bıraktık?", [], "Bunu eklemek için uzantı gerekiyordu.")
    session
      .turn("Where did the linter stop?", [], "It ended with exit code 2.")
      .turn("Which lines are too long?", [], "Lines 137 and 204.")
    const other = machine.session({ cwd: `${machine.root}/other` }).turn("Celery is not for us")
    for (const one of [session, other]) await machine.hook("stop", one.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  const search = (...args: string[]) => run(["search", ...args], machine)
  const noteOf = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await search(...args, "--json")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).note
  }

  test("tells in its first line what nobody in this project has said", async () => {
    const { code, stdout, stderr } = await search("celery worker queue retries")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [first, second] = stdout.split("\n")
    expect(first).toBe("No message has “celery”: these may not be about it.")
    expect(second).toStartWith("ctx:")
    expect(await noteOf("celery worker queue retries")).toBe(first)
    expect(await noteOf("celery worker queue", "-a")).toBeUndefined()
  })

  test("tells that a number was said of something else", async () => {
    expect(await noteOf("exit code 137")).toBe(
      "No hit has “137” near the other words: these may not be about it.",
    )
  })

  test.each([
    ["a number that was said of it", "lines 204"],
    ["a number alone", "137"],
    ["all of the words", "retry worker queue"],
    ["a name that the index has only as a part of another", "badzipfile waits raise"],
    ["a word with other endings", "neden uzantısını eklemedik gerekiyordu"],
    ["operators", "worker OR celery"],
    ["a filler", "worker queue actually"],
    ["no query", ""],
  ])("%s: no doubt", async (_what, query) => {
    expect(await noteOf(query)).toBeUndefined()
  })
})
