/** Which words tell what a prompt is about, and which turns have enough of them. */
import { describe, expect, test } from "bun:test"
import { cluesOf, isEveryday, relatedTurns } from "../../../src/find/related-turns.ts"
import { Archive } from "../../support/archive.ts"

const typed = (prompt: string): string[] => cluesOf(prompt).map((clue) => clue.typed)

describe("clues", () => {
  test("names in code first, then long words; no everyday words", () => {
    expect(typed("Please fix parseCursor, the tests of the webhook queue fail again")).toEqual([
      "parseCursor",
      "webhook",
      "queue",
    ])
    expect(cluesOf("parseCursor webhook").map(({ weight }) => weight)).toEqual([2, 1])
    for (const prompt of [
      "continue",
      "ok go on",
      "mach bitte weiter",
      "请修复测试",
      "42",
      "",
      " \n",
      "<<<>>>",
    ]) {
      expect(typed(prompt)).toEqual([])
    }
  })

  test("only the last real name of a path or URL, and no numbers", () => {
    expect(typed("see https://example.com/otter/heron-marsh/17 and lib/otter/beaver.rs")).toEqual([
      "beaver.rs",
      "heron-marsh",
    ])
  })

  test("pairs of characters count half; acronyms need three letters", () => {
    expect(cluesOf("优惠券").map(({ word, weight }) => ({ word, weight }))).toEqual([
      { word: "优惠", weight: 0.5 },
      { word: "惠券", weight: 0.5 },
    ])
    expect(typed("VAT of the cat")).toEqual(["VAT"])
  })

  test("a long prompt gives only its most telling clues", () => {
    const words = Array.from(
      { length: 90 },
      (_, n) => `turbine${"abcdefghij"[n % 10]}${"klmnopqrs"[Math.floor(n / 10)]}`,
    )
    expect(cluesOf(words.join(" ")).length).toBe(8)
    expect(cluesOf("x".repeat(1_000_000))).toEqual([])
  })

  test("everyday words are recognised in any form", () => {
    for (const word of ["test", "tests", "tested", "testing", "stopping", "planned", "updates", "quickly"]) {
      expect({ word, everyday: isEveryday(word) }).toEqual({ word, everyday: true })
    }
    expect(isEveryday("webhook")).toBe(false)
  })
})

const PROJECT =
  "SELECT project AS id, (SELECT path FROM projects WHERE id = project) AS path FROM sessions WHERE id = ?"

function archived(
  archive: Archive,
  sessions: Readonly<Record<string, readonly string[]>>,
  cwd?: string,
): void {
  for (const [id, prompts] of Object.entries(sessions)) {
    const session = archive.session(id, cwd === undefined ? {} : { cwd })
    for (const prompt of prompts) session.turn(prompt, [], "Done.")
    archive.follow(session.flush())
  }
}

/** Prompts of the turns that are found from the session `here`. */
function found({ db }: Archive, prompt: string, except: readonly string[] = ["here"]): string[] {
  const { id, path } = db.query<{ id: number; path: string }, [string]>(PROJECT).get("here")!
  return relatedTurns(db, { prompt, project: id, name: path, except }).map((turn) => turn.prompt)
}

const OTTER = "The otter holt needs a heron-proof roof"

describe("turns", () => {
  test("three shared words are enough, two are not", () => {
    using archive = new Archive()
    archived(archive, { here: ["hello"], other: [OTTER, "The otter eats"] })
    expect(found(archive, "Is the roof of the otter holt done?")).toEqual([OTTER])
    expect(found(archive, "Is the roof of the otter house done?")).toEqual([])
  })

  test("the shared words must be a good share of the prompt", () => {
    using archive = new Archive()
    archived(archive, { here: ["hello"], other: [OTTER] })
    const beside = "glacier moraine crevasse serac icefall bergschrund"
    expect(found(archive, `otter holt roof ${beside}`)).toEqual([])
  })

  test("neither ubiquitous words nor the project's name are clues", () => {
    using archive = new Archive()
    const many = Array.from({ length: 20 }, (_, n) => `otter holt roof number ${n}`)
    archived(archive, { here: ["hello"], other: many })
    expect(found(archive, "otter holt roof")).toEqual([])
    using named = new Archive()
    archived(named, { here: ["hello"], other: [OTTER] }, "/nowhere/otter-holt")
    expect(found(named, "Is the roof of the otter holt done?")).toEqual([])
  })

  test("words of tools and thinking do not count", () => {
    using archive = new Archive()
    archived(archive, { here: ["hello"] })
    const other = archive.session("other").user("look").message().think("otter holt roof")
    other.step({ tool: "Bash", input: { command: "echo otter holt roof" }, output: "otter holt roof" })
    archive.follow(other.say("Done.").flush())
    expect(found(archive, "otter holt roof")).toEqual([])
  })

  test("only sessions of the project, without excluded ones", () => {
    using archive = new Archive()
    archived(archive, { here: ["hello"], other: [OTTER] })
    archived(archive, { stranger: [OTTER] }, "/nowhere/else")
    expect(found(archive, OTTER)).toEqual([OTTER])
    expect(found(archive, OTTER, ["here", "other"])).toEqual([])
  })
})
