import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import fc from "fast-check"
import { wordSet } from "../../../src/base/words.ts"
import { rowsOfHits } from "../../../src/find/hit-budget.ts"
import { passagesOf, type SearchedMessage, tellingLines } from "../../../src/find/passages.ts"
import { search } from "../../../src/find/search-turns.ts"
import { snippetOf } from "../../../src/find/snippet.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { openTurn } from "../../../src/views/turn.ts"
import { Archive } from "../../support/archive.ts"
import { exchange, Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { callOf, hitsIn, textOf } from "../../support/mcp.ts"
import { Transcript } from "../../support/transcript.ts"

/** What a hit shows. */
describe("hits", () => {
  /** Where a long text was cut, half of an emoji was left: in hits, and in the server's lines, which showed `�`. */
  describe("a long text is cut between characters", () => {
    test.each([0, 1])("cut after an odd and after an even number of units (%i)", async (shift) => {
      using machine = new Inside()
      const crowd = "🦭".repeat(100)
      const session = machine.session()
      // The first 6,000 units of what the model says are read for pieces, of what a tool says 200,000 for the index.
      const lines = `walrus${" ".repeat(shift)}\n${"a line of no interest\n".repeat(270)}walrus `
      session.turn("Long", [], `${lines}${crowd.repeat(4)}\n${"more\n".repeat(300)}`)
      session.turn("Longer", [
        {
          tool: "Bash",
          input: { command: "echo" },
          output: `${"x \n".repeat(66_640)}narwhal ${" ".repeat(shift)}${crowd}`,
        },
      ])
      session.turn("Behind", [], `${" ".repeat(shift)}: ${crowd} ermine`)
      await machine.hook("stop", session.flush())
      for (const [seq, word] of [
        [1, "walrus"],
        [2, "narwhal"],
        [3, "ermine"],
      ]) {
        const { code, stdout, stderr } = await run(["search", "--json", String(word)], machine)
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
        const [hit] = JSON.parse(stdout).hits
        expect(hit).toMatchObject({ seq })
        expect(hit.snippet).toContain("🦭")
        expect(JSON.stringify(hit)).not.toMatch(/\\ud[89a-f]/)
      }
      const { replies } = await exchange([callOf(1, "search", { query: "ermine" })], machine)
      const [hit] = hitsIn(textOf(replies[0]!))
      expect(hit!.texts.join("\n")).toMatch(/🦭.* ermine$/u)
      expect(JSON.stringify(hit)).not.toMatch(/\\ud[89a-f]/)
    })
  })

  /**
   * The words of a long query took the room of the text that was found, and only its first 64 counted. Of a session that
   * begins with a message put into the queue, that message was found, but shown empty.
   */
  describe("hits of long queries show what they found", () => {
    async function search(machine: Machine, ...args: string[]) {
      const { code, stdout, stderr } = await run(["search", "--json", "--all-projects", ...args], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout).hits as { snippet: string; why: string[] }[]
    }

    const pasted = Array.from({ length: 30 }, (_, n) =>
      `gadget${String.fromCharCode(97 + n)}`.repeat(3),
    ).join(" ")
    const chinese = "请帮我修复登录页面在移动端的显示问题同时检查数据库连接超时的原因".repeat(40)

    test.each([pasted, chinese])("a long query leaves room for what it finds", async (query) => {
      using machine = new Inside()
      const session = machine.session()
      for (let n = 0; n < 30; n++) session.turn(`Question ${n}`, [], query.slice(0, 300))
      await machine.hook("stop", session.flush())
      const hits = await search(machine, "--limit", "30", query)
      expect(hits).toHaveLength(30)
      for (const { snippet, why } of hits) {
        expect(snippet.length).toBeGreaterThan(40)
        expect(why.join("").length).toBeLessThanOrEqual(100)
        expect(why.length).toBeGreaterThan(0)
      }
    })

    test("the telling words at the end of a long query count", async () => {
      using machine = new Inside()
      const names = Array.from({ length: 100 }, (_, n) => `w${n}x`)
      const session = machine.session().turn("Look", [], "reconcileInventory failed in the warehouse")
      for (let n = 0; n < 40; n++) session.turn(`Question ${n}`, [], names.slice(n, n + 30).join(" "))
      await machine.hook("stop", session.flush())
      const hits = await search(machine, "--limit", "100", `${names.join(" ")} reconcileInventory warehouse`)
      expect(hits.map(({ why }) => why)).toContainEqual(["reconcileinventory", "warehouse"])
    })

    test("a message from the queue is shown", async () => {
      using machine = new Inside()
      const content = "feed the walrus"
      const session = machine.session()
      const timestamp = "2026-03-02T08:00:00.000Z"
      session.raw(JSON.stringify({ type: "queue-operation", operation: "enqueue", content, timestamp }))
      await machine.hook("stop", session.flush())
      expect(await search(machine, "walrus")).toMatchObject([{ snippet: content }])
    })
  })

  /** Failures were shown as what their output begins with, and a marker of a compaction as a headline alone. */
  describe("where no words are sought", () => {
    const shown = async (machine: Machine, ...args: string[]) => {
      const { code, stdout, stderr } = await run(["search", ...args], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout.trimEnd().split("\n")
    }

    test.each([
      ["Exit code 1\n=== RUN   TestKiln\n--- FAIL: TestKiln (0.00s)\nFAIL", "--- FAIL: TestKiln (0.00s)"],
      ["Exit code 2\n[lint] $ lint ./...\nkiln.go:5:1: undefined: door", "kiln.go:5:1: undefined: door"],
      ["Exit code 1\nnothing to fire", "nothing to fire"],
      [
        "<tool_use_error>The kiln is not there. Ask for: a, b</tool_use_error>",
        "The kiln is not there. Ask for: a, b",
      ],
      ["Exit code 4", "Exit code 4"],
    ])("%j: the line that names the error", async (output, line) => {
      using machine = new Inside()
      const session = machine.session()
      session.turn("Fire", [{ tool: "Bash", input: { command: "fire" }, output, isError: true }], "")
      await machine.hook("stop", session.flush())
      expect((await shown(machine, "--error"))[1]).toBe(`  ${line}`)
    })

    test("what says nothing is no hit, and of a turn without a prompt its first text is shown", async () => {
      using machine = new Inside()
      const timestamp = "2026-03-02T08:00:00.000Z"
      const marker = (uuid: string) =>
        JSON.stringify({
          type: "system",
          subtype: "compact_boundary",
          uuid,
          timestamp,
          compactMetadata: { trigger: "auto" },
        })
      const [continued, other] = [machine.session(), machine.session()]
      const content = "This session is being continued from a previous conversation: the kiln."
      continued.raw(
        JSON.stringify({
          type: "user",
          uuid: "1",
          timestamp,
          isCompactSummary: true,
          message: { role: "user", content },
        }),
      )
      for (const [n, one] of [continued, other].entries()) {
        one.raw(marker(`m${n}`))
        await machine.hook("stop", one.flush())
      }
      const lines = await shown(machine, "--all-projects")
      expect(lines).toHaveLength(2)
      expect(lines[1]).toBe(`  ${content}`)
    })
  })

  /** A search found the restores that quote a turn beside the turn itself, more of them with every compaction. */
  describe("restores are no hits", () => {
    test("what was given back is not found again", async () => {
      using machine = new Inside()
      const session = machine.session({ version: "2.1.112" })
      session
        .turn("What was the name of the ship?", [], "The ship is called Marigold.")
        .turn("Go on.", [], "Yes.")
        .flush()
      await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: "" })
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
      expect(given).toContain("Marigold")
      const attachment = (type: string, text: string) => ({
        type: "attachment",
        attachment: { type, hookEvent: "SessionStart", hookName: "SessionStart:compact", content: [text] },
      })
      session.boundary("manual").summary("1. Work")
      session.line(attachment("hook_additional_context", given))
      session.line(attachment("hook_additional_context", "A lighthouse, by somebody else's hook."))
      session.turn("And now?", [], "Done.").flush()
      await machine.hook("stop", session)
      expect(await found(machine, "Marigold")).toEqual(["assistant"])
      expect(await found(machine, "lighthouse")).toEqual(["host"])
      for (const word of ["claude-code", "host", "system"])
        expect(await found(machine, "lighthouse", "--role", word)).toEqual(["host"])
    })

    /** Whose words the hits are, those shown beside them too. */
    async function found(machine: Machine, ...words: string[]): Promise<string[]> {
      const ran = await run(["search", "--all-projects", "--json", ...words], machine)
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      const { hits } = JSON.parse(ran.stdout) as { hits: (Shown & { also?: Shown[] })[] }
      return hits.flatMap(({ role, also = [] }) => [role, ...also.map((one) => one.role)])
    }

    interface Shown {
      readonly role: string
    }
  })

  const command = (name: string): string =>
    `<command-name>${name}</command-name>\n<command-message>${name.slice(1)}</command-message>\n<command-args></command-args>`

  /** A search for the newest showed turns that are nothing but `/compact`, with no text. */
  test("the newest turns are those in which something was said", async () => {
    using machine = new Inside()
    const session = machine.session().turn("Count the shelves", [], "There are nine.")
    session.user(command("/compact")).boundary("manual").summary("Shelves were counted.")
    session.user(command("/compact")).turn("Paint them", [], "They are green.")
    session.user(command("/review")).message().say("I have read it all.")
    expect(await run(["import", session.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
    const { code, stdout, stderr } = await run(["search", "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const hits: { prompt: string | null; snippet: string }[] = JSON.parse(stdout).hits
    expect(hits.map(({ prompt, snippet }) => [prompt, snippet])).toEqual([
      ["/review", "I have read it all."],
      ["Paint them", "They are green."],
      ["Count the shelves", "There are nine."],
    ])
  })
})

describe("hit names", () => {
  test("a hit is named by what another archive of the session would call it, and opens by that name", () => {
    const found: unknown[] = []
    for (const others of [0, 2]) {
      using archive = new Archive()
      // What is archived before gives the turn another row, and no other name.
      for (let n = 0; n < others; n++)
        archive.follow(archive.session(`before-${n}`).turn(`something else ${n}`, [], "Well.").flush())
      const id = "11111111-0000-4000-8000-000000000005"
      const options = { cwd: "/home/someone/project" }
      archive.follow(archive.session(id, options).turn("where is the walrus", [], "In the harbour.").flush())
      using readers = new CopyReaders()
      const open = (handle: string) => openTurn(archive.db, archive.dataHome, handle, readers)
      const { hits } = search(archive.db, archive.dataHome, { query: "walrus", limit: 5 }, readers)
      const turn = open(hits[0]!.handle)
      expect(hits.map(({ session }) => session)).toEqual([id])
      expect(turn?.messages.map(({ role }) => role)).toEqual(["human", "assistant"])
      expect(turn).toMatchObject({ handle: hits[0]!.handle, session: id, prompt: "where is the walrus" })
      expect(open("ctx:zzzzzz")).toBeUndefined()
      // The beginning of a name is none.
      expect(open(hits[0]!.handle.slice(0, -1))).toBeUndefined()
      const { handle, project } = hits[0]!
      found.push({ handle, project })
    }
    expect(found[1]).toEqual(found[0])
  })
})

describe("snippet", () => {
  const sought = (words: string) => ({
    words: new Map([...wordSet(words)].map((word) => [word, 1])),
    prefixes: [],
  })
  const marked = (text: string, words: string, room = 80): string[] => {
    const { text: shown, marks } = snippetOf(text, sought(words), room)
    return marks.map(([from, to]) => shown.slice(from, to))
  }

  describe("a snippet", () => {
    test("is the whole text if it fits", () => {
      expect(snippetOf("a cat\nsat", sought("cat"), 80)).toEqual({ text: "a cat sat", marks: [[2, 5]] })
    })

    test("shows the place with the most words and marks all their forms", () => {
      const text = `${"nothing here. ".repeat(50)}We verified getUserName and cached it.${" more".repeat(80)}`
      const { text: shown } = snippetOf(text, sought("verify get_user_name cache"), 80)
      expect(shown).toContain("verified getUserName and cached")
      expect(shown.startsWith("…")).toBe(true)
      expect(marked(text, "verify get_user_name cache")).toEqual(["verified", "getUserName", "cached"])
    })

    test("marks words, not the longer words that contain them", () => {
      expect(marked("a blinking link", "link")).toEqual(["link"])
      expect(marked("das Café dort", "cafe")).toEqual(["Café"])
      expect(marked("検索エンジン", "エンジン")).toEqual(["検索エンジン"])
    })

    test("for any text: fits its room, with marks in order and inside it", () => {
      const word = fc.constantFrom("cat", "Cat", "dog", "🛡️", "\n", " ", ".", "x".repeat(30), "naïve")
      fc.assert(
        fc.property(fc.array(word, { maxLength: 60 }), fc.integer({ min: 20, max: 120 }), (words, room) => {
          const { text, marks } = snippetOf(words.join(" "), sought("cat naive"), room)
          expect(text.length).toBeLessThanOrEqual(room)
          expect(text.isWellFormed()).toBe(true)
          let last = 0
          for (const [from, to] of marks) {
            expect(from).toBeGreaterThanOrEqual(last)
            expect(to).toBeLessThanOrEqual(text.length)
            last = to
          }
        }),
      )
    })
  })

  test("the search for a letter gives up in encoded data", () => {
    const data = `${"a".repeat(70)} `
    const sought = { words: new Map([["a", 1]]), prefixes: [] }
    const marksOf = (text: string) => snippetOf(text, sought, text.length).marks
    expect(marksOf(`a ${data.repeat(400)}a`)).toEqual([[0, 1]])
    expect(marksOf(`a ${data.repeat(4)}a`)).toEqual([
      [0, 1],
      [286, 287],
    ])
  })
})

/** A message of a turn, in which words are looked for. */
const said = (text: string, fields: Partial<SearchedMessage> = {}): SearchedMessage => ({
  text,
  isProse: true,
  isFound: true,
  isLast: false,
  ...fields,
})

/** Which pieces of a turn a hit shows. */
describe("passages", () => {
  const sought = (words: string, weight = 1) => ({
    words: new Map([...wordSet(words)].map((word) => [word, weight])),
    prefixes: [],
  })
  const texts = (parts: readonly SearchedMessage[], words: string, room: number): string[] =>
    passagesOf(parts, sought(words), room).map(({ text }) => text)

  const FILLER = "The kiln was swept and the shelves were counted once more before anybody left.\n"

  describe("passagesOf", () => {
    test("shows everything if it fits", () => {
      expect(texts([said("a heron\nstood"), said("why?"), said("")], "heron", 40)).toEqual([
        "a heron stood",
        "why?",
        "",
      ])
    })

    test("joins distant places with an ellipsis and marks their words", () => {
      const text = `${FILLER.repeat(9)}Glaze runs at cone ten.\n${FILLER.repeat(9)}Copper reddens without air.\n${FILLER.repeat(9)}`
      const [shown] = passagesOf([said(text)], sought("glaze copper"), 400)
      expect(shown!.text).toContain("…Glaze runs at cone ten.…Copper reddens without air.")
      expect(shown!.marks.map(([from, to]) => shown!.text.slice(from, to))).toEqual(["Glaze", "Copper"])
    })

    test("shows the last answer's conclusion even without sought words", () => {
      const conclusion = "So we leave the lid open and check it by hand."
      const text = `The glaze was looked at.\n${FILLER.repeat(30)}${conclusion}`
      const prompt = said("why is the glaze dull", { isFound: false })
      const shown = (isLast: boolean) =>
        texts([prompt, said(text, { isLast }), said("glaze, glaze ".repeat(60))], "glaze", 500)[1]!
      expect(shown(true)).toEndWith(conclusion)
      expect(shown(false)).not.toContain(conclusion)
    })

    test("shows what the last answer begins with, not what announces it", () => {
      const result = "The lid was too tight.\nSteam had no way out.\nIt ran down the wall.\n"
      const text = `Here is what I found:\n\n## The cause\n${result}${FILLER.repeat(30)}`
      const prompt = said("why is the glaze dull", { isFound: false })
      const shown = (isLast: boolean) =>
        texts([prompt, said(text, { isLast }), said("glaze, glaze ".repeat(60))], "glaze", 400)[1]!
      expect(shown(true)).toContain("The lid was too tight. Steam had no way out. It ran down the wall.")
      expect(shown(true)).not.toContain("Here is what I found")
      expect(shown(false)).toContain("The lid was too tight.")
      expect(shown(false)).not.toContain("It ran down the wall.")
    })

    test("an offer at the end is no conclusion", () => {
      const conclusion = "So we leave the lid open and check it by hand."
      const offers = "Shall I write that down?\n**Or would you rather wait?**"
      const text = `The glaze was looked at.\n${FILLER.repeat(30)}${conclusion}\n${offers}`
      const prompt = said("why is the glaze dull", { isFound: false })
      const parts = [prompt, said(text, { isLast: true }), said("glaze, glaze ".repeat(60))]
      const shown = texts(parts, "glaze", 400)[1]!
      expect(shown).toContain(conclusion)
      expect(shown).not.toContain("Shall I")
    })

    test("what was said on the way is shown for its words, not for how it begins", () => {
      const way = `Now I look at the shelf.\n${FILLER.repeat(9)}The glaze is in the third jar.\n${FILLER.repeat(9)}`
      const shown = (isAside: boolean) =>
        texts([said("Where is the glaze?"), said(way, { isAside })], "glaze", 300)[1]!
      expect(shown(false)).toContain("Now I look")
      expect(shown(true)).toContain("The glaze is in the third jar.")
      expect(shown(true)).not.toContain("Now I look")
    })

    test("never shows only the tool's name of a call", () => {
      const command = `cat ${"shelves kilns and so on ".repeat(9)}> all.txt`
      const call = said(
        `Bash: ${command}\n${"x y z\n".repeat(40)}glaze ${"shelves kilns and so on ".repeat(11)}`,
        { isProse: false },
      )
      const found = said(`The glaze is dull.\n${FILLER.repeat(3)}`)
      for (let room = 30; room < 400; room += 10)
        expect(texts([found, call], "glaze", room)[1]).not.toMatch(/^Bash:…?$/)
    })

    test("always shows what was found, and repeated text only once", () => {
      const twice = "The glaze needs copper and a slow kiln to turn red."
      const log = said(`line one of a log\nglaze\n${"x y z\n".repeat(40)}`, { isProse: false })
      const [found, first, second] = texts(
        [log, said(`${twice}\n${FILLER.repeat(9)}`), said(`${twice}\n${FILLER.repeat(9)}`)],
        "glaze copper kiln",
        300,
      )
      expect(found).toContain("glaze")
      expect(first).toContain(twice)
      expect(second).not.toContain(twice)
    })

    test("a word already shown counts less than a new one", () => {
      const other = "Only the rutile is left over here."
      const glaze = "The glaze was mixed again on that day.\n"
      const [shown] = texts(
        [said(`${glaze.repeat(3)}${FILLER.repeat(9)}${other}\n${FILLER}`)],
        "glaze rutile",
        150,
      )
      expect(shown).toContain(other)
    })

    test("without sought words, shows where texts begin", () => {
      const [found, answer] = texts(
        [
          said(`First things.\n${FILLER.repeat(9)}`),
          said(`It began so.\n${FILLER.repeat(9)}`, { isLast: true }),
        ],
        "",
        500,
      )
      expect(found).toStartWith("First things.")
      expect(answer).toContain("It began so.")
    })

    test("shows the stretch of a very long output with the most words", () => {
      const log = `glaze\n${"nothing of note on this line\n".repeat(4000)}the copper glaze cracked\n${"more\n".repeat(900)}`
      const [shown] = texts([said(log, { isProse: false })], "copper glaze cracked", 400)
      expect(shown).toContain("the copper glaze cracked")
    })

    test("for any texts: fits the room, is well-formed, marks sought words in order", () => {
      const word = fc.constantFrom(
        "cat",
        "Cats",
        "dog.",
        "🛡️",
        "\n",
        "end. ",
        "。",
        "y".repeat(70),
        "🜁".repeat(200),
        "x: ",
      )
      const part = fc.record({
        words: fc.array(word, { maxLength: 80 }),
        isProse: fc.boolean(),
        isFound: fc.boolean(),
        isLast: fc.boolean(),
      })
      fc.assert(
        fc.property(
          fc.array(part, { minLength: 1, maxLength: 5 }),
          fc.integer({ min: 350, max: 900 }),
          (all, room) => {
            const parts = all.map(({ words, ...fields }) => said(words.join(" "), fields))
            const shown = passagesOf(parts, sought("cat end"), room)
            expect(shown).toHaveLength(parts.length)
            expect(shown.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(room)
            for (const { text, marks } of shown) {
              expect(text.isWellFormed()).toBe(true)
              let last = 0
              for (const [from, to] of marks) {
                expect(from).toBeGreaterThanOrEqual(last)
                expect(["cat", "cats", "end"]).toContain(text.slice(from, to).toLowerCase())
                last = to
              }
            }
          },
        ),
      )
    })
  })
})

/** Which lines of a turn are shown where a hit has a few rows. */
describe("telling lines", () => {
  const sought = { words: new Map([...wordSet("kiln door")].map((word) => [word, 1])), prefixes: [] }
  const lines = (...parts: SearchedMessage[]): string[] =>
    tellingLines(parts, sought, 9).map(({ text }) => text)

  test("the line with the words comes first, of whichever part; none is joined with another", () => {
    const call = said("- const door = 1\n+ const kiln = door", { isProse: false })
    const [first, ...others] = lines(call, said("Begun.\nThe kiln door is shut.\nDone.", { isLast: true }))
    expect(first).toBe("The kiln door is shut.")
    expect(others.toSorted()).toEqual(
      ["+ const kiln = door", "- const door = 1", "Begun.", "Done."].toSorted(),
    )
  })

  test("of two lines alike, the one with a reason comes first", () => {
    const [first] = lines(
      said("So.\nThe kiln door is always shut at night.\nThe kiln door is shut because of rain."),
    )
    expect(first).toBe("The kiln door is shut because of rain.")
  })

  test("where nothing is sought, what was found comes first", () => {
    const nothing = { words: new Map(), prefixes: [] }
    const parts = [said("src: 4 files", { isProse: false }), said("All is well.", { isLast: true })]
    expect(tellingLines(parts, nothing, 1).map(({ text }) => text)).toEqual(["src: 4 files"])
  })

  test("what only announces something is left out", () => {
    expect(lines(said("So:\nThe kiln door is shut.\n## Next\n"))).toEqual(["The kiln door is shut."])
  })

  test("marks are where the words are, also behind an indentation", () => {
    const [line] = tellingLines([said("first\n   the kiln\tdoor")], sought, 9)
    expect(line!.text).toBe("the kiln door")
    expect(line!.marks.map(([from, to]) => line!.text.slice(from, to))).toEqual(["kiln", "door"])
  })
})

/** How the rows of a screen are shared. */
describe("rows of hits", () => {
  test("the best hit gets what is left over", () => {
    expect(rowsOfHits([9, 9, 9], 8)).toEqual([4, 2, 2])
    expect(rowsOfHits([9, 1, 9], 12)).toEqual([7, 1, 4])
    expect(rowsOfHits([9, 9, 9], 4)).toEqual([2, 1, 1])
  })

  test("for any hits: fits the room, gives each two rows where there is room, and none more than it wants", () => {
    const wants = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 40 })
    fc.assert(
      fc.property(wants, fc.integer({ min: 0, max: 60 }), (all, room) => {
        const rows = rowsOfHits(all, room)
        expect(rowsOfHits(all, room)).toEqual(rows)
        expect(rows).toHaveLength(all.length)
        const sum = rows.reduce((some, one) => some + one, 0)
        expect(sum).toBeLessThanOrEqual(Math.max(room, all.length))
        for (const [n, given] of rows.entries()) {
          expect(given).toBeLessThanOrEqual(all[n]!)
          if (2 * all.length <= room) expect(given).toBeGreaterThanOrEqual(Math.min(2, all[n]!))
        }
        // Nothing is left while somebody wants more.
        if (rows.some((given, n) => given < all[n]!)) expect(sum).toBeGreaterThanOrEqual(room)
      }),
    )
  })
})

/** Searches within a file, a time, a role or a session. */
/**
 * A search narrowed to a file or a time found nothing where that was not among the newest or best of all: only those were
 * asked where and when they were.
 */
describe("a search narrowed among many turns", () => {
  const machine = new Inside()
  const session = machine.session()
  const AGENT = "a1b2c3d"

  beforeAll(async () => {
    const file = join(machine.cwd, "src", "cursor.ts")
    session.turn("Read the cursor of the page, please.", [
      { tool: "Read", input: { file_path: file }, output: "the page has a cursor" },
    ])
    const path = machine.path(join(session.session, "subagents", `agent-${AGENT}.jsonl`))
    const agent = new Transcript({ ...session.options, agent: AGENT, path })
      .turn("Look at page and cursor.")
      .flush()
    for (let n = 0; n < 700; n++) session.turn(`cursor of page ${n}`, [], `cursor of page ${n}: done`)
    session.flush()
    const imported = await run(["import", agent.path, session.path], machine)
    expect(imported).toMatchObject({ code: 0, stderr: "" })
  })

  afterAll(() => machine[Symbol.dispose]())

  const BEFORE = "2026-03-02T08:00:06Z"

  async function found(...args: readonly string[]): Promise<readonly string[]> {
    const ran = await run(["search", "--json", ...args], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const { hits } = JSON.parse(ran.stdout) as { hits: readonly { session: string; seq: number }[] }
    return hits.map((hit) => `${hit.session.split("/")[1] ?? "main"} ${hit.seq}`)
  }

  const FIRST = ["main 1"]

  test.each([["cursor"], ["cursor page"], ["cursor AND page"], ['"cursor of the page"'], [""]])(
    "%p in turns with a file",
    async (query) => {
      expect(await found("--file", "cursor.ts", query)).toEqual(FIRST)
      expect(await found("--file", "src/cursor.ts", "--all-projects", "--role", "human", query)).toEqual(
        FIRST,
      )
    },
  )

  test.each([["cursor"], ["cursor page"], ["cursor NOT zebra"], [""]])("%p within a time", async (query) => {
    expect(await found("--until", BEFORE, "--role", "tool", query)).toEqual(FIRST)
    expect((await found("--until", BEFORE, query)).toSorted()).toEqual([`${AGENT} 1`, "main 1", "main 2"])
    expect(await found("--since", BEFORE, "--until", "2026-03-02T08:00:07Z", query)).toEqual(["main 2"])
  })

  test("of one subagent", async () => {
    expect(await found("--session", `${session.session}/${AGENT}`, "cursor")).toEqual([`${AGENT} 1`])
  })

  test("the server narrows the same way", async () => {
    const args = { query: "cursor", file: "cursor.ts" }
    const { code, stderr, replies } = await exchange([callOf(1, "search", args)], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const text = textOf(replies[0]!)
    expect(hitsIn(text)).toMatchObject([{ about: expect.stringContaining(", Read") }])
    expect(text).not.toContain("There are more hits")
  })
})
